import { type Cursor, walletName } from "../sources/cursor.ts";
import type { EscrowRecord } from "./record.ts";
import type { EscrowSource } from "./source.ts";

/** Whose escrows a run applies: each record is moved by one of the two, so in order. */
export interface Scope {
  /** The source with the wallets in scope alone. */
  source: EscrowSource;
  /** Whether a record is one of theirs, be its wallet still in use or not. */
  has(record: EscrowRecord): boolean;
}

/**
 * What a run may touch: the past of the wallets that were added later, or what is new of all others.
 */
export function scopeOf(
  source: EscrowSource,
  { backfill }: Pick<Cursor, "backfill">,
  part: "past" | "new",
): Scope {
  const waiting = new Set(backfill?.wallets);
  const isInScope = (name: string) => waiting.has(name) === (part === "past");
  return {
    source: {
      ...source,
      wallets: source.wallets.filter((wallet) => isInScope(walletName(wallet))),
    },
    has: ({ side, terms }) =>
      isInScope(
        walletName({
          role: side === "payment" ? "Selling" : "Purchasing",
          vkey: terms.wallet.vkey,
        }),
      ),
  };
}
