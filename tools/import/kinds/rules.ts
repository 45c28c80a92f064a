import * as z from "zod";
import { ENV_ADMIN_ID } from "../../../src/api-keys/find-key.ts";
import { parseUnit } from "../../../src/chain/unit.ts";
import { lowBalanceRule, topUpRule } from "../../../src/wallets/rules/tables.ts";
import { normalizeBounds } from "../../../src/wallets/top-ups/top-up-rules.ts";
import { x402BalanceRule } from "../../../src/x402/model/tables.ts";
import { amount, defineKind, type ImportContext, LeftOut, text, time } from "../import-context.ts";

const commonFields = { id: text, createdAt: time, thresholdAmount: amount, enabled: z.boolean() };
const ANOTHER_RULE = "the wallet has another rule for its unit";

/** Low-balance rules. A top-up becomes a separate rule, which is off. */
export const rules = defineKind({
  name: "low-balance rules",
  table: "HotWalletLowBalanceRule",
  schema: z.object({
    ...commonFields,
    hotWalletId: text,
    assetUnit: text,
    topupEnabled: z.boolean(),
    topupAmount: amount.nullable(),
  }),
  convert(row, context) {
    const wallet = context.requireWallet(row.hotWalletId);
    const unit = parseUnit(row.assetUnit);
    if (unit === null) throw new LeftOut("its unit names no asset");
    if (!context.claim("low_balance_rule", row.id, `${wallet.id} ${unit}`, ANOTHER_RULE))
      return "present";
    const columns = createColumns({ ...row, walletId: wallet.id, unit }, context);
    const alert = { ...columns, ...initialState(row.thresholdAmount) };
    const statements = [context.orm.insert(lowBalanceRule).values(alert).toSQL()];
    if (!row.topupEnabled || row.topupAmount === null) return statements;
    const below = row.thresholdAmount;
    const upTo = String(BigInt(below) + BigInt(row.topupAmount));
    const topUp = {
      ...columns,
      ...normalizeBounds({ unit, below, upTo, perDay: null }),
      enabled: false,
      waitsFor: null,
    };
    context.note("top-up rule that is off: enable it once the Funding wallet drives all");
    return [...statements, context.orm.insert(topUpRule).values(topUp).toSQL()];
  },
});

/** Low-balance rules of EVM wallets. */
export const x402Rules = defineKind({
  name: "x402 low-balance rules",
  table: "X402EvmWalletLowBalanceRule",
  schema: z.object({ ...commonFields, evmWalletId: text, asset: text }),
  convert(row, context) {
    const { evmWalletId: walletId } = row;
    if (!context.recordIds.has(walletId)) throw new LeftOut("its wallet is left out");
    const unit = row.asset.toLowerCase();
    if (!/^(native|0x[0-9a-f]{40})$/.test(unit)) throw new LeftOut("its asset is no token");
    if (!context.claim("x402_balance_rule", row.id, `${walletId} ${unit}`, ANOTHER_RULE))
      return "present";
    const columns = createColumns({ ...row, walletId, unit }, context);
    const rule = { ...columns, ...initialState(row.thresholdAmount) };
    return [context.orm.insert(x402BalanceRule).values(rule).toSQL()];
  },
});

function createColumns(
  row: { id: string; createdAt: number; enabled: boolean; walletId: string; unit: string },
  { now }: ImportContext,
) {
  const { id, createdAt, enabled, walletId, unit } = row;
  return {
    ...{ id, walletId, unit, enabled, balance: null, checkedAt: null, dueAt: 0, version: 0 },
    ...{ createdById: ENV_ADMIN_ID, createdAt, updatedAt: now },
  };
}

const initialState = (threshold: string) =>
  ({ threshold, status: "Unknown", sequence: 0 }) as const;
