import type { Network } from "../chain/network.ts";
import { deriveWalletKeys, generateMnemonic } from "../chain/wallet-keys.ts";
import { type Database, onViolation, openDb, statement } from "../db/client.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { runIdempotently } from "../http/idempotency.ts";
import { startBackfill } from "../sources/cursor.ts";
import { createSourceNotFoundError, requireActiveSource } from "../sources/find-source.ts";
import { openSourceProvider } from "../sources/open-source-provider.ts";
import type { SourceRow } from "../sources/source-row.ts";
import { wakeChangedSource } from "../sources/wake-source.ts";
import {
  decideAutomationModes,
  deriveWallet,
  insertWallets,
  throwForManagedWallets,
} from "./managed/derive-wallets.ts";
import { listFormerWallets } from "./managed/remove-wallets.ts";
import { toWalletRecord } from "./managed/render-wallet.ts";
import type { CreatedWallet, CreateWalletBody, WalletOfSourceBody } from "./managed/schemas.ts";
import { insertWalletChange } from "./managed/wallet-changes.ts";

/** Runs after a wallet was added. */
export type OnWalletAdded = (
  c: AppContext,
  wallet: { sourceId: string; network: Network; vkey: string },
) => Promise<void>;

/**
 * Makes a new wallet, or takes one that exists, and adds it to a payment source where the request
 * names one. The words of a new wallet are in this answer alone.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404, 409; ProviderError when it has to be asked and does not answer
 */
export async function createWallet(
  c: AppContext,
  body: CreateWalletBody,
  added: OnWalletAdded,
  now: number,
): Promise<CreatedWallet> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  if (!("paymentSourceId" in body)) return createUnmanagedWallet(c, database, body.network, now);
  const source = await requireActiveSource(database, body.paymentSourceId, "paymentSourceId");
  if (source.network !== body.network)
    throw new ApiError(
      400,
      `network: must be ${source.network}, the network of the payment source`,
    );
  const created = await addWallet(c, database, source, body, now);
  const { id: sourceId, network } = source;
  await added(c, { sourceId, network, vkey: created.walletVkey });
  await wakeChangedSource(c, sourceId);
  return created;
}

/** A new wallet that is not managed. Its words are kept only for the repeat of a keyed request, sealed. */
function createUnmanagedWallet(
  c: AppContext,
  database: Database,
  network: Network,
  now: number,
): Promise<CreatedWallet> {
  return runIdempotently(c, database, now, async (remember) => {
    const walletMnemonic = generateMnemonic();
    const { address, vkey } = await deriveWalletKeys(walletMnemonic, network);
    const answer = { walletMnemonic, walletAddress: address, walletVkey: vkey, Wallet: null };
    const kept = await remember(answer);
    if (kept.length > 0) await database.batch(kept);
    return answer;
  });
}

function addWallet(
  c: AppContext,
  database: Database,
  source: SourceRow,
  body: WalletOfSourceBody,
  now: number,
): Promise<CreatedWallet> {
  return runIdempotently(c, database, now, async (remember) => {
    const role = body.walletType;
    const isNew = body.walletMnemonic === undefined;
    const walletMnemonic = body.walletMnemonic ?? generateMnemonic();
    const wallet = {
      walletMnemonic,
      note: body.note ?? "",
      collectionAddress: body.collectionAddress ?? null,
      // Nobody else has the key of a new one.
      drives: body.drives ?? (isNew ? "all" : undefined),
    };
    const former = isNew ? [] : await listFormerWallets(database, source.id);
    const at = { source: { ...source, formerWallets: former }, role, path: "" };
    const draft = {
      field: "walletMnemonic",
      row: await deriveWallet(c.env, at, wallet, c.var.caller.id, now),
    };
    const provider = await openSourceProvider(c.env, source, "wallet");
    const row = (await decideAutomationModes(provider, source, [draft]))(draft);
    const answer = {
      walletMnemonic: isNew ? walletMnemonic : null,
      walletAddress: row.address,
      walletVkey: row.vkey,
      Wallet: toWalletRecord(row),
    };
    const detail = { paymentSourceId: source.id, type: role, walletVkey: row.vkey, isNew };
    const entry = { action: "wallet.create", target: row.id, detail, now } as const;
    await commitWithAudit(c, database, entry, [
      ...(await remember(answer)),
      statement(
        `UPDATE payment_source SET updated_at = iif(deleted_at IS NULL, ?2, NULL) WHERE id = ?1`,
        source.id,
        now,
      ),
      ...insertWallets(database, [row]),
      insertWalletChange(source.id, now),
      ...(role === "Funding" ? [] : [startBackfill(source.id, [row])]),
    ])
      .catch(
        onViolation("payment_source.updated_at", () =>
          createSourceNotFoundError("paymentSourceId"),
        ),
      )
      .catch(throwForManagedWallets(database, source.network, [draft]));
    return answer;
  });
}
