import * as z from "zod";
import { createRouter, serve } from "../http/endpoint.ts";
import { envelope } from "../http/envelope.ts";
import { AGENT_IDENTIFIER, described } from "../http/openapi/fields.ts";
import { network } from "../http/openapi/ledger.ts";
import { diffPaging, page, text } from "../http/openapi/parameters.ts";
import { readSession, textAnswer } from "../http/session.ts";
import { agentAsset, walletAssets } from "./assets.ts";
import { meteredQuery } from "./charged-query.ts";
import { registryDiff } from "./diff.ts";
import { listCapabilities } from "./entries/capability.ts";
import { registryList } from "./entries/list.ts";
import { pageText } from "./entries/read-entries.ts";
import type { ShownRow } from "./entries/render.ts";
import {
  agentQuery,
  diffBody,
  entries,
  listBody,
  offeredCapability,
  paymentInformation as paymentInformationRecord,
  searchBody,
  walletAsset,
  walletQuery,
} from "./entries/schemas.ts";
import { paymentInformation } from "./payment-information.ts";
import { searchDatabase } from "./search/index.ts";
import { searchPage } from "./search/search.ts";

const TAG = "Registry";
const PROVIDER_ERRORS = {
  502: "The chain provider failed.",
  503: "The chain provider accepts no calls; see Retry-After.",
  504: "The chain provider did not answer in time.",
};
const OUT_OF_CREDITS = { 402: "The API key has no usage credits left." };

/** The registry of the interface, as consumers read it. */
export function registryRoutes() {
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
      description: diffPaging("statusUpdatedAt", "statusUpdatedAfter", "at"),
      body: diffBody,
      data: entries,
      errors: OUT_OF_CREDITS,
    },
    async (c, { body }) => {
      const query = registryDiff(body);
      const { rows, session } = await meteredQuery<ShownRow>(
        c,
        body.network,
        "registry-diff",
        query,
      );
      const found = pageText(rows);
      return textAnswer(c, `{"status":"success","data":{"entries":[${found}]}}`, session);
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
          text(250, 57),
          "Policy id and asset name, in hex.",
          AGENT_IDENTIFIER,
        ),
      }),
      data: paymentInformationRecord,
      errors: { ...PROVIDER_ERRORS, ...OUT_OF_CREDITS, 404: "There is no such agent." },
    },
    async (c, { query }) => {
      const record = await paymentInformation(c, query.agentIdentifier);
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
      errors: { ...PROVIDER_ERRORS, ...OUT_OF_CREDITS, 404: "There is no such wallet." },
    },
    async (c, { query }) => {
      const vkey = (query.walletVKey ?? query.walletVkey ?? "").toLowerCase();
      const { network, smartContractAddress } = query;
      return { Assets: await walletAssets(c, { network, vkey, smartContractAddress }) };
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
      return agentAsset(c, query, Date.now());
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
      body: listBody,
      data: entries,
    },
    async (c, { body }) => {
      const session = readSession(c, body.network);
      const { sql, params } = registryList(body);
      const found = pageText(await session.all<ShownRow>(sql, ...params));
      return textAnswer(c, `{"status":"success","data":{"entries":[${found}]}}`, session);
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
      body: searchBody,
      data: entries,
    },
    async (c, { body }) => {
      const session = readSession(c, body.network);
      const index = searchDatabase(c.env, c.var.deadline);
      const found = pageText(await searchPage(index, session, body));
      return textAnswer(c, `{"status":"success","data":{"entries":[${found}]}}`, session);
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
      query: z.object({ ...page, network }),
      data: z.object({
        capabilities: described(z.array(offeredCapability), "The capabilities."),
      }),
    },
    async (c, { query }) => {
      const session = readSession(c, query.network);
      const capabilities = await listCapabilities(session, query);
      return textAnswer(c, JSON.stringify(envelope({ capabilities })), session);
    },
  );

  return router;
}
