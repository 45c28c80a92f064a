import type * as z from "zod";
import type { Network } from "../chain/network.ts";
import { type Database, openDb } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { type Router, serve } from "../http/endpoint.ts";
import { toEnvelope } from "../http/envelope.ts";
import { toWireNames } from "../http/names/translate.ts";
import { describeDiffPaging } from "../http/openapi/parameters.ts";
import type { Tag } from "../http/openapi/texts.ts";
import { createJsonResponse, openReadSession } from "../http/session.ts";
import { readTip } from "../indexer/chain-tip.ts";
import { listScopedVkeys } from "../wallets/managed/find-wallet.ts";
import {
  registrationCountQuery,
  registrationCounts,
  registrationDiffQuery,
  registrationListQuery,
} from "./list-schemas.ts";
import { type RegistrationKind, STATUS_FILTERS } from "./states.ts";
import {
  countRegistrations,
  listChangedRegistrations,
  listRegistrations,
  type RegistrationFilters,
} from "./store.ts";
import type { RegistrationRow } from "./tables.ts";

/** The registrations of a kind at a path. */
interface ServedRegistrations<ApiRecord> {
  kind: RegistrationKind;
  path: string;
  tag: Tag;
  /** What is registered, in summaries: `inbox agents`. */
  plural: string;
  /** The id of an operation, and which operation it is an alias of. */
  identify(
    verb: "list" | "diff" | "count",
    suffix: string,
  ): { operationId: string; aliasOf?: string };
  data: z.ZodType<unknown, { Assets: ApiRecord[] }>;
  /** @param tip - height of the newest block seen, from which confirmations are counted */
  show(row: RegistrationRow, tip: number | null): ApiRecord;
}

/** Serves the list, the diff and the numbers of registrations. */
export function serveRegistrations<ApiRecord>(
  router: Router,
  { kind, path, tag, plural, identify, data, show }: ServedRegistrations<ApiRecord>,
): void {
  const options = { method: "get", access: "User", scope: "wallets", tag } as const;

  serve(
    router,
    {
      ...options,
      ...identify("list", ""),
      isConditional: true,
      path,
      summary: `Lists the ${plural} that this service registered, newest first`,
      query: registrationListQuery,
      data,
    },
    async (c, { query }) => {
      const session = openReadSession(c, query.network);
      const { limit, cursorId } = query;
      const filters = { ...(await toSourceFilters(c, query)), ...toListFilters(query) };
      const rows = await listRegistrations(session, kind, { ...filters, limit, cursorId });
      return { Assets: await showAll(session, rows, query.network) };
    },
  );

  serve(
    router,
    {
      ...options,
      ...identify("diff", "/diff"),
      isConditional: true,
      takesBookmark: true,
      path: `${path}/diff`,
      summary: `Returns the ${plural} that this service registered whose state changed since lastUpdate`,
      description: describeDiffPaging("registrationStateLastChangedAt", "lastUpdate", "at"),
      query: registrationDiffQuery,
      data,
    },
    async (c, { query }) => {
      const session = openReadSession(c, query.network);
      const { limit, cursorId, lastUpdate } = query;
      const page = { ...(await toSourceFilters(c, query)), limit, cursorId, lastUpdate };
      const rows = await listChangedRegistrations(session, kind, page);
      const named = toWireNames(data, { Assets: await showAll(session, rows, query.network) });
      return createJsonResponse(c, JSON.stringify(toEnvelope(named)), session);
    },
  );

  serve(
    router,
    {
      ...options,
      ...identify("count", "/count"),
      takesBookmark: true,
      path: `${path}/count`,
      summary: `Counts the ${plural} that this service registered`,
      query: registrationCountQuery,
      data: registrationCounts,
    },
    async (c, { query }) => {
      const session = openReadSession(c, query.network);
      const byState = await countRegistrations(session, kind, await toSourceFilters(c, query));
      const total = byState.reduce((sum, { count }) => sum + count, 0);
      const counts: z.input<typeof registrationCounts> = { total, byState };
      return createJsonResponse(c, JSON.stringify(toEnvelope(counts)), session);
    },
  );

  async function showAll(
    session: Database,
    rows: readonly RegistrationRow[],
    network: Network,
  ): Promise<ApiRecord[]> {
    const tip = await readTip(session, network);
    return rows.map((row) => show(row, tip));
  }
}

async function toSourceFilters(
  c: AppContext,
  query: z.output<typeof registrationCountQuery>,
): Promise<RegistrationFilters> {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  return {
    network: query.network,
    contractAddress: query.filterSmartContractAddress,
    sourceType: query.filterPaymentSourceType,
    walletVkeys: await listScopedVkeys(core, c.var.caller, query.network),
  };
}

/** If both were sent, the state must also be in the group. */
function toListFilters(
  query: z.output<typeof registrationListQuery>,
): Partial<RegistrationFilters> {
  const { filterState, filterStatus } = query;
  const group = filterStatus && STATUS_FILTERS[filterStatus];
  const states = filterState
    ? [filterState].filter((state) => !group || (group as readonly string[]).includes(state))
    : group;
  return { states, agentIdentifier: query.filterAgentIdentifier, search: query.searchQuery };
}
