import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { createRuleStore } from "../rules/rule-store.ts";
import type { NewTopUpBody, TopUpChangeBody, TopUpRecord } from "../rules/schemas.ts";
import { type TopUpRuleRow, topUpRule } from "../rules/tables.ts";
import { boundsOf } from "./decide.ts";

/** The rules by which wallets are topped up. */
export const topUpRules = createRuleStore({
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
export function normalizeBounds(rule: StoredBounds & { unit: string }): StoredBounds {
  const { below, upTo, perDay, minAmount } = boundsOf(rule);
  if (upTo - below < minAmount)
    throw new ApiError(400, `upTo: must be at least ${below + minAmount}`);
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
