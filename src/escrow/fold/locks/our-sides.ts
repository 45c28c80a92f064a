import type { Side } from "../../record.ts";
import type { ChangeSet } from "../changes.ts";
import { type EscrowOutput, type EscrowSource, roleOf, type SourceWallet } from "../source.ts";

/** A wallet that acts for a side of a lock, and the key that a record made by the lock belongs to. */
export type OurWallet = Pick<SourceWallet, "id" | "vkey" | "address" | "createdById">;

/**
 * The sides of a lock whose party is a wallet of ours: one in use, or that of a record which was requested,
 * since a wallet that was removed may have been paid, or have sent its lock, before.
 */
export function ourSides(
  changes: ChangeSet,
  source: EscrowSource,
  { datum, identifierHash }: EscrowOutput,
): { side: Side; wallet: OurWallet }[] {
  return (["payment", "purchase"] as const).flatMap((side) => {
    const role = roleOf(side);
    const vkey = side === "payment" ? datum.sellerVkey : datum.buyerVkey;
    const inUse = source.wallets.find((wallet) => wallet.role === role && wallet.vkey === vkey);
    const wallet = inUse ?? removedWallet(changes, source, { side, vkey, identifierHash });
    return wallet === null ? [] : [{ side, wallet }];
  });
}

function removedWallet(
  changes: ChangeSet,
  { isReadFor = () => true }: EscrowSource,
  { side, vkey, identifierHash }: { side: Side; vkey: string; identifierHash: string },
): OurWallet | null {
  const { terms, wallet, requestedById } = changes.find(side, identifierHash) ?? {};
  if (!terms?.isRequested || !requestedById || wallet?.vkey !== vkey) return null;
  return isReadFor({ role: roleOf(side), vkey }) ? { ...wallet, createdById: requestedById } : null;
}
