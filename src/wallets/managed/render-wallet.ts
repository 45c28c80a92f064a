import { toIsoTime } from "../../http/envelope.ts";
import type { WalletRow } from "./tables.ts";

/** A wallet entry of the interface. */
export function renderWallet({
  id,
  vkey,
  address,
  note,
  collectionAddress,
  drives,
}: Omit<WalletRow, "mnemonic">) {
  return { id, walletVkey: vkey, walletAddress: address, note, collectionAddress, drives };
}

/** The same with what a wallet shows beyond its source's entry. */
export function toWalletRecord(row: Omit<WalletRow, "mnemonic">) {
  return {
    ...renderWallet(row),
    type: row.role,
    network: row.network,
    paymentSourceId: row.sourceId,
    createdAt: toIsoTime(row.createdAt),
  };
}
