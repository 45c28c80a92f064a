import { and, desc, eq, lt } from "drizzle-orm";
import { type Database, db, statement, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { commitAudited } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { isoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { idempotently } from "../../http/idempotency.ts";
import { walletInUse } from "../managed/find-wallet.ts";
import { boundsOf } from "./bounds.ts";
import type { NewTopUpBody, TopUpChangeBody, TopUpRecord } from "./schemas.ts";
import { type TopUpRuleRow, topUpRule } from "./tables.ts";

/** One page of rules, newest first. */
export async function listTopUpRules(
  database: Database,
  query: { limit: number; cursorId?: string | undefined; walletId?: string | undefined },
): Promise<TopUpRecord[]> {
  const rows = await database.orm
    .select()
    .from(topUpRule)
    .where(
      and(
        query.cursorId === undefined ? undefined : lt(topUpRule.id, query.cursorId),
        query.walletId === undefined ? undefined : eq(topUpRule.walletId, query.walletId),
      ),
    )
    .orderBy(desc(topUpRule.id))
    .limit(query.limit);
  return rows.map(toRecord);
}

/**
 * Creates a rule; its first check is the cron's next.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404; 409 when the wallet has a rule for the unit; 422
 */
export async function createTopUpRule(
  c: AppContext,
  body: NewTopUpBody,
  now: number,
): Promise<TopUpRecord> {
  const database = writer(c);
  const wallet = await walletInUse(database, body.walletId, "walletId");
  if (wallet.role === "Funding")
    throw new ApiError(400, "walletId: must not be a Funding wallet, which pays for the others");
  return idempotently(c, database, now, async (remember) => {
    const row = bounded({
      ...body,
      id: newId(now),
      balance: null,
      checkedAt: null,
      waitsFor: null,
      version: 0,
      createdById: c.var.caller.id,
      createdAt: now,
      updatedAt: now,
    });
    const record = toRecord(row);
    const entry = { action: "top-up-rule.create", target: row.id, detail: body, now } as const;
    try {
      await commitAudited(c, database, entry, [
        ...(await remember(record)),
        database.orm.insert(topUpRule).values(row).toSQL(),
      ]);
    } catch (error) {
      if (violates(error, "top_up_rule.unit"))
        throw new ApiError("already_exists", "unit: the wallet has a rule for it already");
      throw error;
    }
    return record;
  });
}

/**
 * Changes a rule; omitted fields are kept. The cron checks it anew.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404; 409 when it was changed meanwhile
 */
export async function changeTopUpRule(
  c: AppContext,
  { id, ...changes }: TopUpChangeBody,
  now: number,
): Promise<TopUpRecord> {
  const database = writer(c);
  const before = await ruleRow(database, id);
  const given = Object.fromEntries(
    Object.entries(changes).filter(([, value]) => value !== undefined),
  );
  const unchecked = { balance: null, checkedAt: null, waitsFor: null };
  const row = bounded({ ...before, ...given, ...unchecked, updatedAt: now });
  const entry = { action: "top-up-rule.update", target: id, detail: changes, now } as const;
  try {
    await commitAudited(c, database, entry, [
      statement(
        `UPDATE top_up_rule SET version = iif(version = ?2, version + 1, NULL), updated_at = ?3,
           below = ?4, up_to = ?5, per_day = ?6, enabled = ?7, balance = NULL, checked_at = NULL,
           waits_for = NULL
         WHERE id = ?1`,
        id,
        before.version,
        now,
        row.below,
        row.upTo,
        row.perDay,
        Number(row.enabled),
      ),
    ]);
  } catch (error) {
    if (violates(error, "top_up_rule.version"))
      throw new ApiError("changed_concurrently", "the rule was changed meanwhile");
    throw error;
  }
  return toRecord(row);
}

/**
 * Deletes a rule. A pending top-up continues.
 *
 * @param now - epoch milliseconds
 * @returns the rule as it was
 * @throws ApiError 404
 */
export async function deleteTopUpRule(
  c: AppContext,
  id: string,
  now: number,
): Promise<TopUpRecord> {
  const database = writer(c);
  const row = await ruleRow(database, id);
  await commitAudited(c, database, { action: "top-up-rule.delete", target: id, now }, [
    statement("DELETE FROM top_up_rule WHERE id = ?", id),
  ]);
  return toRecord(row);
}

function writer(c: AppContext): Database {
  return db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
}

/** A rule whose bounds make sense together. @throws ApiError 400 */
function bounded(row: TopUpRuleRow): TopUpRuleRow {
  const { below, upTo, perDay, least } = boundsOf(row);
  if (upTo - below < least) throw new ApiError(400, `upTo: must be at least ${below + least}`);
  if (perDay < upTo - below) throw new ApiError(400, `perDay: must be at least ${upTo - below}`);
  const asText = { below: below.toString(), upTo: upTo.toString() };
  return { ...row, ...asText, perDay: row.perDay === null ? null : perDay.toString() };
}

async function ruleRow(database: Database, id: string): Promise<TopUpRuleRow> {
  const [row] = await database.orm.select().from(topUpRule).where(eq(topUpRule.id, id));
  if (!row) throw new ApiError(404, "id: there is no such rule");
  return row;
}

function toRecord(row: TopUpRuleRow): TopUpRecord {
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
    checkedAt: row.checkedAt === null ? null : isoTime(row.checkedAt),
    waitsFor: row.waitsFor,
    createdAt: isoTime(row.createdAt),
    updatedAt: isoTime(row.updatedAt),
  };
}
