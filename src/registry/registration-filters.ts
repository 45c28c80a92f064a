import type { z } from "@hono/zod-openapi";
import type { registrationListQuery } from "./registration-schemas.ts";
import { STATUS_FILTERS } from "./registration-states.ts";
import type { ListFilters } from "./registration-store.ts";

/** The filters of a list, from its query: a state must be in the group as well, if both were sent. */
export function listFilters(query: z.output<typeof registrationListQuery>): ListFilters {
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
