import { and, desc, eq, lt } from "drizzle-orm";
import { db } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { isoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { findWallet } from "./networks.ts";
import { x402BalanceRule } from "./tables.ts";

export type RuleRow = typeof x402BalanceRule.$inferSelect;

/**
 * Creates the rule for a wallet and an asset, or moves its threshold.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404
 */
export async function saveBalanceRule(
  c: AppContext,
  body: { evmWalletId: string; asset: string; threshold: string },
  now: number,
) {
  const core = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  if (!(await findWallet(core, body.evmWalletId)))
    throw new ApiError(404, "evmWalletId: there is no such wallet");
  const id = newId(now);
  const row: RuleRow = {
    id,
    ...body,
    state: "Unknown",
    version: 0,
    checkedAt: null,
    createdAt: now,
  };
  await commitAudited(
    c,
    core,
    { action: "x402-low-balance.save", target: body.evmWalletId, detail: body, now },
    [
      core.orm
        .insert(x402BalanceRule)
        .values(row)
        .onConflictDoUpdate({
          target: [x402BalanceRule.evmWalletId, x402BalanceRule.asset],
          set: { threshold: body.threshold },
        })
        .toSQL(),
    ],
  );
  const [stored = row] = await core.orm
    .select()
    .from(x402BalanceRule)
    .where(
      and(eq(x402BalanceRule.evmWalletId, body.evmWalletId), eq(x402BalanceRule.asset, body.asset)),
    );
  return render(stored);
}

/** Rules, newest first. */
export async function listBalanceRules(
  c: AppContext,
  query: { limit: number; cursorId?: string | undefined },
) {
  const core = db(c.env, undefined, { deadline: c.var.deadline });
  const rows = await core.orm
    .select()
    .from(x402BalanceRule)
    .where(query.cursorId === undefined ? undefined : lt(x402BalanceRule.id, query.cursorId))
    .orderBy(desc(x402BalanceRule.id))
    .limit(query.limit);
  return rows.map(render);
}

function render({ id, evmWalletId, asset, threshold, state, checkedAt }: RuleRow) {
  return {
    id,
    evmWalletId,
    asset,
    threshold,
    state,
    checkedAt: checkedAt === null ? null : isoTime(checkedAt),
  };
}
