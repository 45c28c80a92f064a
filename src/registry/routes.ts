import { z } from "@hono/zod-openapi";
import { NETWORKS } from "../chain/network.ts";
import { permitNetwork } from "../http/authenticate.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { page, text } from "../http/parameters.ts";
import { readSession, textAnswer } from "../http/session.ts";
import { listCapabilities } from "./capability.ts";
import { registryDiff } from "./diff.ts";
import { registryList } from "./list.ts";
import { meteredQuery } from "./metered.ts";
import { pageText } from "./page.ts";
import { paymentInformation } from "./payment-information.ts";
import type { ShownRow } from "./render.ts";
import {
  agentMetadata,
  diffBody,
  entries,
  listBody,
  paymentInformation as paymentInformationRecord,
  searchBody,
} from "./schemas.ts";
import { searchPage } from "./search.ts";
import { searchDatabase } from "./search-index.ts";
import { walletAssets } from "./wallet-assets.ts";

const TAG = "Registry";
const PROVIDER_ERRORS = {
  502: "The chain provider failed.",
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
      path: "/registry-diff",
      access: "User",
      tag: TAG,
      summary: "Returns registry entries whose status changed at or after a point",
      description:
        "To page forward, send the last item's `statusUpdatedAt` as `statusUpdatedAfter` and its id as `cursorId`; that item comes again.",
      body: diffBody,
      data: entries,
      errors: OUT_OF_CREDITS,
    },
    async (c, { body }) => {
      permitNetwork(c.var.caller, body.network);
      const query = registryDiff(body);
      const { rows, session } = await meteredQuery<ShownRow>(
        c,
        body.network,
        "registry-diff",
        query,
      );
      const found = await pageText(session, rows);
      return textAnswer(c, `{"status":"success","data":{"entries":[${found}]}}`, session);
    },
  );

  serve(
    router,
    {
      method: "get",
      path: "/payment-information",
      access: "User",
      tag: TAG,
      summary: "Returns an agent's entry and the wallet that is paid",
      query: z.object({
        agentIdentifier: text(250, 57).openapi({ description: "Policy id and asset name, hex." }),
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
      path: "/registry/wallet",
      access: "User",
      tag: TAG,
      summary: "Returns the agents whose tokens a managed wallet holds",
      query: z
        .object({
          walletVKey: text().optional(),
          walletVkey: text().optional().openapi({ description: "The same as `walletVKey`." }),
          network: z.enum(NETWORKS),
          smartContractAddress: text().optional(),
        })
        .refine(({ walletVKey, walletVkey }) => (walletVKey ?? walletVkey) !== undefined, {
          path: ["walletVKey"],
          error: "is required",
        }),
      data: z.object({
        Assets: z.array(
          z.object({
            policyId: z.string(),
            assetName: z.string(),
            agentIdentifier: z.string(),
            Metadata: agentMetadata,
          }),
        ),
      }),
      errors: { ...PROVIDER_ERRORS, ...OUT_OF_CREDITS, 404: "There is no such wallet." },
    },
    async (c, { query }) => {
      permitNetwork(c.var.caller, query.network);
      const vkey = (query.walletVKey ?? query.walletVkey ?? "").toLowerCase();
      const { network, smartContractAddress } = query;
      return { Assets: await walletAssets(c, { network, vkey, smartContractAddress }) };
    },
  );

  serve(
    router,
    {
      method: "post",
      path: "/registry-entry",
      access: "User",
      tag: TAG,
      summary: "Lists registry entries, newest first",
      body: listBody,
      data: entries,
    },
    async (c, { body }) => {
      permitNetwork(c.var.caller, body.network);
      const session = readSession(c, body.network);
      const { sql, params } = registryList(body);
      const found = await pageText(session, await session.all<ShownRow>(sql, ...params));
      return textAnswer(c, `{"status":"success","data":{"entries":[${found}]}}`, session);
    },
  );

  serve(
    router,
    {
      method: "post",
      path: "/registry-entry-search",
      access: "User",
      tag: TAG,
      summary: "Finds registry entries by a part of their text, newest first",
      description: "The index follows the entries by a minute at most.",
      body: searchBody,
      data: entries,
    },
    async (c, { body }) => {
      permitNetwork(c.var.caller, body.network);
      const session = readSession(c, body.network);
      const index = searchDatabase(c.env, c.var.deadline);
      const found = await pageText(session, await searchPage(index, session, body));
      return textAnswer(c, `{"status":"success","data":{"entries":[${found}]}}`, session);
    },
  );

  serve(
    router,
    {
      method: "get",
      path: "/capability",
      access: "User",
      tag: TAG,
      summary: "Lists the capabilities that agents offer now, in descending order of id",
      query: z.object({ ...page, network: z.enum(NETWORKS) }),
      data: z.object({
        capabilities: z.array(z.object({ id: z.string(), name: z.string(), version: z.string() })),
      }),
    },
    async (c, { query }) => {
      permitNetwork(c.var.caller, query.network);
      return { capabilities: await listCapabilities(readSession(c, query.network), query) };
    },
  );

  return router;
}
