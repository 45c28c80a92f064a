/** Which wallet locks which purchase: pure. */
import { addValue, type Value } from "../../chain/transaction/value.ts";
import type { EscrowRecord, WalletReference } from "../model/escrow-record.ts";

/** A purchasing wallet, and what it has left by unit. */
export interface WalletFunds {
  wallet: WalletReference;
  availableFunds: Value;
}

/** A purchase, and what its lock takes. */
export interface FundingNeed {
  record: EscrowRecord;
  amounts: Value;
}

/** What a wallet lacks for a purchase, minor units by unit. */
export interface Shortage {
  wallet: WalletReference;
  missing: Value;
  /** Whether it has to be one output, which a failed script would take. */
  isCollateral?: boolean;
}

export type WalletAssignment = { record: EscrowRecord } & (
  | { wallet: WalletReference }
  /** No wallet has enough: the one that lacks least; null: the purchase may use none. */
  | { short: Shortage | null }
);

/** Native minor units that stay for fees. */
const FEE_RESERVE = 2_000_000n;

/** Whether a purchase may be locked by a wallet. */
export function isEligibleWallet(
  { terms }: Pick<EscrowRecord, "terms">,
  wallet: WalletReference,
): boolean {
  const { walletIds, buyer } = terms;
  return (
    (walletIds === undefined || walletIds.includes(wallet.id)) &&
    (buyer === null || buyer === wallet.address)
  );
}

/**
 * Deals purchases to wallets, in their order: each to the fullest wallet that has enough of every unit.
 * What was dealt is taken from what the wallet has left.
 */
export function assignWallets(
  bids: readonly FundingNeed[],
  pursers: readonly WalletFunds[],
): WalletAssignment[] {
  const left = pursers.map(({ wallet, availableFunds: free }) => ({ wallet, free: new Map(free) }));
  return bids.map(({ record, amounts: takes }): WalletAssignment => {
    const needs: Value = new Map(takes);
    needs.set("", (takes.get("") ?? 0n) + FEE_RESERVE);
    const allowed = left.filter(({ wallet }) => isEligibleWallet(record, wallet));
    const enough = allowed.filter(({ free }) => computeMissingFunds(free, needs).size === 0);
    const [fullest] = enough.toSorted((a, b) => compareFunds(b.free, a.free, needs));
    if (fullest) {
      addValue(fullest.free, takes, -1n);
      return { record, wallet: fullest.wallet };
    }
    const [nearest] = allowed.toSorted((a, b) => compareFunds(b.free, a.free, needs));
    const short = nearest
      ? { wallet: nearest.wallet, missing: computeMissingFunds(nearest.free, needs) }
      : null;
    return { record, short };
  });
}

function computeMissingFunds(free: Value, needs: Value): Value {
  return new Map(
    [...needs].flatMap(([unit, amount]) => {
      const missing = amount - (free.get(unit) ?? 0n);
      return missing > 0n ? [[unit, missing] as const] : [];
    }),
  );
}

/** By what is needed: tokens first, since they are scarcer than the native coin. */
function compareFunds(a: Value, b: Value, needs: Value): number {
  const units = [...needs.keys()].toSorted((one, other) => (one < other ? 1 : -1));
  for (const unit of units) {
    const [mine, theirs] = [a.get(unit) ?? 0n, b.get(unit) ?? 0n];
    if (mine !== theirs) return mine < theirs ? -1 : 1;
  }
  return 0;
}

/**
 * What a wallet lacks, for people, and what to do about it.
 *
 * @param what - goes on once it is there
 */
export function describeShortage(
  { wallet, missing, isCollateral = false }: Shortage,
  what: string,
): string {
  const amounts = [...missing].map(([unit, amount]) =>
    unit === ""
      ? `${amount} minor units of the native coin`
      : `${amount} minor units of the token ${unit}`,
  );
  return `the wallet ${wallet.id} lacks ${amounts.join(" and ")}${isCollateral ? " in one output, as collateral" : ""}: send them to ${wallet.address}, and ${what} continues automatically`;
}
