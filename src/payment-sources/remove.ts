import { db, statement, violates } from "../db/client.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { activeSource } from "../sources/active.ts";
import { stopCursor } from "../sources/cursor.ts";
import { walletsOf } from "../wallets/managed/find-wallet.ts";
import { removeWallets } from "../wallets/managed/remove-wallets.ts";
import { walletsChanged } from "../wallets/managed/wallet-changes.ts";
import type { PaymentSourceRecord } from "./answer-schemas.ts";
import { destroyUnneededKeys } from "./kept-keys.ts";
import { refuseOpenTransactions, refuseUnfinished } from "./open-transactions.ts";
import { toRecord } from "./record.ts";
import type { DeleteBody } from "./schemas.ts";
import { tellRecords } from "./tell-records.ts";

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
  { id, force }: DeleteBody,
  now: number,
): Promise<PaymentSourceRecord> {
  const { deadline } = c.var;
  const database = db(c.env, undefined, { writes: "idempotent", deadline });
  const source = await activeSource(database, id);
  if (!source) throw noSuchSource();
  const wallets = await walletsOf(database, [id]);
  const networkDatabase = db(c.env, source.network, { writes: "idempotent", deadline });
  const open = { sourceId: id, network: source.network, vkeys: null };
  if (!force) {
    await refuseUnfinished(networkDatabase, open);
    await refuseOpenTransactions(networkDatabase, source, wallets);
  }
  const record = await toRecord(c.env, source, wallets, deadline);

  const removal = statement(
    `UPDATE payment_source SET updated_at = iif(deleted_at IS NULL, ?2, NULL), deleted_at = ?2
     WHERE id = ?1`,
    id,
    now,
  );
  const { network, contractAddress } = source;
  const detail = { network, contractAddress, force, wallets: wallets.map((wallet) => wallet.id) };
  try {
    await commitAudited(c, database, { action: "payment-source.delete", target: id, detail, now }, [
      removal,
      ...removeWallets(id, now),
      walletsChanged(id, now),
      stopCursor(id),
    ]);
  } catch (error) {
    if (violates(error, "payment_source.updated_at")) throw noSuchSource();
    throw error;
  }
  await tellRecords(c.env, id, deadline);
  await destroyUnneededKeys(c.env, deadline);
  return record;
}

function noSuchSource(): ApiError {
  return new ApiError(404, "id: there is no such payment source");
}
