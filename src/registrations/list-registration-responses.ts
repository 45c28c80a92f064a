import type * as z from "zod";
import { type Database, openDb } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { toEnvelope } from "../http/envelope.ts";
import { toWireNames } from "../http/names/translate.ts";
import { createJsonResponse, openReadSession } from "../http/session.ts";
import { readTip } from "../indexer/chain-tip.ts";
import { listScopedVkeys } from "../wallets/managed/find-wallet.ts";
import type {
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

type RegistrationListQuery = z.output<typeof registrationListQuery>;

/** How a registration is shown, by the height of the newest block seen, from which confirmations are counted. */
export type ShowRegistration<ApiRecord> = (row: RegistrationRow, tip: number | null) => ApiRecord;

/** One page of registrations, newest first. */
export async function listRegistrationResponses<ApiRecord>(
  c: AppContext,
  kind: RegistrationKind,
  query: RegistrationListQuery,
  show: ShowRegistration<ApiRecord>,
): Promise<ApiRecord[]> {
  const session = openReadSession(c, query.network);
  const filters = { ...(await toSourceFilters(c, query)), ...toListFilters(query) };
  const { limit, cursorId } = query;
  const rows = await listRegistrations(session, kind, { ...filters, limit, cursorId });
  return showAll(session, rows, query, show);
}

/**
 * Answers with one page of the registrations whose state changed, oldest first.
 *
 * @param data - schema of the answer's data, by which fields are named
 */
export async function diffRegistrations<ApiRecord>(
  c: AppContext,
  kind: RegistrationKind,
  query: z.output<typeof registrationDiffQuery>,
  data: z.ZodType,
  show: ShowRegistration<ApiRecord>,
): Promise<Response> {
  const session = openReadSession(c, query.network);
  const { limit, cursorId, lastUpdate } = query;
  const page = { ...(await toSourceFilters(c, query)), limit, cursorId, lastUpdate };
  const rows = await listChangedRegistrations(session, kind, page);
  const Assets = await showAll(session, rows, query, show);
  const named = toWireNames(data, { Assets });
  return createJsonResponse(c, JSON.stringify(toEnvelope(named)), session);
}

/** Answers with the number of registrations, and of those in each state. */
export async function countRegistrationsByState(
  c: AppContext,
  kind: RegistrationKind,
  query: z.output<typeof registrationCountQuery>,
): Promise<Response> {
  const session = openReadSession(c, query.network);
  const byState = await countRegistrations(session, kind, await toSourceFilters(c, query));
  const total = byState.reduce((sum, { count }) => sum + count, 0);
  const counts: z.input<typeof registrationCounts> = { total, byState };
  return createJsonResponse(c, JSON.stringify(toEnvelope(counts)), session);
}

async function showAll<ApiRecord>(
  session: Database,
  rows: readonly RegistrationRow[],
  { network }: Pick<RegistrationListQuery, "network">,
  show: ShowRegistration<ApiRecord>,
): Promise<ApiRecord[]> {
  const tip = await readTip(session, network);
  return rows.map((row) => show(row, tip));
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
function toListFilters(query: RegistrationListQuery): Partial<RegistrationFilters> {
  const { filterState, filterStatus } = query;
  const group = filterStatus && STATUS_FILTERS[filterStatus];
  const states = filterState
    ? [filterState].filter((state) => !group || (group as readonly string[]).includes(state))
    : group;
  return { states, agentIdentifier: query.filterAgentIdentifier, search: query.searchQuery };
}
