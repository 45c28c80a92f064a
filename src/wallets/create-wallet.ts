import type { Network } from "../chain/network.ts";
import { generateMnemonic, keysFromMnemonic } from "../chain/wallet-keys.ts";
import { type Database, db, statement, violates } from "../db/client.ts";
import { open } from "../db/sealed.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { idempotently } from "../http/idempotency.ts";
import { activeSource } from "../sources/active.ts";
import { startBackfill } from "../sources/cursor.ts";
import { providerFor } from "../sources/provider.ts";
import { providerKeyPlace, type SourceRow } from "../sources/record.ts";
import { wakeChanged } from "../sources/wake.ts";
import {
  decideDrives,
  deriveWallet,
  insertWallets,
  toConflictError,
} from "./managed/derive-wallets.ts";
import { formerWallets } from "./managed/remove-wallets.ts";
import { walletRecordOf } from "./managed/render-wallet.ts";
import type { CreatedWallet, CreateWalletBody, WalletOfSourceBody } from "./managed/schemas.ts";
import { walletsChanged } from "./managed/wallet-changes.ts";

/** Runs after a wallet was added. */
export type AddedWallet = (
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
  added: AddedWallet,
  now: number,
): Promise<CreatedWallet> {
  const database = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  if (!("paymentSourceId" in body)) return makeWallet(c, database, body.network, now);
  const source = await activeSource(database, body.paymentSourceId);
  if (!source) throw noSuchSource();
  if (source.network !== body.network)
    throw new ApiError(
      400,
      `network: must be ${source.network}, the network of the payment source`,
    );
  const created = await addWallet(c, database, source, body, now);
  const { id: sourceId, network } = source;
  await added(c, { sourceId, network, vkey: created.walletVkey });
  await wakeChanged(c, sourceId);
  return created;
}

/** A new wallet that is not managed. Its words are kept only for the repeat of a keyed request, sealed. */
function makeWallet(
  c: AppContext,
  database: Database,
  network: Network,
  now: number,
): Promise<CreatedWallet> {
  return idempotently(c, database, now, async (remember) => {
    const walletMnemonic = generateMnemonic();
    const { address, vkey } = await keysFromMnemonic(walletMnemonic, network);
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
  return idempotently(c, database, now, async (remember) => {
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
    const former = isNew ? [] : await formerWallets(database, source.id);
    const at = { source: { ...source, formerWallets: former }, role, path: "" };
    const draft = {
      field: "walletMnemonic",
      row: await deriveWallet(c.env, at, wallet, c.var.caller.id, now),
    };
    const apiKey = await open(c.env, providerKeyPlace(source.id), source.rpcProviderApiKey);
    const provider = await providerFor(c.env, source.network, apiKey, "wallet");
    const row = (await decideDrives(provider, source, [draft]))(draft);
    const answer = {
      walletMnemonic: isNew ? walletMnemonic : null,
      walletAddress: row.address,
      walletVkey: row.vkey,
      Wallet: walletRecordOf(row),
    };
    const detail = { paymentSourceId: source.id, type: role, walletVkey: row.vkey, isNew };
    try {
      await commitAudited(c, database, { action: "wallet.create", target: row.id, detail, now }, [
        ...(await remember(answer)),
        statement(
          `UPDATE payment_source SET updated_at = iif(deleted_at IS NULL, ?2, NULL) WHERE id = ?1`,
          source.id,
          now,
        ),
        ...insertWallets(database, [row]),
        walletsChanged(source.id, now),
        ...(role === "Funding" ? [] : [startBackfill(source.id, [row])]),
      ]);
    } catch (error) {
      if (violates(error, "payment_source.updated_at")) throw noSuchSource();
      throw await toConflictError(error, database, source.network, [draft]);
    }
    return answer;
  });
}

function noSuchSource(): ApiError {
  return new ApiError(404, "paymentSourceId: there is no such payment source");
}
