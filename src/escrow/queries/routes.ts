import * as z from "zod";
import { createRouter, serve } from "../../http/endpoint.ts";
import type { SuccessStatus } from "../../http/envelope.ts";
import { described } from "../../http/openapi/fields.ts";
import { describeDiffPaging } from "../../http/openapi/parameters.ts";
import { createJsonResponse, createPageResponse, openReadSession } from "../../http/session.ts";
import type { Side } from "../model/escrow-record.ts";
import { countByDay, countRecords } from "./count-records.ts";
import { readDiffPage, readDiffVersion, type StampColumn } from "./diff-page.ts";
import { readListPage } from "./list-page.ts";
import {
  countQuery,
  diffQuery,
  identifierLookupBody,
  listQuery,
  nearDeadline,
  paymentChange,
  purchaseChange,
  recordCounts,
} from "./query-schemas.ts";
import { paymentRecord, purchaseRecord } from "./record-schemas.ts";
import { resolveIdentifiers } from "./resolve-identifiers.ts";

const SIDES = {
  purchase: {
    list: "Purchases",
    data: z.object({ Purchases: described(z.array(purchaseRecord), "The purchases.") }),
    record: purchaseRecord,
    change: purchaseChange,
  },
  payment: {
    list: "Payments",
    data: z.object({ Payments: described(z.array(paymentRecord), "The payments.") }),
    record: paymentRecord,
    change: paymentChange,
  },
} as const satisfies Record<Side, object>;

interface DiffRoute {
  path: string;
  stampColumn: StampColumn;
  /** The field of a record that shows the stamp. */
  stampField: string;
  subject: string;
  /** Follows `diffPurchases` or `diffPayments` in the operation's id. */
  operationSuffix: string;
  status: Record<Side, SuccessStatus>;
}

const DIFF_ROUTES: DiffRoute[] = [
  {
    path: "/diff/onchain-state-or-result",
    stampColumn: "chain_changed_at",
    operationSuffix: "ByOnChainStateOrResult",
    status: { purchase: "success", payment: "Success" },
    stampField: "onChainStateOrResultLastChangedAt",
    subject: "on-chain state or result hash",
  },
  {
    path: "/diff/next-action",
    stampColumn: "action_changed_at",
    operationSuffix: "ByNextAction",
    status: { purchase: "success", payment: "success" },
    stampField: "nextActionLastChangedAt",
    subject: "next action",
  },
  {
    path: "/diff",
    stampColumn: "changed_at",
    operationSuffix: "",
    status: { purchase: "success", payment: "success" },
    stampField: "nextActionOrOnChainStateOrResultLastChangedAt",
    subject: "next action, on-chain state or result hash",
  },
];

/** `/payment` and `/purchase` of the interface: the same reads of the two sides. */
export function createEscrowRoutes() {
  const router = createRouter();

  for (const side of ["purchase", "payment"] as const) {
    const { list, data, record, change } = SIDES[side];
    const shared = { access: "User", scope: "wallets", takesBookmark: true, tag: list } as const;
    const prefix = side === "purchase" ? "PURCHASE" : "PAYMENT";

    router.events.push(
      {
        kind: `${prefix}_ON_CHAIN_STATUS_CHANGED`,
        summary: `The on-chain state or result hash of a ${side} changed`,
        data: change,
      },
      { kind: `${prefix}_ON_ERROR`, summary: `A ${side} has an error`, data: change },
      {
        kind: `${prefix}_DEADLINE_NEAR`,
        summary: `A deadline of a ${side} is near, and a step of this side is not done`,
        data: record.extend({ Deadline: nearDeadline }),
      },
    );

    for (const { path, stampColumn, stampField, subject, operationSuffix, status } of DIFF_ROUTES) {
      serve(
        router,
        {
          ...shared,
          method: "get",
          path: `/${side}${path}`,
          operationId: `diff${list}${operationSuffix}`,
          isConditional: true,
          summary: `Returns ${side}s whose ${subject} changed since lastUpdate`,
          description: describeDiffPaging(
            stampField,
            "lastUpdate",
            side === "purchase" ? "at" : "after",
          ),
          query: diffQuery,
          data,
          status: status[side],
        },
        async (c, { query }) => {
          const session = openReadSession(c, query.network);
          const options = { ...query, viewer: c.var.caller, env: c.env };
          return createPageResponse(c, session, {
            readVersion: () => readDiffVersion(session, side, stampColumn, options),
            read: async () => {
              const { records, version } = await readDiffPage(session, side, stampColumn, options);
              const body = `{"status":"${status[side]}","data":{"${list}":[${records}]}}`;
              return { body, version };
            },
          });
        },
      );
    }

    serve(
      router,
      {
        ...shared,
        method: "get",
        path: `/${side}`,
        operationId: `list${list}`,
        isConditional: true,
        summary: `Lists ${side}s, newest first`,
        query: listQuery,
        data,
      },
      async (c, { query }) => {
        const session = openReadSession(c, query.network);
        const options = { ...query, viewer: c.var.caller, env: c.env };
        const records = await readListPage(session, side, options);
        const text = `{"status":"success","data":{"${list}":[${records}]}}`;
        return createJsonResponse(c, text, session);
      },
    );

    serve(
      router,
      {
        ...shared,
        method: "get",
        path: `/${side}/count`,
        operationId: `count${list}`,
        summary: `Counts ${side}s`,
        query: countQuery,
        data: recordCounts,
      },
      async (c, { query }) => {
        const session = openReadSession(c, query.network);
        const filters = { ...query, viewer: c.var.caller, env: c.env };
        const [counts, byDay] = await Promise.all([
          countRecords(session, side, filters),
          countByDay(session, side, filters, Date.now()),
        ]);
        const data = { ...counts, byDay };
        return createJsonResponse(c, JSON.stringify({ status: "success", data }), session);
      },
    );

    serve(
      router,
      {
        ...shared,
        method: "post",
        path: `/${side}/resolve-blockchain-identifier`,
        operationId: `resolve${list}`,
        isConditional: true,
        summary: `Finds ${side}s by escrow identifier`,
        description:
          "With `blockchainIdentifier`, returns the record; with `blockchainIdentifiers`, a list in the same order.",
        body: identifierLookupBody,
        data: z.union([record, data]),
        errors: { 404: `There is no such ${side}.` },
      },
      (c, { body }) => resolveIdentifiers(c, side, list, body),
    );
  }

  return router;
}
