import { z } from "@hono/zod-openapi";
import { permitNetwork } from "../http/authenticate.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import type { SuccessStatus } from "../http/envelope.ts";
import { readSession, textAnswer } from "../http/session.ts";
import { diffPage, type Stamp } from "./diff.ts";
import { listPage } from "./list.ts";
import type { Side } from "./record.ts";
import { diffQuery, listQuery, paymentRecord, purchaseRecord } from "./schemas.ts";

const SIDES = {
  purchase: {
    tag: "Purchases",
    list: "Purchases",
    data: z.object({ Purchases: z.array(purchaseRecord) }),
    diffStatus: "success",
  },
  payment: {
    tag: "Payments",
    list: "Payments",
    data: z.object({ Payments: z.array(paymentRecord) }),
    diffStatus: "Success",
  },
} as const satisfies Record<Side, { diffStatus: SuccessStatus; [key: string]: unknown }>;

const DIFFS: { path: string; stamp: Stamp; what: string }[] = [
  {
    path: "/diff/onchain-state-or-result",
    stamp: "chain_changed_at",
    what: "on-chain state or result hash",
  },
  { path: "/diff/next-action", stamp: "action_changed_at", what: "next action" },
  { path: "/diff", stamp: "changed_at", what: "next action, on-chain state or result hash" },
];

/** `/payment` and `/purchase` of the interface: the same reads of the two sides. */
export function escrowRoutes() {
  const router = createRouter();

  for (const side of ["purchase", "payment"] as const) {
    const { tag, list, data, diffStatus } = SIDES[side];

    for (const { path, stamp, what } of DIFFS) {
      serve(
        router,
        {
          method: "get",
          path: `/${side}${path}`,
          access: "User",
          tag,
          summary: `Returns ${tag.toLowerCase()} whose ${what} changed since lastUpdate`,
          query: diffQuery,
          data,
          status: diffStatus,
        },
        async (c, { query }) => {
          permitNetwork(c.var.caller, query.network);
          const session = readSession(c, query.network);
          const records = await diffPage(session, side, stamp, query);
          return textAnswer(
            c,
            `{"status":"${diffStatus}","data":{"${list}":[${records}]}}`,
            session,
          );
        },
      );
    }

    serve(
      router,
      {
        method: "get",
        path: `/${side}`,
        access: "User",
        tag,
        summary: `Lists ${tag.toLowerCase()}, newest first`,
        query: listQuery,
        data,
      },
      async (c, { query }) => {
        permitNetwork(c.var.caller, query.network);
        const session = readSession(c, query.network);
        const records = await listPage(session, side, query);
        return textAnswer(c, `{"status":"success","data":{"${list}":[${records}]}}`, session);
      },
    );
  }

  return router;
}
