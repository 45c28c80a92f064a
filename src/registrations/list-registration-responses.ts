import type * as z from "zod";
import { openDb } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { openReadSession } from "../http/session.ts";
import { readTip } from "../indexer/chain-tip.ts";
import { listScopedVkeys } from "../wallets/managed/find-wallet.ts";
import type { registrationListQuery } from "./schemas.ts";
import { type RegistrationKind, STATUS_FILTERS } from "./states.ts";
import { listRegistrations, type RegistrationFilters } from "./store.ts";
import type { RegistrationRow } from "./tables.ts";

type RegistrationListQuery = z.output<typeof registrationListQuery>;

/**
 * One page of registrations, newest first.
 *
 * @param show - given the height of the newest block seen, from which confirmations are counted
 */
export async function listRegistrationResponses<ApiRecord>(
  c: AppContext,
  kind: RegistrationKind,
  query: RegistrationListQuery,
  show: (row: RegistrationRow, tip: number | null) => ApiRecord,
): Promise<ApiRecord[]> {
  const session = openReadSession(c, query.network);
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const walletVkeys = await listScopedVkeys(core, c.var.caller, query.network);
  const rows = await listRegistrations(session, kind, { ...filtersOf(query), walletVkeys });
  const tip = await readTip(session, query.network);
  return rows.map((row) => show(row, tip));
}

/** If both were sent, the state must also be in the group. */
function filtersOf(query: RegistrationListQuery): Omit<RegistrationFilters, "walletVkeys"> {
  const { filterState, filterStatus } = query;
  const group = filterStatus && STATUS_FILTERS[filterStatus];
  const states = filterState
    ? [filterState].filter((state) => !group || (group as readonly string[]).includes(state))
    : group;
  return {
    network: query.network,
    limit: query.limit,
    cursorId: query.cursorId,
    states,
    agentIdentifier: query.filterAgentIdentifier,
    contractAddress: query.filterSmartContractAddress,
    sourceType: query.filterPaymentSourceType,
    search: query.searchQuery,
  };
}
