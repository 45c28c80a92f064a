import { eq } from "drizzle-orm";
import { openDb, type Statement, statement } from "../../db/client.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { getFacilitatorWalletStub } from "../model/messages.ts";
import { x402Wallet } from "../model/tables.ts";
import type { WalletRow } from "../networks/settlement-network.ts";
import { listWallets, readWallets } from "./create-wallet.ts";

/** The caller's wallet as the interface shows it; any for an Admin. @throws ApiError 404 */
export async function findOwnWallet(c: AppContext, id: string) {
  const [wallet] = await listWallets(c, { limit: 1, id });
  if (!wallet) throw new ApiError(404, "id: there is no such wallet");
  return wallet;
}

/** Changes the note of a wallet. @param now - epoch milliseconds @throws ApiError 404 */
export async function updateWallet(
  c: AppContext,
  { id, note }: { id: string; note?: string | null | undefined },
  now: number,
) {
  const wallet = await findOwnWallet(c, id);
  if (note === undefined) return wallet;
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const detail = { note };
  await commitWithAudit(c, core, { action: "x402-wallet.update", target: id, detail, now }, [
    core.orm.update(x402Wallet).set({ note, updatedAt: now }).where(eq(x402Wallet.id, id)).toSQL(),
  ]);
  return { ...wallet, note, updatedAt: toIsoTime(now) };
}

/**
 * Removes a wallet: it signs nothing new. Its sealed key stays in the database, since coins and tokens may
 * still arrive at its address. A wallet with settlements that are not final is not removed.
 *
 * @param now - epoch milliseconds
 * @returns the wallet as it was
 * @throws ApiError 404, 409
 */
export async function deleteWallet(c: AppContext, id: string, now: number) {
  const [row] = await readWallets(c, { limit: 1, id });
  if (!row) throw new ApiError(404, "id: there is no such wallet");
  const wallet = await findOwnWallet(c, id);
  const object = getFacilitatorWalletStub(c.env, row.caip2Id, row.address);
  if (row.type === "Selling" && (await object.hasOpenJobs()))
    throw new ApiError(
      409,
      "id: the wallet has settlements that are not final yet. Remove it from the network, and delete it later.",
    );
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const detail = { caip2Network: row.caip2Id, address: row.address };
  const entry = { action: "x402-wallet.delete", target: id, detail, now } as const;
  await commitWithAudit(c, core, entry, buildRemovalStatements(row, now));
  return wallet;
}

const OTHERS = "json_each(x402_network.other_facilitator_wallet_ids)";
/** The wallet that settles in place of the network's first one. */
const NEXT_FACILITATOR_SQL = `(SELECT value FROM ${OTHERS} WHERE value <> ?1 ORDER BY key LIMIT 1)`;

function buildRemovalStatements({ id, caip2Id }: WalletRow, now: number): Statement[] {
  return [
    statement(
      "UPDATE x402_wallet SET deleted_at = ?2, updated_at = ?2 WHERE id = ?1 AND deleted_at IS NULL",
      id,
      now,
    ),
    statement(
      `UPDATE x402_network SET updated_at = ?2,
         facilitator_wallet_id =
           iif(facilitator_wallet_id = ?1, ${NEXT_FACILITATOR_SQL}, facilitator_wallet_id),
         other_facilitator_wallet_ids = (SELECT json_group_array(value) FROM ${OTHERS}
           WHERE value <> ?1 AND (facilitator_wallet_id <> ?1 OR value <> ${NEXT_FACILITATOR_SQL}))
       WHERE caip2_id = ?3 AND (facilitator_wallet_id = ?1
         OR EXISTS (SELECT 1 FROM ${OTHERS} WHERE value = ?1))`,
      id,
      now,
      caip2Id,
    ),
    // The revision tells a payment that is being made that its budget has changed.
    statement(
      `UPDATE x402_budget SET is_enabled = 0, updated_at = ?2, revision = revision + 1
       WHERE evm_wallet_id = ?1`,
      id,
      now,
    ),
    statement(
      `UPDATE x402_balance_rule SET enabled = 0, updated_at = ?2, version = version + 1
       WHERE wallet_id = ?1`,
      id,
      now,
    ),
  ];
}
