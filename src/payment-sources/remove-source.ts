import { onViolation, openDb, statement } from "../db/client.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { stopCursor } from "../sources/cursor.ts";
import { createSourceNotFoundError, requireActiveSource } from "../sources/find-source.ts";
import { listActiveWallets } from "../wallets/managed/find-wallet.ts";
import { removeWallets } from "../wallets/managed/remove-wallets.ts";
import { insertWalletChange } from "../wallets/managed/wallet-changes.ts";
import { applyWalletChanges } from "./apply-wallet-changes.ts";
import { destroyUnneededKeys } from "./destroy-unneeded-keys.ts";
import { loadSourceRecord } from "./list-sources.ts";
import { requireNoOpenTransactions, requireNoUnfinishedRecords } from "./refuse-removal.ts";
import type { PaymentSourceRecord } from "./response-schemas.ts";
import type { DeleteSourceBody } from "./schemas.ts";

/**
 * Removes a source: sync stops, including a running pass; its provider key and its wallets'
 * mnemonics are destroyed as soon as nothing can need them. Its payments and purchases stay readable.
 *
 * @param now - epoch milliseconds
 * @returns the source as it was
 * @throws ApiError 404; without `force` 409 while a payment or purchase of it is not finished, or a
 *   wallet of it has an open transaction
 */
export async function removeSource(
  c: AppContext,
  { id, force }: DeleteSourceBody,
  now: number,
): Promise<PaymentSourceRecord> {
  const { deadline } = c.var;
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline });
  const source = await requireActiveSource(database, id, "id");
  const wallets = await listActiveWallets(database, [id]);
  const networkDatabase = openDb(c.env, source.network, { writes: "idempotent", deadline });
  const open = { sourceId: id, network: source.network, vkeys: null };
  if (!force) {
    await requireNoUnfinishedRecords(networkDatabase, open);
    await requireNoOpenTransactions(networkDatabase, source, wallets);
  }
  const record = await loadSourceRecord(c.env, source, wallets, deadline);

  const { network, contractAddress } = source;
  const detail = { network, contractAddress, force, wallets: wallets.map((wallet) => wallet.id) };
  const entry = { action: "payment-source.delete", target: id, detail, now } as const;
  const changes = [
    statement(
      `UPDATE payment_source SET updated_at = iif(deleted_at IS NULL, ?2, NULL), deleted_at = ?2
       WHERE id = ?1`,
      id,
      now,
    ),
    ...removeWallets(id, now),
    insertWalletChange(id, now),
    stopCursor(id),
  ];
  await commitWithAudit(c, database, entry, changes).catch(
    onViolation("payment_source.updated_at", () => createSourceNotFoundError("id")),
  );
  await applyWalletChanges(c.env, id, deadline);
  await destroyUnneededKeys(c.env, deadline);
  return record;
}
