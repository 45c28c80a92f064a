import { and, eq, getTableColumns, getTableName, isNull, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, type Statement, violates } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { type PlainEvent, wakeDispatcher, writeEvent } from "../../events/outbox.ts";
import { log } from "../../log.ts";
import type { LogEvent } from "../../log-events.ts";
import type { BalanceRuleRow, BalanceRuleTable, RuleRow, RuleTable } from "./tables.ts";

/** Rules checked per run, on EVM chains per network; the next run, a minute later, continues. */
const PER_RUN = 50;
/** Time for writing the outcomes, after the balances were read. */
export const WRITES_MS = 30_000;

/** The log event of a rule that has changed since a check read it, by table. */
const SUPERSEDED: Record<string, LogEvent> = {
  low_balance_rule: "low_balance.superseded",
  top_up_rule: "top_up.superseded",
};

/** A table of wallets that rules are about. */
type WalletTable = SQLiteTable & { id: SQLiteColumn; deletedAt: SQLiteColumn };

/** A rule and its wallet. */
export interface DueRule<Rule, Wallet> {
  rule: Rule;
  wallet: Wallet;
}

/**
 * Finds the rules to check. A group's rules that were never checked come first, then those whose check is
 * oldest. Groups take turns in no fixed order: one whose provider fails keeps its rules due, and must
 * not hold up others.
 *
 * @param group - the column of the wallets that names the group
 * @param isDue - SQL condition
 */
export async function findDueRules<Rules extends RuleTable, Wallets extends WalletTable>(
  database: Database,
  rules: Rules,
  wallets: Wallets,
  group: SQLiteColumn,
  isDue: SQL,
): Promise<DueRule<Rules["$inferSelect"], Wallets["$inferSelect"]>[]> {
  const [rule, wallet]: [RuleTable, WalletTable] = [rules, wallets];
  return database.orm
    .select({ rule: getTableColumns(rule), wallet: getTableColumns(wallet) })
    .from(rule)
    .innerJoin(wallet, eq(wallet.id, rule.walletId))
    .where(and(eq(rule.enabled, true), isNull(wallet.deletedAt), isDue))
    .orderBy(
      sql`row_number() OVER (PARTITION BY ${group} ORDER BY ${rule.checkedAt}, ${rule.id})`,
      sql`random()`,
    )
    .limit(PER_RUN);
}

/**
 * Writes what a check of a rule found.
 *
 * @param changes - columns of the rule
 * @param others - statements of the same batch
 * @returns false when the rule has changed, or the batch was sent twice: what it wrote is there then
 */
export async function writeOutcome<Rules extends RuleTable>(
  database: Database,
  rules: Rules,
  { id, version }: Pick<RuleRow, "id" | "version">,
  changes: Partial<Rules["$inferSelect"]>,
  others: readonly Statement[],
): Promise<boolean> {
  const table: RuleTable = rules;
  const guarded = sql`iif(${table.version} = ${version}, ${table.version} + 1, NULL)`;
  const update = database.orm
    .update(table)
    .set({ ...changes, version: guarded })
    .where(eq(table.id, id));
  try {
    await database.batch([update.toSQL(), ...others]);
    return true;
  } catch (error) {
    if (!violates(error, `${getTableName(table)}.version`)) throw error;
    const superseded = SUPERSEDED[getTableName(table)];
    if (superseded) log("info", superseded, { rule: id });
    return false;
  }
}

/** How a feature reports balances below their thresholds. */
export interface BalanceReports<Wallet> {
  rules: BalanceRuleTable;
  /** Whether each change of the status counts in the sequence of events, not only each event. */
  countsChanges: boolean;
  toEvent(
    rule: BalanceRuleRow,
    wallet: Wallet,
    balance: string,
  ): Omit<PlainEvent, "recordId" | "sequence">;
}

/** A rule whose balance was read. */
export interface ReadBalance<Wallet> extends DueRule<BalanceRuleRow, Wallet> {
  /** Null: the asset has no balance, so its rule stays as it is. */
  balance: bigint | null;
}

/**
 * Writes what a check found. A balance that fell below its threshold since the last check causes one
 * event, and the next only after it was above again. One statement writes the time of all other checks.
 *
 * @param now - epoch milliseconds
 */
export async function writeBalances<Wallet>(
  env: Env,
  database: Database,
  { rules, countsChanges, toEvent }: BalanceReports<Wallet>,
  found: readonly ReadBalance<Wallet>[],
  { requestId, now }: { requestId: string; now: number },
): Promise<void> {
  let hasEvents = false;
  for (const { rule, wallet, balance: amount } of found) {
    if (amount === null) continue;
    const balance = amount.toString();
    const status = amount < BigInt(rule.threshold) ? "Low" : "Healthy";
    const hasChanged = status !== rule.status;
    if (!hasChanged && balance === rule.balance) continue;
    const isReported = hasChanged && status === "Low";
    const sequence = rule.sequence + Number(countsChanges ? hasChanged : isReported);
    const event = { ...toEvent(rule, wallet, balance), recordId: rule.id, sequence };
    const exists = `EXISTS (SELECT 1 FROM ${getTableName(rules)} WHERE id = ?)`;
    const events = isReported ? [writeEvent(event, now, { sql: exists, params: [rule.id] })] : [];
    const changes = { status, balance, sequence, checkedAt: now } as const;
    await writeOutcome(database, rules, rule, changes, events);
    hasEvents ||= isReported;
  }
  if (found.length === 0) return;
  const read = JSON.stringify(found.map(({ rule }) => [rule.id, rule.version]));
  const isSame = sql`(${rules.id}, ${rules.version}) IN
    (SELECT value->>0, value->>1 FROM json_each(${read}))`;
  const check = database.orm.update(rules).set({ checkedAt: now }).where(isSame);
  await database.batch([check.toSQL()]);
  if (hasEvents) await wakeDispatcher(env, requestId);
}
