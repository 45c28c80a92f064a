import { desc } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { isOneOf } from "../../db/conditions.ts";
import type { Env } from "../../env.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { createBalanceReader } from "../managed/read-balances.ts";
import { managedWallet, type WalletRow } from "../managed/tables.ts";
import {
  type BalanceReporter,
  findDueRules,
  openCheckDatabase,
  postponeRules,
  splitIntoPortions,
  writeBalances,
} from "./check-rules.ts";
import { createRuleStore } from "./rule-store.ts";
import type { LowBalanceChangeBody, LowBalanceRecord, NewLowBalanceBody } from "./schemas.ts";
import { type BalanceRuleRow, lowBalanceRule } from "./tables.ts";

/** How long a check is valid: each costs one provider call per wallet. */
const CHECK_INTERVAL_MS = 10 * 60_000;

/** Rules that report a low balance of a managed wallet. */
export const lowBalanceRules = createRuleStore({
  table: lowBalanceRule,
  name: "low-balance-rule",
  mayOverwrite: true,
  toColumns: ({ thresholdAmount }: NewLowBalanceBody) =>
    ({ threshold: BigInt(thresholdAmount).toString(), status: "Unknown", sequence: 0 }) as const,
  toChanges: ({ thresholdAmount, enabled }: LowBalanceChangeBody) => ({
    threshold: thresholdAmount && BigInt(thresholdAmount).toString(),
    enabled,
    status: "Unknown",
  }),
  render: renderLowBalanceRule,
});

/** A rule as the interface shows it. */
export function renderLowBalanceRule(row: BalanceRuleRow): LowBalanceRecord {
  return {
    id: row.id,
    walletId: row.walletId,
    unit: row.unit,
    thresholdAmount: row.threshold,
    enabled: row.enabled,
    status: row.status,
    balance: row.balance,
    checkedAt: row.checkedAt === null ? null : toIsoTime(row.checkedAt),
    createdAt: toIsoTime(row.createdAt),
    updatedAt: toIsoTime(row.updatedAt),
  };
}

/** The rules of some wallets, by wallet id, newest first. */
export async function readRulesByWallet(
  database: Database,
  walletIds: readonly string[],
): Promise<Map<string, BalanceRuleRow[]>> {
  const rows = await database.orm
    .select()
    .from(lowBalanceRule)
    .where(isOneOf(lowBalanceRule.walletId, walletIds))
    .orderBy(desc(lowBalanceRule.id));
  return Map.groupBy(rows, ({ walletId }) => walletId);
}

const BALANCE_REPORTER: BalanceReporter<WalletRow> = {
  rules: lowBalanceRule,
  countsChanges: false,
  intervalMs: CHECK_INTERVAL_MS,
  toEvent: (rule, wallet, balance) => ({
    kind: "WALLET_LOW_BALANCE",
    network: wallet.network,
    sourceId: wallet.sourceId,
    ownerId: null,
    walletIds: [wallet.id],
    data: {
      ruleId: rule.id,
      walletId: wallet.id,
      walletVkey: wallet.vkey,
      walletAddress: wallet.address,
      walletNote: wallet.note,
      network: wallet.network,
      paymentSourceId: wallet.sourceId,
      unit: rule.unit,
      thresholdAmount: rule.threshold,
      balance,
    },
  }),
};

/**
 * Checks the rules that are due, and reports balances below their thresholds. A balance that cannot be
 * read changes nothing.
 *
 * @param now - epoch milliseconds
 * @param deadline - epoch milliseconds until which the providers are waited for
 */
export async function checkLowBalances(
  env: Env,
  requestId: string,
  now: number,
  deadline: number,
): Promise<void> {
  const database = openCheckDatabase(env, deadline);
  const due = await findDueRules(
    database,
    lowBalanceRule,
    managedWallet,
    managedWallet.sourceId,
    now,
  );
  const readBalances = createBalanceReader(env, deadline, "wallet");
  for (const portion of splitIntoPortions(due)) {
    if (Date.now() >= deadline) return;
    const balances = await readBalances(portion.map(({ wallet }) => wallet));
    const found = portion.flatMap((one) => {
      const balance = balances.get(one.wallet.id);
      return balance ? [{ ...one, balance: balance.get(one.rule.unit) ?? 0n }] : [];
    });
    const unread = portion.filter(({ wallet }) => !balances.has(wallet.id));
    await writeBalances(env, database, BALANCE_REPORTER, found, { requestId, now });
    await postponeRules(database, lowBalanceRule, unread, now);
  }
}
