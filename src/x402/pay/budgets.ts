import { and, asc, desc, eq, isNull, lt } from "drizzle-orm";
import type * as z from "zod";
import { type Database, openDb, type Statement, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { nextRevisionSql } from "../../db/revision.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently, type StoreResponse } from "../../http/idempotency.ts";
import { x402Budget, x402Wallet } from "../model/tables.ts";
import { findEvmWallet, type WalletRow } from "../networks/settlement-network.ts";
import type { budgetBody, budgetQuery } from "./schemas.ts";

type BudgetBody = z.output<typeof budgetBody>;

/**
 * Sets what a key may still pay from a wallet in a token. The amount spent is kept.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404, 422
 */
export async function saveBudget(
  c: AppContext,
  { caip2Network, ...body }: BudgetBody,
  now: number,
) {
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const wallet = await findEvmWallet(core, body.evmWalletId);
  if (!wallet) throw new ApiError(404, "evmWalletId: there is no such wallet");
  if (wallet.type !== "Purchasing")
    throw new ApiError(400, "evmWalletId: must be a wallet of the type Purchasing");
  if (caip2Network !== undefined && caip2Network !== wallet.caip2Id)
    throw new ApiError(400, `caip2Network: the wallet is on ${wallet.caip2Id}`);
  const keys = await core.all("SELECT 1 FROM api_key WHERE id = ?", body.apiKeyId);
  if (keys.length === 0) throw new ApiError(404, "apiKeyId: there is no such API key");
  return runIdempotently(c, core, now, (remember) =>
    writeBudget(c, core, wallet, body, now, remember),
  );
}

async function writeBudget(
  c: AppContext,
  core: Database,
  wallet: WalletRow,
  body: Omit<BudgetBody, "caip2Network">,
  now: number,
  remember: StoreResponse,
): Promise<ReturnType<typeof toBudgetRecord>> {
  const { apiKeyId, evmWalletId, asset, remainingAmount, isEnabled } = body;
  const stored = (await readBudgets(core, apiKeyId, evmWalletId)).get(asset);
  const createdById = c.var.caller.id;
  const unspent = { id: newId(now), spentAmount: "0", createdById, revision: 0, createdAt: now };
  const row: BudgetRow = { ...(stored ?? unspent), ...body, updatedAt: now };
  const write = stored
    ? updateBudget(core, stored, { remainingAmount, isEnabled }, now)
    : core.orm.insert(x402Budget).values(row).toSQL();
  const answer = toBudgetRecord(row, wallet);
  const entry = { action: "x402-budget.save", target: evmWalletId, detail: body, now } as const;
  try {
    await commitWithAudit(c, core, entry, [...(await remember(answer)), write]);
  } catch (error) {
    // A payment, or another save, came in between: the answer must include what was spent by then.
    if (violates(error, "x402_budget.revision") || violates(error, "x402_budget.asset"))
      return writeBudget(c, core, wallet, body, now, remember);
    throw error;
  }
  return answer;
}

/** Budgets, newest first: of every key or of one. */
export async function listBudgets(c: AppContext, query: z.output<typeof budgetQuery>) {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const { apiKeyId, cursorId } = query;
  const rows = await core.orm
    .select({ budget: x402Budget, wallet: x402Wallet })
    .from(x402Budget)
    .innerJoin(x402Wallet, eq(x402Wallet.id, x402Budget.evmWalletId))
    .where(
      and(
        apiKeyId === undefined ? undefined : eq(x402Budget.apiKeyId, apiKeyId),
        cursorId === undefined ? undefined : lt(x402Budget.id, cursorId),
      ),
    )
    .orderBy(desc(x402Budget.id))
    .limit(query.limit);
  return rows.map(({ budget, wallet }) => toBudgetRecord(budget, wallet));
}

export type BudgetRow = typeof x402Budget.$inferSelect;

/** The budgets a key has for a wallet, by token. */
export async function readBudgets(
  core: Database,
  apiKeyId: string,
  walletId: string,
): Promise<Map<string, BudgetRow>> {
  const rows = await core.orm
    .select()
    .from(x402Budget)
    .where(and(eq(x402Budget.apiKeyId, apiKeyId), eq(x402Budget.evmWalletId, walletId)));
  return new Map(rows.map((row) => [row.asset, row]));
}

/**
 * What keys may still pay from their enabled budgets, by the key's id: of all wallets together. Nothing is left
 * of a network's default token without a budget. The unit is the CAIP-2 id and the token's address:
 * `eip155:8453:0x…`.
 */
export async function readBudgetRemainders(
  core: Database,
  keyIds: readonly string[],
): Promise<Map<string, { unit: string; amount: string }[]>> {
  const rows = await core.all<{ id: string; unit: string; amount: string }>(
    `SELECT api_key_id AS id, caip2_id || ':' || asset AS unit, remaining_amount AS amount
     FROM x402_budget JOIN x402_wallet ON x402_wallet.id = evm_wallet_id
     WHERE api_key_id IN (SELECT value FROM json_each(?1)) AND is_enabled
     UNION ALL SELECT key.value, caip2_id || ':' || default_asset, '0'
     FROM x402_network, json_each(?1) AS key WHERE is_enabled AND default_asset IS NOT NULL
     ORDER BY unit`,
    JSON.stringify(keyIds),
  );
  const byKey = new Map<string, { unit: string; amount: string }[]>();
  for (const { id, unit, amount } of rows) {
    const found = byKey.get(id) ?? [];
    const last = found.at(-1);
    if (last?.unit === unit) last.amount = String(BigInt(last.amount) + BigInt(amount));
    else byKey.set(id, [...found, { unit, amount }]);
  }
  return byKey;
}

/**
 * The wallet from which a key may pay: that of its first budget which covers terms, in the order of the
 * terms. Else that of a budget in one of their tokens. Null: there is none.
 */
export async function findBudgetedWallet(
  core: Database,
  apiKeyId: string,
  accepts: readonly { network: string; asset: string; amount: string }[],
): Promise<string | null> {
  const rows = await core.orm
    .select({ budget: x402Budget, caip2Id: x402Wallet.caip2Id })
    .from(x402Budget)
    .innerJoin(x402Wallet, eq(x402Wallet.id, x402Budget.evmWalletId))
    .where(
      and(
        eq(x402Budget.apiKeyId, apiKeyId),
        eq(x402Budget.isEnabled, true),
        isNull(x402Wallet.deletedAt),
      ),
    )
    .orderBy(asc(x402Budget.id));
  const matching = accepts.flatMap(({ network, asset, amount }) =>
    rows
      .filter(({ budget, caip2Id }) => caip2Id === network && budget.asset === asset.toLowerCase())
      .map(({ budget }) => ({ budget, amount })),
  );
  const covering = matching.find(({ budget, amount }) =>
    isBudgetSufficient(budget, BigInt(amount)),
  );
  return (covering ?? matching[0])?.budget.evmWalletId ?? null;
}

/** Whether a budget is enabled and has that much left, in the token's minor units. */
export function isBudgetSufficient(budget: BudgetRow, amount: bigint): boolean {
  return budget.isEnabled && BigInt(budget.remainingAmount) >= amount;
}

/**
 * Debits a budget in the batch of the payment. Concurrent payments from one budget are serialized,
 * and none is refused while it lasts.
 *
 * @param budget - as read; null: no cap
 * @param amount - in the token's minor units
 * @param now - epoch milliseconds
 * @param write - makes the payment in one batch that ends with the debit
 * @throws ApiError 402 when the budget does not cover the amount
 */
export async function spendBudget(
  core: Database,
  budget: BudgetRow | null,
  amount: bigint,
  now: number,
  write: (debit: Statement[]) => Promise<void>,
): Promise<void> {
  if (!budget) return write([]);
  if (!isBudgetSufficient(budget, amount))
    throw new ApiError(
      "budget_exceeded",
      `The budget for ${budget.asset} does not cover the payment`,
    );
  try {
    await write([moveBudget(core, budget, amount, now)]);
  } catch (error) {
    if (!violates(error, "x402_budget.revision")) throw error;
    const [current] = await core.orm.select().from(x402Budget).where(eq(x402Budget.id, budget.id));
    if (!current) throw error;
    await spendBudget(core, current, amount, now, write);
  }
}

/**
 * Returns what a payment has debited and the chain has not charged. The batch ends the payment, too.
 *
 * @param write - ends the payment in one batch with these statements
 */
export async function returnToBudget(
  core: Database,
  budgetId: string,
  amount: bigint,
  now: number,
  write: (credit: Statement[]) => Promise<void>,
): Promise<void> {
  const [budget] = await core.orm.select().from(x402Budget).where(eq(x402Budget.id, budgetId));
  if (!budget) return write([]);
  try {
    await write([moveBudget(core, budget, -amount, now)]);
  } catch (error) {
    if (!violates(error, "x402_budget.revision")) throw error;
    await returnToBudget(core, budgetId, amount, now, write);
  }
}

/** @param amount - spent; below 0: returned */
function moveBudget(core: Database, budget: BudgetRow, amount: bigint, now: number): Statement {
  const remainingAmount = String(BigInt(budget.remainingAmount) - amount);
  const spentAmount = String(BigInt(budget.spentAmount) + amount);
  return updateBudget(core, budget, { remainingAmount, spentAmount }, now);
}

function updateBudget(
  core: Database,
  { id, revision }: BudgetRow,
  changes: Partial<BudgetRow>,
  now: number,
): Statement {
  return core.orm
    .update(x402Budget)
    .set({ ...changes, updatedAt: now, revision: nextRevisionSql(x402Budget.revision, revision) })
    .where(eq(x402Budget.id, id))
    .toSQL();
}

function toBudgetRecord(
  { revision: _, createdAt, updatedAt, ...row }: BudgetRow,
  wallet: WalletRow,
) {
  return {
    ...row,
    evmWalletAddress: wallet.address,
    caip2Network: wallet.caip2Id,
    createdAt: toIsoTime(createdAt),
    updatedAt: toIsoTime(updatedAt),
  };
}
