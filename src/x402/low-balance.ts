import { and, desc, eq, lt } from "drizzle-orm";
import { type Database, db, statement, violates } from "../db/client.ts";
import { newId } from "../db/id.ts";
import type { Env } from "../env.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { isoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { log } from "../log.ts";
import { wakeDispatcher, writeEvent } from "../webhooks/outbox.ts";
import { findNetwork, findWallet, rpcOf } from "./networks.ts";
import type { Rpc } from "./rpc.ts";
import { x402BalanceRule } from "./tables.ts";

type RuleRow = typeof x402BalanceRule.$inferSelect;

/** @throws ApiError 404 */
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

/** Rules that one run of the cron looks at, those first that were looked at longest ago. */
const CHECKED_PER_RUN = 20;

/**
 * Looks at balances; one that has fallen below its threshold since the last time causes an event.
 * Never throws: a node that fails is asked again by the next run.
 */
export async function checkBalances(env: Env, requestId: string): Promise<void> {
  const core = db(env, undefined, { writes: "idempotent" });
  const rules = await core.orm
    .select()
    .from(x402BalanceRule)
    .orderBy(x402BalanceRule.checkedAt)
    .limit(CHECKED_PER_RUN);
  for (const rule of rules) {
    try {
      await checkRule(env, core, rule, requestId);
    } catch (error) {
      log("warn", "x402.balance_unchecked", { rule: rule.id, requestId, error: String(error) });
    }
  }
}

async function checkRule(
  env: Env,
  core: Database,
  rule: RuleRow,
  requestId: string,
): Promise<void> {
  const wallet = await findWallet(core, rule.evmWalletId);
  const network = wallet && (await findNetwork(core, wallet.caip2Id));
  if (!wallet || !network?.isEnabled) return;
  const now = Date.now();
  const rpc = await rpcOf(env, network, now + 10_000);
  const balance = await balanceOf(rpc, wallet.address, rule.asset);
  const state = balance < BigInt(rule.threshold) ? "Low" : "Healthy";
  if (state === rule.state) {
    await core.batch([
      statement("UPDATE x402_balance_rule SET checked_at = ? WHERE id = ?", now, rule.id),
    ]);
    return;
  }
  const data = {
    evmWalletId: wallet.id,
    caip2Network: wallet.caip2Id,
    address: wallet.address,
    asset: rule.asset,
    threshold: rule.threshold,
    balance: balance.toString(),
  };
  try {
    await core.batch([
      statement(
        `UPDATE x402_balance_rule SET state = ?, checked_at = ?,
           version = iif(version = ?, version + 1, NULL)
         WHERE id = ?`,
        state,
        now,
        rule.version,
        rule.id,
      ),
      ...(state === "Low"
        ? [
            writeEvent(
              {
                kind: "X402_WALLET_LOW_BALANCE",
                network: wallet.caip2Id,
                sourceId: null,
                recordId: rule.id,
                sequence: rule.version + 1,
                data,
              },
              now,
            ),
          ]
        : []),
    ]);
  } catch (error) {
    // Two runs at once, or our own batch sent twice: the transition is written, and so its event.
    if (!violates(error, "x402_balance_rule.version")) throw error;
  }
  if (state === "Low") await wakeDispatcher(env, requestId);
}

/** What a wallet holds of the native coin (`native`) or of a token, in smallest units. */
export async function balanceOf(rpc: Rpc, address: string, asset: string): Promise<bigint> {
  if (asset === "native")
    return BigInt(await rpc.call<string>("eth_getBalance", address, "latest"));
  const data = `0x70a08231${address.slice(2).padStart(64, "0")}`;
  return BigInt(await rpc.call<string>("eth_call", { to: asset, data }, "latest"));
}
