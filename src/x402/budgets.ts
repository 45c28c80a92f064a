import { and, desc, eq, lt } from "drizzle-orm";
import { db, statement } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { isoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { findWallet } from "./networks.ts";
import { x402Budget } from "./tables.ts";

export interface BudgetBody {
  apiKeyId: string;
  evmWalletId: string;
  asset: string;
  remainingAmount: string;
  isEnabled: boolean;
}

/**
 * Sets what a key may still pay out of a wallet in a token. What it has spent is kept.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404
 */
export async function saveBudget(c: AppContext, body: BudgetBody, now: number) {
  const core = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  if (!(await findWallet(core, body.evmWalletId)))
    throw new ApiError(404, "evmWalletId: there is no such wallet");
  const keys = await core.all("SELECT 1 FROM api_key WHERE id = ?", body.apiKeyId);
  if (keys.length === 0) throw new ApiError(404, "apiKeyId: there is no such API key");
  await commitAudited(
    c,
    core,
    { action: "x402-budget.save", target: body.evmWalletId, detail: body, now },
    [
      statement(
        `INSERT INTO x402_budget (id, api_key_id, evm_wallet_id, asset, remaining_amount,
           spent_amount, is_enabled, version, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, '0', ?6, 0, ?7, ?7)
         ON CONFLICT (api_key_id, evm_wallet_id, asset) DO UPDATE SET
           remaining_amount = excluded.remaining_amount, is_enabled = excluded.is_enabled,
           version = version + 1, updated_at = excluded.updated_at`,
        newId(now),
        body.apiKeyId,
        body.evmWalletId,
        body.asset,
        body.remainingAmount,
        body.isEnabled ? 1 : 0,
        now,
      ),
    ],
  );
  const [row] = await core.orm
    .select()
    .from(x402Budget)
    .where(
      and(
        eq(x402Budget.apiKeyId, body.apiKeyId),
        eq(x402Budget.evmWalletId, body.evmWalletId),
        eq(x402Budget.asset, body.asset),
      ),
    );
  if (!row) throw new Error("a budget that was just written is not there");
  return render(row);
}

/** Budgets, newest first. */
export async function listBudgets(
  c: AppContext,
  query: { limit: number; cursorId?: string | undefined },
) {
  const core = db(c.env, undefined, { deadline: c.var.deadline });
  const rows = await core.orm
    .select()
    .from(x402Budget)
    .where(query.cursorId === undefined ? undefined : lt(x402Budget.id, query.cursorId))
    .orderBy(desc(x402Budget.id))
    .limit(query.limit);
  return rows.map(render);
}

function render({ version: _, createdAt, updatedAt, ...row }: typeof x402Budget.$inferSelect) {
  return { ...row, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
}
