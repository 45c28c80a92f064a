import { and, eq, getTableColumns, getTableName, isNull, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, type Statement, statement, violates } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { type PlainEvent, wakeDispatcher, writeEvent } from "../../events/outbox.ts";
import { log } from "../../log.ts";
import type { LogEvent } from "../../log-events.ts";
import type { BalanceRuleRow, BalanceRuleTable, RuleRow, RuleTable } from "./tables.ts";

/** Rules checked per run, on EVM chains per network; the next run, a minute later, continues. */
const MAX_RULES_PER_RUN = 50;
/** Time for writing the outcomes, after the balances were read. */
export const WRITE_TIMEOUT_MS = 30_000;

/** The log event of a rule that has changed since a check read it, by table. */
const SUPERSEDED_LOG_EVENTS: Record<string, LogEvent> = {
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
    .limit(MAX_RULES_PER_RUN);
}

/**
 * Writes what a check of a rule found.
 *
 * @param changes - columns of the rule
 * @param others - statements of the same batch
 * @returns false when the rule has changed, or the batch was sent twice: what it wrote is there then
 */
export async function writeRuleOutcome<Rules extends RuleTable>(
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
    const superseded = SUPERSEDED_LOG_EVENTS[getTableName(table)];
    if (superseded) log("info", superseded, { rule: id });
    return false;
  }
}

/** How a feature reports balances below their thresholds. */
export interface BalanceReporter<Wallet> {
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
export interface BalanceReading<Wallet> extends DueRule<BalanceRuleRow, Wallet> {
  /** Null: the asset has no balance, so its rule stays as it is. */
  balance: bigint | null;
}

/**
 * Writes what a check found. A balance that fell below its threshold since the last check causes one
 * event, and the next only after it was above again. One statement writes all rules with the same status.
 *
 * @param now - epoch milliseconds
 */
export async function writeBalances<Wallet>(
  env: Env,
  database: Database,
  { rules, countsChanges, toEvent }: BalanceReporter<Wallet>,
  found: readonly BalanceReading<Wallet>[],
  { requestId, now }: { requestId: string; now: number },
): Promise<void> {
  const table = getTableName(rules);
  let hasEvents = false;
  for (const { rule, wallet, balance: amount } of found) {
    if (amount === null) continue;
    const status = amount < BigInt(rule.threshold) ? "Low" : "Healthy";
    if (status === rule.status) continue;
    const balance = amount.toString();
    const isReported = status === "Low";
    const sequence = rule.sequence + Number(countsChanges || isReported);
    const events: Statement[] = [];
    if (isReported) {
      const event = { ...toEvent(rule, wallet, balance), recordId: rule.id, sequence };
      const sql = `EXISTS (SELECT 1 FROM ${table} WHERE id = ?)`;
      events.push(writeEvent(event, now, { sql, params: [rule.id] }));
    }
    const changes = { status, balance, sequence, checkedAt: now } as const;
    const isWritten = await writeRuleOutcome(database, rules, rule, changes, events);
    hasEvents ||= isWritten && isReported;
  }
  if (found.length === 0) return;
  const read = found.map(({ rule, balance }) => [rule.id, rule.version, balance?.toString()]);
  const check = statement(
    `UPDATE ${table} SET checked_at = ?, balance = coalesce(value->>2, balance) FROM json_each(?)
     WHERE ${table}.id = value->>0 AND version = value->>1`,
    now,
    JSON.stringify(read),
  );
  await database.batch([check]);
  if (hasEvents) await wakeDispatcher(env, requestId);
}
