import * as z from "zod";
import { ENV_ADMIN_ID } from "../../../src/api-keys/find-key.ts";
import { deriveWalletKeys, type WalletKeys } from "../../../src/chain/wallet-keys.ts";
import { seal } from "../../../src/db/sealed.ts";
import { startBackfill } from "../../../src/sources/cursor.ts";
import { requireAddress } from "../../../src/sources/validate-request.ts";
import { toMnemonicEncryptionContext } from "../../../src/wallets/managed/open-keys.ts";
import {
  managedWallet,
  WALLET_ROLES,
  type WalletRow,
} from "../../../src/wallets/managed/tables.ts";
import { insertWalletChange } from "../../../src/wallets/managed/wallet-changes.ts";
import {
  defineKind,
  type ImportContext,
  LeftOut,
  optionalText,
  optionalTime,
  text,
  time,
} from "../import-context.ts";

const schema = z.object({
  id: text,
  createdAt: time,
  walletVkey: text,
  walletAddress: text,
  type: z.enum(WALLET_ROLES),
  secretId: text,
  collectionAddress: optionalText,
  paymentSourceId: text,
  note: optionalText,
  deletedAt: optionalTime,
});
type PeerWallet = z.output<typeof schema>;

/** Managed wallets, which drive nothing. The words must derive the key and the address that the row names. */
export const wallets = defineKind({
  name: "wallets",
  table: "HotWallet",
  schema,
  async convert(row, context) {
    if (row.deletedAt !== null) throw new LeftOut("was removed there");
    const source = context.requireSource(row.paymentSourceId);
    const { words, keys } = await openWords(row, source.network, context);
    const { vkey, address } = keys;
    const managed = context.present.wallets.find(
      (one) => one.sourceId === source.id && one.vkey === vkey && one.role === row.type,
    );
    const reason = "another wallet there has its words";
    if (managed) {
      if ([...context.wallets.values()].includes(managed)) throw new LeftOut(reason);
      context.wallets.set(row.id, managed);
      return "present";
    }
    if (!context.claim("managed_wallet", row.id, `${source.network} ${vkey}`, reason))
      throw new LeftOut("was removed here since an earlier import");
    const wallet: WalletRow = {
      id: row.id,
      sourceId: source.id,
      network: source.network,
      role: row.type,
      vkey,
      address,
      mnemonic: await seal(context.env, toMnemonicEncryptionContext(row.id), words),
      note: row.note ?? "",
      collectionAddress:
        row.collectionAddress &&
        requireAddress(source.network, "collectionAddress", row.collectionAddress),
      drives: "nothing",
      createdById: ENV_ADMIN_ID,
      createdAt: row.createdAt,
      deletedAt: null,
    };
    context.wallets.set(row.id, wallet);
    const isSynced = context.present.sources.includes(source);
    return [
      context.orm.insert(managedWallet).values(wallet).toSQL(),
      ...(isSynced ? [insertWalletChange(source.id, context.now)] : []),
      ...(isSynced && row.type !== "Funding" ? [startBackfill(source.id, [wallet])] : []),
    ];
  },
});

async function openWords(
  { secretId, walletVkey, walletAddress }: PeerWallet,
  network: WalletRow["network"],
  context: ImportContext,
): Promise<{ words: string; keys: WalletKeys }> {
  const sealed = context.findRow("WalletSecret", secretId)?.encryptedMnemonic;
  const words = context.secrets
    .open(String(sealed ?? ""))
    ?.trim()
    .split(/\s+/)
    .join(" ");
  const keys = words && (await deriveWalletKeys(words, network).catch(() => null));
  if (!words || !keys) throw new LeftOut("ENCRYPTION_KEY does not open its words");
  if (keys.vkey !== walletVkey || keys.address !== walletAddress)
    throw new LeftOut("its words are those of another wallet");
  return { words, keys };
}
