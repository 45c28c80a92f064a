import * as z from "zod";
import type { Database } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { toEnvelope } from "../http/envelope.ts";
import { network } from "../http/openapi/chain-fields.ts";
import { described, EXAMPLE_AGENT_IDENTIFIER, PROVIDER_ERRORS } from "../http/openapi/fields.ts";
import { describeDiffPaging, pageParameters, textParameter } from "../http/openapi/parameters.ts";
import { createJsonResponse, openReadSession } from "../http/session.ts";
import { listWalletAssets, loadAgentAsset } from "./assets.ts";
import { listCapabilities } from "./entries/capability.ts";
import { renderPage } from "./entries/read-entries.ts";
import { buildRegistryListQuery } from "./entries/registry-list.ts";
import type { EntryPageRow } from "./entries/render-entry.ts";
import {
  agentQuery,
  entryDiffBody,
  entryListBody,
  entrySearchBody,
  OUT_OF_CREDITS_ERROR,
  offeredCapability,
  paymentInformation as paymentInformationRecord,
  registryEntries,
  TOKEN_ERRORS,
  walletAsset,
  walletQuery,
} from "./entries/schemas.ts";
import { loadPaymentInformation } from "./payment-information.ts";
import { readRegistryDiff } from "./registry-diff.ts";
import { openSearchDatabase } from "./search/index-changes.ts";
import { searchPage } from "./search/search-page.ts";

const RULES = { access: "User", scope: "network", tag: "Registry" } as const;

/** The operation whose `network` clients of other services omit. */
export const CAPABILITIES_ENDPOINT = {
  ...RULES,
  method: "get",
  operationId: "listCapabilities",
  isConditional: true,
  takesBookmark: true,
  path: "/capability",
  summary: "Lists the capabilities that agents offer now, in descending order of id",
  data: z.object({ capabilities: described(z.array(offeredCapability), "The capabilities.") }),
} as const;

/** The registry of the interface, as consumers read it. */
export function createRegistryRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      ...RULES,
      method: "post",
      operationId: "diffRegistryEntries",
      isConditional: true,
      takesBookmark: true,
      path: "/registry-diff",
      summary: "Returns registry entries whose status changed at or after a time",
      description: describeDiffPaging("statusUpdatedAt", "statusUpdatedAfter", "at"),
      body: entryDiffBody,
      data: registryEntries,
      errors: OUT_OF_CREDITS_ERROR,
    },
    async (c, { body }) => respondWithEntries(c, await readRegistryDiff(c, body)),
  );

  serve(
    router,
    {
      ...RULES,
      method: "get",
      operationId: "getPaymentInformation",
      path: "/payment-information",
      summary: "Returns an agent's entry and the wallet that receives its payments",
      query: z.object({
        agentIdentifier: described(
          textParameter(250, 57),
          "Policy id and asset name, in hex.",
          EXAMPLE_AGENT_IDENTIFIER,
        ),
      }),
      data: paymentInformationRecord,
      errors: { ...PROVIDER_ERRORS, ...OUT_OF_CREDITS_ERROR, 404: "There is no such agent." },
    },
    async (c, { query }) => {
      const record = await loadPaymentInformation(c, query.agentIdentifier);
      return c.body(`{"status":"success","data":${record}}`, 200, {
        "content-type": "application/json",
      });
    },
  );

  serve(
    router,
    {
      ...RULES,
      method: "get",
      operationId: "listWalletAgents",
      path: "/registry/wallet",
      names: { walletVKey: "ledgerData", walletVkey: "ledgerData" },
      summary: "Returns the agents whose tokens a managed wallet holds",
      query: walletQuery,
      data: z.object({ Assets: described(z.array(walletAsset), "The agents.") }),
      errors: { ...PROVIDER_ERRORS, ...OUT_OF_CREDITS_ERROR, 404: "There is no such wallet." },
    },
    async (c, { query }) => {
      const vkey = (query.walletVKey ?? query.walletVkey ?? "").toLowerCase();
      const { network, smartContractAddress } = query;
      return { Assets: await listWalletAssets(c, { network, vkey, smartContractAddress }) };
    },
  );

  serve(
    router,
    {
      ...RULES,
      method: "get",
      operationId: "getAgentMetadata",
      path: "/registry/agent-identifier",
      summary: "Returns the metadata of an agent's token",
      query: agentQuery,
      data: walletAsset,
      errors: TOKEN_ERRORS,
    },
    (c, { query }) => loadAgentAsset(c, query, Date.now()),
  );

  serve(
    router,
    {
      ...RULES,
      method: "post",
      operationId: "listRegistryEntries",
      isConditional: true,
      takesBookmark: true,
      path: "/registry-entry",
      summary: "Lists registry entries, newest first",
      body: entryListBody,
      data: registryEntries,
    },
    async (c, { body }) => {
      const session = openReadSession(c, body.network);
      const { sql, params } = buildRegistryListQuery(body);
      return respondWithEntries(c, { rows: await session.all(sql, ...params), session });
    },
  );

  serve(
    router,
    {
      ...RULES,
      method: "post",
      operationId: "searchRegistryEntries",
      isConditional: true,
      takesBookmark: true,
      path: "/registry-entry-search",
      summary: "Finds registry entries by a part of their text, newest first",
      description: "The search index lags by at most a minute.",
      body: entrySearchBody,
      data: registryEntries,
    },
    async (c, { body }) => {
      const session = openReadSession(c, body.network);
      const index = openSearchDatabase(c.env, c.var.deadline);
      return respondWithEntries(c, { rows: await searchPage(index, session, body), session });
    },
  );

  serve(
    router,
    { ...CAPABILITIES_ENDPOINT, query: z.object({ ...pageParameters, network }) },
    async (c, { query }) => {
      const session = openReadSession(c, query.network);
      const capabilities = await listCapabilities(session, query);
      return createJsonResponse(c, JSON.stringify(toEnvelope({ capabilities })), session);
    },
  );

  return router;
}

function respondWithEntries(
  c: AppContext,
  { rows, session }: { rows: EntryPageRow[]; session: Database },
): Promise<Response> {
  const text = `{"status":"success","data":{"entries":[${renderPage(rows)}]}}`;
  return createJsonResponse(c, text, session);
}
