/** Wallets that pay to another one, with what each of them holds. */
import { formatFunds } from "../../ui/format.ts";
import { textAt } from "../../ui/path.ts";
import type { KnownIds } from "../../ui/resource.ts";
import { WALLETS } from "../fields/known-ids.ts";
import { describeFundingLack, isPayer, readCoins } from "./lacks.ts";

/** Native coins of a wallet. Empty: the balance is unknown. */
function describeCoins(wallet: unknown): string {
  const coins = readCoins(wallet);
  return coins === null ? "" : `holds ${formatFunds(String(coins), "")}`;
}

/** Wallets that can pay to a wallet, by their addresses. */
export const createPayerIds = (wallet: unknown): KnownIds => ({
  ...WALLETS,
  idPath: "walletAddress",
  isOffered: (other) => isPayer(wallet, other),
  describeDetail: describeCoins,
});

/** Why no Funding wallet of a source can pay, else what the wallets hold. Null: the balances are unknown. */
export function describeFunding(payers: readonly unknown[]): string | null {
  const lack = describeFundingLack(payers);
  if (lack !== null) return lack;
  const balances = payers
    .filter((one) => textAt(one, "drives") !== "nothing" && readCoins(one) !== null)
    .map((one) => `${textAt(one, "note") || "The Funding wallet"} ${describeCoins(one)}.`);
  return balances.join(" ") || null;
}
