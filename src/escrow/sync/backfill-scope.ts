import { walletName } from "../../sources/cursor.ts";
import { type EscrowSource, roleOf, type SourceWallet } from "../fold/source.ts";
import { type EscrowRecord, isUnlocked } from "../record.ts";
import type { EscrowCursor } from "./cursor.ts";

/** The escrows that a run applies: each record is moved by one of the two, so in order. */
export interface Scope {
  /** The source with the wallets in scope alone. */
  source: EscrowSource;
  /**
   * Whether the run may move a record: one of these wallets, whether still in use or not, or one whose
   * lock was rolled back, which any wallet may lock anew under its identifier.
   */
  has(record: EscrowRecord): boolean;
}

/**
 * What a run may touch: the past of the wallets that were added later, or what is new of all others.
 */
export function scopeOf(
  source: EscrowSource,
  { backfill }: Pick<EscrowCursor, "backfill">,
  part: "past" | "new",
): Scope {
  const waiting = new Set(backfill?.wallets);
  const isReadFor = (wallet: Pick<SourceWallet, "role" | "vkey">) =>
    waiting.has(walletName(wallet)) === (part === "past");
  return {
    source: { ...source, wallets: source.wallets.filter(isReadFor), isReadFor },
    has: ({ side, wallet, state, wanted }) =>
      isUnlocked({ state, wanted }) ||
      wallet === null ||
      isReadFor({ role: roleOf(side), vkey: wallet.vkey }),
  };
}
