import { and, desc, eq, lt, sql } from "drizzle-orm";
import { type Database, db, statement, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { commitAudited } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { isoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { idempotently } from "../../http/idempotency.ts";
import { walletInUse } from "../managed/find-wallet.ts";
import type { NewRuleBody, RuleChangeBody, RuleRecord } from "./schemas.ts";
import { lowBalanceRule, type RuleRow } from "./tables.ts";

/** One page of rules, newest first. */
export async function listRules(
  database: Database,
  query: { limit: number; cursorId?: string | undefined; walletId?: string | undefined },
): Promise<RuleRecord[]> {
  const rows = await database.orm
    .select()
    .from(lowBalanceRule)
    .where(
      and(
        query.cursorId === undefined ? undefined : lt(lowBalanceRule.id, query.cursorId),
        query.walletId === undefined ? undefined : eq(lowBalanceRule.walletId, query.walletId),
      ),
    )
    .orderBy(desc(lowBalanceRule.id))
    .limit(query.limit);
  return rows.map(ruleRecordOf);
}

/** The rules of some wallets, by wallet id, newest first. */
export async function rulesOf(
  database: Database,
  walletIds: readonly string[],
): Promise<Map<string, RuleRow[]>> {
  const rows = await database.orm
    .select()
    .from(lowBalanceRule)
    .where(
      sql`${lowBalanceRule.walletId} IN (SELECT value FROM json_each(${JSON.stringify(walletIds)}))`,
    )
    .orderBy(desc(lowBalanceRule.id));
  return Map.groupBy(rows, ({ walletId }) => walletId);
}

/**
 * Creates a rule; its first check tells whether the balance is already low.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404; 409 when the wallet has a rule for the unit; 422
 */
export async function createRule(
  c: AppContext,
  body: NewRuleBody,
  now: number,
): Promise<RuleRecord> {
  const database = writer(c);
  await walletInUse(database, body.walletId, "walletId");
  return idempotently(c, database, now, async (remember) => {
    const row: RuleRow = {
      id: newId(now),
      walletId: body.walletId,
      unit: body.unit,
      threshold: BigInt(body.thresholdAmount).toString(),
      enabled: body.enabled,
      status: "Unknown",
      balance: null,
      checkedAt: null,
      sequence: 0,
      version: 0,
      createdById: c.var.caller.id,
      createdAt: now,
      updatedAt: now,
    };
    const record = ruleRecordOf(row);
    const entry = { action: "low-balance-rule.create", target: row.id, detail: body, now } as const;
    try {
      await commitAudited(c, database, entry, [
        ...(await remember(record)),
        database.orm.insert(lowBalanceRule).values(row).toSQL(),
      ]);
    } catch (error) {
      if (violates(error, "low_balance_rule.unit"))
        throw new ApiError("already_exists", "unit: the wallet has a rule for it already");
      throw error;
    }
    return record;
  });
}

/**
 * Changes a rule; omitted fields are kept. Its next check evaluates it anew.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404
 */
export async function changeRule(
  c: AppContext,
  { id, ...changes }: RuleChangeBody,
  now: number,
): Promise<RuleRecord> {
  const database = writer(c);
  await ruleRow(database, id);
  const threshold =
    changes.thresholdAmount === undefined ? null : BigInt(changes.thresholdAmount).toString();
  const entry = { action: "low-balance-rule.update", target: id, detail: changes, now } as const;
  await commitAudited(c, database, entry, [
    statement(
      `UPDATE low_balance_rule SET version = version + 1, updated_at = ?2, status = 'Unknown',
         checked_at = NULL, balance = NULL, threshold = ifnull(?3, threshold),
         enabled = ifnull(?4, enabled)
       WHERE id = ?1`,
      id,
      now,
      threshold,
      changes.enabled === undefined ? null : Number(changes.enabled),
    ),
  ]);
  return ruleRecordOf(await ruleRow(database, id));
}

/**
 * Deletes a rule.
 *
 * @param now - epoch milliseconds
 * @returns the rule as it was
 * @throws ApiError 404
 */
export async function deleteRule(c: AppContext, id: string, now: number): Promise<RuleRecord> {
  const database = writer(c);
  const row = await ruleRow(database, id);
  await commitAudited(c, database, { action: "low-balance-rule.delete", target: id, now }, [
    statement("DELETE FROM low_balance_rule WHERE id = ?", id),
  ]);
  return ruleRecordOf(row);
}

function writer(c: AppContext): Database {
  return db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
}

async function ruleRow(database: Database, id: string): Promise<RuleRow> {
  const [row] = await database.orm.select().from(lowBalanceRule).where(eq(lowBalanceRule.id, id));
  if (!row) throw new ApiError(404, "id: there is no such rule");
  return row;
}

/** A rule as the interface shows it. */
export function ruleRecordOf(row: RuleRow): RuleRecord {
  return {
    id: row.id,
    walletId: row.walletId,
    unit: row.unit,
    thresholdAmount: row.threshold,
    enabled: row.enabled,
    status: row.status,
    balance: row.balance,
    checkedAt: row.checkedAt === null ? null : isoTime(row.checkedAt),
    createdAt: isoTime(row.createdAt),
    updatedAt: isoTime(row.updatedAt),
  };
}
