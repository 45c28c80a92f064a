import * as z from "zod";
import { createRouter, serve } from "../http/endpoint.ts";
import { toEnvelope } from "../http/envelope.ts";
import { network } from "../http/openapi/chain-fields.ts";
import { described, EXAMPLE_AGENT_IDENTIFIER } from "../http/openapi/fields.ts";
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
  PROVIDER_ERRORS,
  paymentInformation as paymentInformationRecord,
  registryEntries,
  walletAsset,
  walletQuery,
} from "./entries/schemas.ts";
import { loadPaymentInformation } from "./payment-information.ts";
import { buildRegistryDiffQuery } from "./registry-diff.ts";
import { runMeteredQuery } from "./run-metered-query.ts";
import { openSearchDatabase } from "./search/index-changes.ts";
import { searchPage } from "./search/search-page.ts";

const TAG = "Registry";

/** The registry of the interface, as consumers read it. */
export function createRegistryRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "post",
      operationId: "diffRegistryEntries",
      isConditional: true,
      takesBookmark: true,
      path: "/registry-diff",
      access: "User",
      scope: "network",
      tag: TAG,
      summary: "Returns registry entries whose status changed at or after a time",
      description: describeDiffPaging("statusUpdatedAt", "statusUpdatedAfter", "at"),
      body: entryDiffBody,
      data: registryEntries,
      errors: OUT_OF_CREDITS_ERROR,
    },
    async (c, { body }) => {
      const query = buildRegistryDiffQuery(body);
      const { rows, session } = await runMeteredQuery<EntryPageRow>(
        c,
        body.network,
        "registry-diff",
        query,
      );
      const found = renderPage(rows);
      return createJsonResponse(c, `{"status":"success","data":{"entries":[${found}]}}`, session);
    },
  );

  serve(
    router,
    {
      method: "get",
      operationId: "getPaymentInformation",
      path: "/payment-information",
      access: "User",
      scope: "network",
      tag: TAG,
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
      method: "get",
      operationId: "listWalletAgents",
      path: "/registry/wallet",
      access: "User",
      scope: "network",
      names: { walletVKey: "ledgerData", walletVkey: "ledgerData" },
      tag: TAG,
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
      method: "get",
      operationId: "getAgentMetadata",
      path: "/registry/agent-identifier",
      access: "User",
      scope: "network",
      tag: TAG,
      summary: "Returns the metadata of an agent's token",
      query: agentQuery,
      data: walletAsset,
      errors: {
        ...PROVIDER_ERRORS,
        404: "No payment source has the agent's policy, no wallet holds its token, or its metadata is unreadable.",
      },
    },
    (c, { query }) => {
      return loadAgentAsset(c, query, Date.now());
    },
  );

  serve(
    router,
    {
      method: "post",
      operationId: "listRegistryEntries",
      isConditional: true,
      takesBookmark: true,
      path: "/registry-entry",
      access: "User",
      scope: "network",
      tag: TAG,
      summary: "Lists registry entries, newest first",
      body: entryListBody,
      data: registryEntries,
    },
    async (c, { body }) => {
      const session = openReadSession(c, body.network);
      const { sql, params } = buildRegistryListQuery(body);
      const found = renderPage(await session.all<EntryPageRow>(sql, ...params));
      return createJsonResponse(c, `{"status":"success","data":{"entries":[${found}]}}`, session);
    },
  );

  serve(
    router,
    {
      method: "post",
      operationId: "searchRegistryEntries",
      isConditional: true,
      takesBookmark: true,
      path: "/registry-entry-search",
      access: "User",
      scope: "network",
      tag: TAG,
      summary: "Finds registry entries by a part of their text, newest first",
      description: "The search index lags by at most a minute.",
      body: entrySearchBody,
      data: registryEntries,
    },
    async (c, { body }) => {
      const session = openReadSession(c, body.network);
      const index = openSearchDatabase(c.env, c.var.deadline);
      const found = renderPage(await searchPage(index, session, body));
      return createJsonResponse(c, `{"status":"success","data":{"entries":[${found}]}}`, session);
    },
  );

  serve(
    router,
    {
      method: "get",
      operationId: "listCapabilities",
      isConditional: true,
      takesBookmark: true,
      path: "/capability",
      access: "User",
      scope: "network",
      tag: TAG,
      summary: "Lists the capabilities that agents offer now, in descending order of id",
      query: z.object({ ...pageParameters, network }),
      data: z.object({
        capabilities: described(z.array(offeredCapability), "The capabilities."),
      }),
    },
    async (c, { query }) => {
      const session = openReadSession(c, query.network);
      const capabilities = await listCapabilities(session, query);
      return createJsonResponse(c, JSON.stringify(toEnvelope({ capabilities })), session);
    },
  );

  return router;
}
