import { and, eq, getTableColumns, getTableName, isNull, lte, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, openDb, type Statement, statement, violates } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { type PlainEvent, wakeDispatcher, writeEvent } from "../../events/outbox.ts";
import { log } from "../../log.ts";
import type { LogEvent } from "../../log-events.ts";
import { forEachIsolated, type ItemError } from "../queue/isolate-failures.ts";
import type { BalanceRuleRow, BalanceRuleTable, RuleRow, RuleTable } from "./tables.ts";

/** Rules checked per run, so that five runs, a minute apart, check 5,000. */
const MAX_RULES_PER_RUN = 1000;
/** Rules whose outcomes are written before further balances are read. */
const PORTION_SIZE = 250;
/** Rules whose changed rows one batch writes. */
const MAX_WRITTEN_RULES = 40;
/** Time for writing the outcomes, after the balances were read. */
const WRITE_TIMEOUT_MS = 30_000;
/** A minute, less what a run of the cron may begin early. */
const RETRY_INTERVAL_MS = 50_000;

/** The log event of a rule that has changed since a check read it, by table. */
const SUPERSEDED_LOG_EVENTS: Record<string, LogEvent> = {
  low_balance_rule: "low_balance.superseded",
  top_up_rule: "top_up.superseded",
};

/**
 * Opens the database of a check.
 *
 * @param deadline - epoch milliseconds until which balances are waited for
 */
export function openCheckDatabase(env: Env, deadline: number): Database {
  return openDb(env, undefined, { writes: "idempotent", deadline: deadline + WRITE_TIMEOUT_MS });
}

/** A table of wallets that rules are about. */
type WalletTable = SQLiteTable & { id: SQLiteColumn; deletedAt: SQLiteColumn };

/** A rule and its wallet. */
export interface DueRule<Rule, Wallet> {
  rule: Rule;
  wallet: Wallet;
}

/**
 * Finds the rules to check. The groups take turns. Of a group, the rules that were due first come first. A
 * group whose provider fails therefore has no more than its share of a run.
 *
 * @param group - the column of the wallets that names the group
 * @param now - epoch milliseconds
 * @param condition - SQL condition on the wallets; left out: none
 */
export async function findDueRules<Rules extends RuleTable, Wallets extends WalletTable>(
  database: Database,
  rules: Rules,
  wallets: Wallets,
  group: SQLiteColumn,
  now: number,
  condition?: SQL,
): Promise<DueRule<Rules["$inferSelect"], Wallets["$inferSelect"]>[]> {
  const [rule, wallet]: [RuleTable, WalletTable] = [rules, wallets];
  return (
    database.orm
      .select({ rule: getTableColumns(rule), wallet: getTableColumns(wallet) })
      .from(rule)
      // Unlike an inner join, this one always begins with the rules that are due.
      .crossJoin(wallet)
      .where(
        and(
          sql`${rule.enabled} = 1`,
          lte(rule.dueAt, now),
          eq(wallet.id, rule.walletId),
          isNull(wallet.deletedAt),
          condition,
        ),
      )
      .orderBy(
        sql`row_number() OVER (PARTITION BY ${group} ORDER BY ${rule.dueAt}, ${rule.id})`,
        sql`random()`,
      )
      .limit(MAX_RULES_PER_RUN)
  );
}

/** Splits items into portions, in their order: of rules that are due, each has some of every group. */
export function splitIntoPortions<Item>(items: readonly Item[], size = PORTION_SIZE): Item[][] {
  const portions = Math.ceil(items.length / size);
  return Array.from({ length: portions }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/** What a check changes of a rule. */
export interface RuleOutcome<Rules extends RuleTable> {
  rule: Rules["$inferSelect"];
  changes: Partial<Rules["$inferSelect"]>;
  /** Statements of the same batch. */
  others: readonly Statement[];
}

/**
 * Writes what checks of rules found, each for its rule or not at all. A rule that has changed since stays as
 * it is. So does one whose outcome was written by a batch that was sent twice.
 *
 * @returns the outcomes written, and the rules for which the database refuses them
 */
export async function writeRuleOutcomes<
  Rules extends RuleTable,
  Outcome extends RuleOutcome<Rules>,
>(
  database: Database,
  rules: Rules,
  outcomes: readonly Outcome[],
): Promise<{ writtenOutcomes: Outcome[]; errors: ItemError<Outcome>[] }> {
  const writtenOutcomes: Outcome[] = [];
  const errors: ItemError<Outcome>[] = [];
  const write = async (some: readonly Outcome[]): Promise<void> => {
    try {
      await database.batch(some.flatMap((one) => buildOutcomeStatements(database, rules, one)));
      writtenOutcomes.push(...some);
    } catch (error) {
      const isSuperseded = violates(error, `${getTableName(rules)}.version`);
      const [only, another] = some;
      if (!isSuperseded || another || !only) throw error;
      const superseded = SUPERSEDED_LOG_EVENTS[getTableName(rules)];
      if (superseded) log("info", superseded, { rule: only.rule.id });
    }
  };
  for (const some of splitIntoPortions(outcomes, MAX_WRITTEN_RULES))
    errors.push(...(await forEachIsolated(some, write)));
  return { writtenOutcomes, errors };
}

function buildOutcomeStatements<Rules extends RuleTable>(
  database: Database,
  rules: Rules,
  { rule: { id, version }, changes, others }: RuleOutcome<Rules>,
): Statement[] {
  const table: RuleTable = rules;
  const guarded = sql`iif(${table.version} = ${version}, ${table.version} + 1, NULL)`;
  const update = database.orm
    .update(table)
    .set({ ...changes, version: guarded })
    .where(eq(table.id, id));
  return [update.toSQL(), ...others];
}

/**
 * Puts off rules whose balances nobody could tell until the next run of the cron. One that has changed
 * since is due as it was.
 *
 * @param now - epoch milliseconds
 */
export async function postponeRules(
  database: Database,
  rules: RuleTable,
  postponed: readonly { rule: Pick<RuleRow, "id" | "version"> }[],
  now: number,
): Promise<void> {
  if (postponed.length === 0) return;
  const table = getTableName(rules);
  await database.batch([
    statement(
      `UPDATE ${table} SET due_at = ? FROM json_each(?)
       WHERE ${table}.id = value->>0 AND version = value->>1`,
      now + RETRY_INTERVAL_MS,
      JSON.stringify(postponed.map(({ rule }) => [rule.id, rule.version])),
    ),
  ]);
}

/** How a feature reports balances below their thresholds. */
export interface BalanceReporter<Wallet> {
  rules: BalanceRuleTable;
  /** Whether each change of the status counts in the sequence of events, not only each event. */
  countsChanges: boolean;
  /** How long a check is valid. */
  intervalMs: number;
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
  reporter: BalanceReporter<Wallet>,
  found: readonly BalanceReading<Wallet>[],
  { requestId, now }: { requestId: string; now: number },
): Promise<void> {
  if (found.length === 0) return;
  const { rules } = reporter;
  const outcomes = found.flatMap((one) => toBalanceOutcome(reporter, one, now) ?? []);
  const { writtenOutcomes, errors } = await writeRuleOutcomes(database, rules, outcomes);
  const read = found.map(({ rule, balance }) => [rule.id, rule.version, balance?.toString()]);
  const table = getTableName(rules);
  const check = statement(
    `UPDATE ${table} SET checked_at = ?, due_at = ?, balance = coalesce(value->>2, balance)
     FROM json_each(?) WHERE ${table}.id = value->>0 AND version = value->>1`,
    now,
    now + reporter.intervalMs,
    JSON.stringify(read),
  );
  await database.batch([check]);
  if (writtenOutcomes.some(({ others }) => others.length > 0)) await wakeDispatcher(env, requestId);
  const [failed] = errors;
  if (failed) throw failed.error;
}

/** The outcome of a rule whose status changes; null: the status stays. */
function toBalanceOutcome<Wallet>(
  { rules, countsChanges, toEvent, intervalMs }: BalanceReporter<Wallet>,
  { rule, wallet, balance: amount }: BalanceReading<Wallet>,
  now: number,
): RuleOutcome<BalanceRuleTable> | null {
  if (amount === null) return null;
  const status = amount < BigInt(rule.threshold) ? "Low" : "Healthy";
  if (status === rule.status) return null;
  const balance = amount.toString();
  const isReported = status === "Low";
  const sequence = rule.sequence + Number(countsChanges || isReported);
  const others: Statement[] = [];
  if (isReported) {
    const event = { ...toEvent(rule, wallet, balance), recordId: rule.id, sequence };
    const sql = `EXISTS (SELECT 1 FROM ${getTableName(rules)} WHERE id = ?)`;
    others.push(writeEvent(event, now, { sql, params: [rule.id] }));
  }
  const dueAt = now + intervalMs;
  return { rule, changes: { status, balance, sequence, checkedAt: now, dueAt }, others };
}
