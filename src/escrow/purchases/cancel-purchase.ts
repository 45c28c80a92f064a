import type * as z from "zod";
import type { Network } from "../../chain/network.ts";
import { type Database, openDb } from "../../db/client.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { retryOnConflict } from "../../http/retry-on-conflict.ts";
import { type EscrowRecord, isWithoutLock } from "../model/escrow-record.ts";
import { readRecordText } from "../queries/list-page.ts";
import { isWithinScope, requireOwner } from "../queries/scope-condition.ts";
import { ChangeSet } from "../store/change-set.ts";
import { loadByIdentifier } from "../store/load-by-identifier.ts";
import { writeChanges } from "../store/write-changes.ts";
import { returnCharges } from "./charges.ts";
import type { CancellationBody, cancelledPurchase } from "./schemas.ts";

/**
 * Gives a purchase up before its funds are locked: nothing is built for it any more. A transaction that
 * is under way may still land; then the purchase goes on, locked and charged.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403, 404, 409
 */
export async function cancelPurchase(
  c: AppContext,
  { network, blockchainIdentifier }: CancellationBody,
  now: number,
): Promise<z.input<typeof cancelledPurchase>> {
  const database = openDb(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  return retryOnConflict(
    async () => {
      const record = await findRequestedPurchase(c, database, network, blockchainIdentifier);
      requireOwner(c.var.caller, record);
      requireUnlocked(record);
      if (record.progress.expiredAt === null) await cancelRecord(c, database, record, now);
      await returnCharges(database, network, record.id);
      return JSON.parse(await readRecordText(c, database, record));
    },
    "escrow.revision",
    "blockchainIdentifier: the purchase",
  );
}

/**
 * The purchase that a request made, of wallets that the API key may use. A network has one of an
 * identifier.
 *
 * @throws ApiError 404
 */
async function findRequestedPurchase(
  c: AppContext,
  database: Database,
  network: Network,
  blockchainIdentifier: string,
): Promise<EscrowRecord> {
  const named = { network, blockchainIdentifier, side: "purchase" as const };
  const found = await loadByIdentifier(c.env, database, named, c.var.deadline);
  const record = found.map((one) => one.record).find(({ terms }) => terms.isRequested);
  if (!record || !isWithinScope(c.var.caller.scope, record))
    throw new ApiError(404, "blockchainIdentifier: there is no such purchase");
  return record;
}

/** @throws ApiError 409 */
function requireUnlocked({ state, progress }: EscrowRecord): void {
  if (isWithoutLock({ state, progress })) return;
  throw new ApiError(
    "wrong_state",
    `blockchainIdentifier: the purchase is ${state.onChainState}. Only a purchase without locked funds can be cancelled.`,
  );
}

async function cancelRecord(
  c: AppContext,
  database: Database,
  record: EscrowRecord,
  now: number,
): Promise<void> {
  const { id, network, sourceId } = record;
  const { intent, pendingTransaction } = record.progress;
  const changes = new ChangeSet([record], now, 0);
  changes.setProgress(record, {
    // What is under way was made for it.
    intent: pendingTransaction && intent,
    pendingTransaction,
    error: null,
    expiredAt: now,
  });
  await commitWithAudit(
    c,
    database,
    { action: "purchase.cancel", target: id, detail: { network }, now },
    writeChanges(changes, { sourceId, network }),
  );
  await wakeDispatcher(c.env, c.var.requestId);
}
