import type * as z from "zod";
import { type Router, serve } from "../http/endpoint.ts";
import { describeDiffPaging } from "../http/openapi/parameters.ts";
import {
  countRegistrationsByState,
  diffRegistrations,
  listRegistrationResponses,
  type ShowRegistration,
} from "./list-registration-responses.ts";
import {
  registrationCountQuery,
  registrationCounts,
  registrationDiffQuery,
  registrationListQuery,
} from "./list-schemas.ts";
import type { RegistrationKind } from "./states.ts";

/** The registrations of a kind at a path. */
interface ServedRegistrations<ApiRecord> {
  kind: RegistrationKind;
  path: string;
  tag: string;
  /** What is registered, in summaries: `inbox agents`. */
  plural: string;
  /** The id of an operation, and which operation it is an alias of. */
  identify(
    verb: "list" | "diff" | "count",
    suffix: string,
  ): { operationId: string; aliasOf?: string };
  data: z.ZodType<unknown, { Assets: ApiRecord[] }>;
  show: ShowRegistration<ApiRecord>;
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
    async (c, { query }) => ({ Assets: await listRegistrationResponses(c, kind, query, show) }),
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
    (c, { query }) => diffRegistrations(c, kind, query, data, show),
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
    (c, { query }) => countRegistrationsByState(c, kind, query),
  );
}
