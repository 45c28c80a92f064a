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
 * Assigns purchases to wallets, in order: each to the wallet with the most funds that has enough of every
 * unit. The amounts of an assigned purchase are subtracted from the wallet's available funds.
 */
export function assignWallets(
  needs: readonly FundingNeed[],
  wallets: readonly WalletFunds[],
): WalletAssignment[] {
  const remaining = wallets.map(({ wallet, availableFunds }) => ({
    wallet,
    funds: new Map(availableFunds),
  }));
  return needs.map(({ record, amounts }): WalletAssignment => {
    const required: Value = new Map(amounts);
    required.set("", (amounts.get("") ?? 0n) + FEE_RESERVE);
    const eligible = remaining.filter(({ wallet }) => isEligibleWallet(record, wallet));
    const [richest] = eligible
      .filter(({ funds }) => computeMissingFunds(funds, required).size === 0)
      .toSorted((a, b) => compareFunds(b.funds, a.funds, required));
    if (richest) {
      addValue(richest.funds, amounts, -1n);
      return { record, wallet: richest.wallet };
    }
    const [nearest] = eligible.toSorted((a, b) => compareFunds(b.funds, a.funds, required));
    const short = nearest
      ? { wallet: nearest.wallet, missing: computeMissingFunds(nearest.funds, required) }
      : null;
    return { record, short };
  });
}

function computeMissingFunds(funds: Value, required: Value): Value {
  return new Map(
    [...required].flatMap(([unit, amount]) => {
      const missing = amount - (funds.get(unit) ?? 0n);
      return missing > 0n ? [[unit, missing] as const] : [];
    }),
  );
}

/** By what is needed: tokens first, since they are scarcer than the native coin. */
function compareFunds(a: Value, b: Value, required: Value): number {
  const units = [...required.keys()].toSorted((one, other) => (one < other ? 1 : -1));
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
