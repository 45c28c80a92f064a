import type { Provider } from "../chain/provider.ts";
import { db, type Statement, statement, violates } from "../db/client.ts";
import { open, seal } from "../db/sealed.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { activeSource } from "./active.ts";
import { checkProviderKey, findContractTransaction } from "./checks.ts";
import { moveCursor, startBackfill } from "./cursor.ts";
import { refuseOpenTransactions } from "./open-transactions.ts";
import { providerFor } from "./provider.ts";
import { providerKeyPlace, type SourceRow, toRecord, type WalletRow } from "./record.ts";
import type { PaymentSourceRecord, UpdateBody } from "./schemas.ts";
import { managedWallet } from "./tables.ts";
import {
  conflictOf,
  deriveWallets,
  type NewWalletRow,
  refuseRepeated,
  removeWallet,
} from "./wallets.ts";

/**
 * Changes what the body names and keeps the rest: provider key, wallets, and the place from which
 * sync goes on. A wallet that is added gets its past, while what is new goes on being followed.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404, 409; ProviderError when the provider cannot be asked
 */
export async function updateSource(
  c: AppContext,
  body: UpdateBody,
  now: number,
): Promise<PaymentSourceRecord> {
  const { deadline, caller } = c.var;
  const database = db(c.env, undefined, { writes: "idempotent", deadline });
  const source = await activeSource(database, body.id);
  if (!source) throw new ApiError(404, "id: there is no such payment source");

  const removed = findRemoved(source.wallets, body);
  await refuseOpenTransactions(
    db(c.env, source.network, { deadline }),
    source,
    source.wallets.filter(({ id }) => removed.includes(id)),
  );
  const { AddPurchasingWallets: purchasing = [], AddSellingWallets: selling = [] } = body;
  const added = [
    ...(await deriveWallets(c.env, source, "AddPurchasingWallets", purchasing, caller.id, now)),
    ...(await deriveWallets(c.env, source, "AddSellingWallets", selling, caller.id, now)),
  ];
  refuseRepeated(added);
  const newKey = body.PaymentSourceConfig?.rpcProviderApiKey;
  const key = newKey ?? (await open(c.env, providerKeyPlace(source.id), source.rpcProviderApiKey));
  const provider = await providerFor(c.env, source.network, key);
  if (newKey !== undefined) await checkProviderKey(provider);

  const detail = {
    changed: Object.keys(body).filter((field) => field !== "id"),
    removedWallets: removed,
    addedWallets: added.map(({ row }) => row.id),
  };
  try {
    await commitAudited(
      c,
      database,
      { action: "payment-source.update", target: source.id, detail, now },
      [
        await updateSettings(c, source, newKey, now),
        ...removed.flatMap((id) => removeWallet(id, now)),
        ...added.map(({ row }) => database.orm.insert(managedWallet).values(row).toSQL()),
        ...(await cursorMoves(provider, source, body.lastIdentifierChecked, added)),
      ],
    );
  } catch (error) {
    if (violates(error, "payment_source.updated_at")) throw removedMeanwhile();
    throw await conflictOf(error, database, source.network, added);
  }

  const changed = await activeSource(database, source.id);
  if (!changed) throw removedMeanwhile();
  return toRecord(c.env, changed, changed.wallets, deadline);
}

function removedMeanwhile(): ApiError {
  return new ApiError(404, "id: the payment source was removed meanwhile");
}

/** @throws ApiError 404 for a wallet that is not an active one of this source in that role */
function findRemoved(wallets: WalletRow[], body: UpdateBody): string[] {
  const lists = [
    { field: "RemovePurchasingWallets", role: "Purchasing", ids: body.RemovePurchasingWallets },
    { field: "RemoveSellingWallets", role: "Selling", ids: body.RemoveSellingWallets },
  ] as const;
  return lists.flatMap(({ field, role, ids = [] }) =>
    ids.map(({ id }, index) => {
      if (!wallets.some((wallet) => wallet.id === id && wallet.role === role))
        throw new ApiError(404, `${field}[${index}].id: is no such wallet of this payment source`);
      return id;
    }),
  );
}

async function updateSettings(
  c: AppContext,
  source: SourceRow,
  newKey: string | undefined,
  now: number,
): Promise<Statement> {
  const sealedKey =
    newKey === undefined ? null : await seal(c.env, providerKeyPlace(source.id), newKey);
  return statement(
    `UPDATE payment_source
     SET updated_at = iif(deleted_at IS NULL, ?2, NULL),
       rpc_provider_api_key = ifnull(?3, rpc_provider_api_key)
     WHERE id = ?1`,
    source.id,
    now,
    sealedKey,
  );
}

/** Statements for the cursor: where it goes on, and the past that added wallets get. */
async function cursorMoves(
  provider: Provider,
  source: SourceRow,
  after: UpdateBody["lastIdentifierChecked"],
  added: NewWalletRow[],
): Promise<Statement[]> {
  // From the start means for all wallets, the added ones too.
  if (after === null) return moveCursor(source.id, null);
  const backfill =
    added.length > 0
      ? [
          startBackfill(
            source.id,
            added.map(({ row }) => row),
          ),
        ]
      : [];
  if (after === undefined) return backfill;
  const position = await findContractTransaction(provider, source.contractAddress, after);
  return [...moveCursor(source.id, position), ...backfill];
}
