import * as z from "zod";
import { createRouter, serve } from "../../http/endpoint.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { described } from "../../http/openapi/fields.ts";
import { createRuleStore } from "../rules/rule-store.ts";
import {
  type NewTopUpBody,
  newTopUpBody,
  ruleListQuery,
  type TopUpChangeBody,
  type TopUpRecord,
  topUpChangeBody,
  topUpRecord,
} from "../rules/schemas.ts";
import { type TopUpRuleRow, topUpRule } from "../rules/tables.ts";
import { boundsOf } from "./decide.ts";

/** The rules by which wallets are topped up. */
const topUpRules = createRuleStore({
  table: topUpRule,
  name: "top-up-rule",
  mayOverwrite: false,
  checkWallet({ role }) {
    if (role === "Funding")
      throw new ApiError(400, "walletId: must not be a Funding wallet, which pays for the others");
  },
  toColumns: (body: NewTopUpBody) => ({ ...normalizeBounds(body), waitsFor: null }),
  toChanges: ({ below, upTo, perDay, enabled }: TopUpChangeBody, row) => ({
    ...normalizeBounds({
      unit: row.unit,
      below: below ?? row.below,
      upTo: upTo ?? row.upTo,
      perDay: perDay === undefined ? row.perDay : perDay,
    }),
    enabled,
    waitsFor: null,
  }),
  render: toTopUpRecord,
});

type StoredBounds = Pick<TopUpRuleRow, "below" | "upTo" | "perDay">;

/** Checks that the bounds of a rule make sense together. @throws ApiError 400 */
function normalizeBounds(rule: StoredBounds & { unit: string }): StoredBounds {
  const { below, upTo, perDay, minAmount: least } = boundsOf(rule);
  if (upTo - below < least) throw new ApiError(400, `upTo: must be at least ${below + least}`);
  if (perDay < upTo - below) throw new ApiError(400, `perDay: must be at least ${upTo - below}`);
  return {
    below: below.toString(),
    upTo: upTo.toString(),
    perDay: rule.perDay === null ? null : perDay.toString(),
  };
}

function toTopUpRecord(row: TopUpRuleRow): TopUpRecord {
  const { below, upTo, perDay } = boundsOf(row);
  return {
    id: row.id,
    walletId: row.walletId,
    unit: row.unit,
    below: below.toString(),
    upTo: upTo.toString(),
    perDay: perDay.toString(),
    enabled: row.enabled,
    balance: row.balance,
    checkedAt: row.checkedAt === null ? null : toIsoTime(row.checkedAt),
    waitsFor: row.waitsFor,
    createdAt: toIsoTime(row.createdAt),
    updatedAt: toIsoTime(row.updatedAt),
  };
}

const UNKNOWN_RULE = "There is no such rule.";
const ADMIN_OPTIONS = { access: "Admin", scope: "admin", tag: "Wallets" } as const;

/** `/wallet/top-up`: rules by which Funding wallets fill up the others of their source. */
export function createTopUpRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      operationId: "listTopUpRules",
      isConditional: true,
      path: "/wallet/top-up",
      ...ADMIN_OPTIONS,
      summary: "Lists the rules by which wallets are topped up, newest first",
      query: ruleListQuery,
      data: z.object({ Rules: described(z.array(topUpRecord), "The rules.") }),
    },
    async (c, { query }) => ({ Rules: await topUpRules.list(c, query) }),
  );

  serve(
    router,
    {
      method: "post",
      operationId: "createTopUpRule",
      path: "/wallet/top-up",
      ...ADMIN_OPTIONS,
      summary: "Has a wallet topped up by the Funding wallet of its payment source",
      description:
        "Balances are checked every five minutes. GET /wallet/transfer-funds lists the top-ups; FUND_DISTRIBUTION events tell of them.",
      body: newTopUpBody,
      idempotent: true,
      data: topUpRecord,
      errors: {
        404: "There is no such wallet.",
        409: "The wallet already has a rule for the unit.",
      },
    },
    (c, { body }) => topUpRules.create(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "patch",
      operationId: "updateTopUpRule",
      path: "/wallet/top-up",
      ...ADMIN_OPTIONS,
      summary: "Changes a rule by which a wallet is topped up",
      description: "Omitted fields are kept.",
      body: topUpChangeBody,
      data: topUpRecord,
      errors: { 404: UNKNOWN_RULE, 409: "The rule was changed meanwhile." },
    },
    (c, { body }) => topUpRules.change(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "delete",
      operationId: "deleteTopUpRule",
      path: "/wallet/top-up",
      ...ADMIN_OPTIONS,
      summary: "Deletes a rule by which a wallet is topped up",
      description: "A pending top-up continues.",
      body: topUpChangeBody.pick({ id: true }),
      data: topUpRecord,
      errors: { 404: UNKNOWN_RULE },
    },
    (c, { body }) => topUpRules.delete(c, body.id, Date.now()),
  );

  return router;
}
