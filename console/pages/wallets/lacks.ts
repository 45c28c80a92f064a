/** What a wallet lacks, and why. */
import { formatAmount, formatFunds } from "../../ui/format.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import type { Funds } from "../escrow/sides.ts";

/** The API names a rule by its id, and its threshold in minor units. */
const RULE_REASON = /^below (\d+), the threshold of the rule \w+$/;

export function describeLackReason(lack: unknown): string {
  const reason = textAt(lack, "reason");
  const [, threshold] = RULE_REASON.exec(reason) ?? [];
  return threshold === undefined
    ? reason
    : `a balance rule warns below ${formatFunds(threshold, textAt(lack, "unit"))}`;
}

/** Native minor units: a payment of less is refused. */
const MIN_PAYMENT = 2_000_000n;

/** Native minor units of a wallet. Null: unknown. */
export function readCoins(wallet: unknown): bigint | null {
  const balance = valueAt(wallet, "Balance") as Funds[] | null | undefined;
  return balance ? BigInt(balance.find(({ unit }) => unit === "")?.amount ?? "0") : null;
}

/** Native minor units of a payment that ends the lack of a wallet. Null: the wallet lacks none. */
function computePayment(wallet: unknown): bigint | null {
  const missing = (valueAt(wallet, "Missing") ?? []) as Funds[];
  const coins = missing.find(({ unit }) => unit === "");
  if (coins === undefined) return null;
  const amount = BigInt(coins.amount);
  return amount > MIN_PAYMENT ? amount : MIN_PAYMENT;
}

/** The same payment in whole units. Empty: the wallet lacks none. */
export function formatLackingCoins(wallet: unknown): string {
  const payment = computePayment(wallet);
  return payment === null ? "" : formatAmount(String(payment), "");
}

/** Whether a wallet is another one of the network, and may pay. */
export const isPayer = (wallet: unknown, other: unknown) =>
  textAt(other, "walletAddress") !== textAt(wallet, "walletAddress") &&
  textAt(other, "network") === textAt(wallet, "network") &&
  textAt(other, "drives") !== "nothing";

const listPayers = (wallet: unknown, wallets: readonly unknown[]) =>
  wallets.filter((other) => isPayer(wallet, other));

/** Whether another wallet holds the native coins that a wallet lacks. */
export function hasPayer(wallet: unknown, wallets: readonly unknown[]): boolean {
  const payment = computePayment(wallet);
  if (payment === null) return false;
  return listPayers(wallet, wallets).some((other) => (readCoins(other) ?? 0n) > payment);
}

/** Why no other wallet can pay to a wallet. Null: one can, or the balances are unknown. */
export function describePayerLack(wallets: readonly unknown[], wallet: unknown): string | null {
  const payment = computePayment(wallet) ?? MIN_PAYMENT;
  const isPoor = (other: unknown) => (readCoins(other) ?? payment + 1n) <= payment;
  return listPayers(wallet, wallets).every(isPoor)
    ? `No other wallet holds more than ${formatFunds(String(payment), "")}. Send funds to the address of this wallet.`
    : null;
}

/** Why no Funding wallet of a source can pay. Null: one can, or the balances are unknown. */
export function describeFundingLack(payers: readonly unknown[]): string | null {
  if (payers.length === 0)
    return "The payment source has no Funding wallet. The rule waits until you create one: Create wallet, type Funding.";
  const driven = payers.filter((one) => textAt(one, "drives") !== "nothing");
  if (driven.length === 0)
    return "The Funding wallet only watches. The rule waits until you change its automation.";
  return driven.every((one) => readCoins(one) === 0n)
    ? "The Funding wallet holds nothing. The rule waits until you send funds to its address."
    : null;
}
