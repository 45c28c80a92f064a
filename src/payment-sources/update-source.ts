import type { Provider } from "../chain/provider/provider.ts";
import { onViolation, openDb, type Statement, statement } from "../db/client.ts";
import { seal } from "../db/sealed.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { moveCursor, startBackfill } from "../sources/cursor.ts";
import { findActiveSource, requireActiveSource } from "../sources/find-source.ts";
import { buildProviderListUpdate } from "../sources/further-providers.ts";
import { createProvider, openSourceProvider } from "../sources/open-source-provider.ts";
import { type SourceRow, toProviderKeyEncryptionContext } from "../sources/source-row.ts";
import {
  checkProviderKey,
  findContractTransaction,
  requireTransactionBytes,
} from "../sources/validate-request.ts";
import {
  decideAutomationModes,
  deriveWallets,
  insertWallets,
  rejectDuplicateWallets,
  throwForManagedWallets,
} from "../wallets/managed/derive-wallets.ts";
import { listActiveWallets } from "../wallets/managed/find-wallet.ts";
import { listFormerWallets, removeWallet } from "../wallets/managed/remove-wallets.ts";
import { WALLET_ROLES, type WalletRow } from "../wallets/managed/tables.ts";
import { insertWalletChange } from "../wallets/managed/wallet-changes.ts";
import { applyWalletChanges } from "./apply-wallet-changes.ts";
import { destroyUnneededKeys } from "./destroy-unneeded-keys.ts";
import { loadSourceRecord } from "./list-sources.ts";
import { requireNoOpenTransactions, requireNoUnfinishedRecords } from "./refuse-removal.ts";
import type { PaymentSourceRecord } from "./response-schemas.ts";
import type { UpdateSourceBody } from "./schemas.ts";

/**
 * Changes the fields sent and keeps the rest: provider key, wallets, and the position from which
 * sync continues. The history of an added wallet is backfilled while the live sync continues.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404, 409; ProviderError when the provider cannot be reached
 */
export async function updateSource(
  c: AppContext,
  body: UpdateSourceBody,
  now: number,
): Promise<PaymentSourceRecord> {
  const { deadline, caller } = c.var;
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline });
  const source = await requireActiveSource(database, body.id, "id");
  const wallets = await listActiveWallets(database, [source.id]);
  const removed = findWalletsToRemove(wallets, body);
  const networkDatabase = openDb(c.env, source.network, { writes: "idempotent", deadline });
  const leaving = wallets.filter(({ id }) => removed.includes(id));
  const left = { sourceId: source.id, network: source.network, vkeys: vkeysOf(leaving) };
  if (leaving.length > 0 && !body.force) {
    await requireNoUnfinishedRecords(networkDatabase, left);
    await requireNoOpenTransactions(networkDatabase, source, leaving);
  }
  const former = await listFormerWallets(database, source.id, removed);
  const draftSource = { ...source, formerWallets: former };
  const drafts = await deriveWallets(c.env, draftSource, "Add", body, caller.id, now);
  rejectDuplicateWallets(drafts);
  const newKey = body.PaymentSourceConfig?.rpcProviderApiKey;
  const provider =
    newKey === undefined
      ? await openSourceProvider(c.env, source, "wallet")
      : await createProvider(c.env, source.network, newKey, "wallet");
  if (newKey !== undefined) {
    await checkProviderKey(provider);
    await requireTransactionBytes(provider, source.contractAddress);
  }
  const { contractAddress } = source;
  const further = await buildProviderListUpdate(c, source, { contractAddress }, body.RpcProviders);
  const added = drafts.map(await decideAutomationModes(provider, source, drafts));

  const detail = {
    changed: Object.keys(body).filter(
      (field) => field !== "id" && (field !== "force" || body.force),
    ),
    removedWallets: removed,
    addedWallets: added.map(({ id }) => id),
  };
  const entry = { action: "payment-source.update", target: source.id, detail, now } as const;
  await commitWithAudit(c, database, entry, [
    await buildSettingsUpdate(c, source, newKey, body, now),
    ...further,
    ...removed.flatMap((id) => removeWallet(id, now)),
    ...insertWallets(database, added),
    ...(removed.length + added.length > 0 ? [insertWalletChange(source.id, now)] : []),
    ...(await buildCursorUpdate(provider, source, body.lastIdentifierChecked, added)),
  ])
    .catch(onViolation("payment_source.updated_at", createRemovedError))
    .catch(throwForManagedWallets(database, source.network, drafts));

  await applyWalletChanges(c.env, source.id, deadline);
  if (leaving.length > 0) await destroyUnneededKeys(c.env, deadline);
  const changed = await findActiveSource(database, source.id);
  if (!changed) throw createRemovedError();
  return loadSourceRecord(
    c.env,
    changed,
    await listActiveWallets(database, [changed.id]),
    deadline,
  );
}

const vkeysOf = (wallets: readonly WalletRow[]) => wallets.map(({ vkey }) => vkey);

function createRemovedError(): ApiError {
  return new ApiError(404, "id: the payment source was removed");
}

/** @throws ApiError 404 for a wallet that is not an active one of this source in that role */
function findWalletsToRemove(wallets: WalletRow[], body: UpdateSourceBody): string[] {
  return WALLET_ROLES.flatMap((role) => {
    const field = `Remove${role}Wallets` as const;
    return (body[field] ?? []).map(({ id }, index) => {
      if (!wallets.some((wallet) => wallet.id === id && wallet.role === role))
        throw new ApiError(404, `${field}[${index}].id: the payment source has no such wallet`);
      return id;
    });
  });
}

async function buildSettingsUpdate(
  c: AppContext,
  source: SourceRow,
  newKey: string | undefined,
  { drives, autoWithdrawPayments, autoWithdrawRefunds }: UpdateSourceBody,
  now: number,
): Promise<Statement> {
  const sealedKey =
    newKey === undefined
      ? null
      : await seal(c.env, toProviderKeyEncryptionContext(source.id), newKey);
  return statement(
    `UPDATE payment_source
     SET updated_at = iif(deleted_at IS NULL, ?2, NULL),
       rpc_provider_api_key = ifnull(?3, rpc_provider_api_key), drives = ifnull(?4, drives),
       auto_withdraw_payments = iif(?5, ?6, auto_withdraw_payments),
       auto_withdraw_refunds = iif(?7, ?8, auto_withdraw_refunds)
     WHERE id = ?1`,
    source.id,
    now,
    sealedKey,
    drives ?? null,
    ...toColumnChange(autoWithdrawPayments),
    ...toColumnChange(autoWithdrawRefunds),
  );
}

/** Whether a setting is changed, and to what: null is also a value. */
function toColumnChange(
  setting: boolean | null | undefined,
): [isChanged: number, to: number | null] {
  return [Number(setting !== undefined), setting == null ? null : Number(setting)];
}

/** Statements for the cursor: its position, and the backfill of added wallets. */
async function buildCursorUpdate(
  provider: Provider,
  source: SourceRow,
  after: UpdateSourceBody["lastIdentifierChecked"],
  added: readonly WalletRow[],
): Promise<Statement[]> {
  // From the start applies to all wallets, including added ones.
  if (after === null) return moveCursor(source.id, null);
  const trading = added.filter(({ role }) => role !== "Funding");
  const backfill = trading.length > 0 ? [startBackfill(source.id, trading)] : [];
  if (after === undefined) return backfill;
  const position = await findContractTransaction(provider, source.contractAddress, after);
  return [...moveCursor(source.id, position), ...backfill];
}
