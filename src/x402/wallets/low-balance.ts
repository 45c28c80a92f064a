import { and, desc, eq, lt } from "drizzle-orm";
import { type Database, db, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { commitAudited } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { isoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { idempotently, type Remember } from "../../http/idempotency.ts";
import { x402BalanceRule } from "../model/tables.ts";
import { findWallet } from "../networks/settlement-network.ts";

export type RuleRow = typeof x402BalanceRule.$inferSelect;

interface RuleBody {
  evmWalletId: string;
  asset: string;
  threshold: string;
}

/**
 * Creates the rule for a wallet and an asset, or changes its threshold.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404, 422
 */
export async function saveBalanceRule(c: AppContext, body: RuleBody, now: number) {
  const core = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  if (!(await findWallet(core, body.evmWalletId)))
    throw new ApiError(404, "evmWalletId: there is no such wallet");
  return idempotently(c, core, now, (remember) => writeRule(c, core, body, now, remember));
}

async function writeRule(
  c: AppContext,
  core: Database,
  body: RuleBody,
  now: number,
  remember: Remember,
): Promise<ReturnType<typeof render>> {
  const { evmWalletId, asset, threshold } = body;
  const [stored] = await core.orm
    .select()
    .from(x402BalanceRule)
    .where(and(eq(x402BalanceRule.evmWalletId, evmWalletId), eq(x402BalanceRule.asset, asset)));
  const row: RuleRow = stored
    ? { ...stored, threshold }
    : { id: newId(now), ...body, state: "Unknown", version: 0, checkedAt: null, createdAt: now };
  const write = stored
    ? core.orm.update(x402BalanceRule).set({ threshold }).where(eq(x402BalanceRule.id, row.id))
    : core.orm.insert(x402BalanceRule).values(row);
  const answer = render(row);
  const entry = {
    action: "x402-low-balance.save",
    target: evmWalletId,
    detail: body,
    now,
  } as const;
  try {
    await commitAudited(c, core, entry, [...(await remember(answer)), write.toSQL()]);
  } catch (error) {
    // Another request created it concurrently, so this updates it.
    if (violates(error, "x402_balance_rule.asset")) return writeRule(c, core, body, now, remember);
    throw error;
  }
  return answer;
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
