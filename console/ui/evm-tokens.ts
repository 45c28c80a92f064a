/** Amounts of x402 in whole units of their tokens, as far as the service knows the decimals. */
import { signal } from "@preact/signals";
import { formatUnits, shortenId } from "./format.ts";

export interface EvmToken {
  decimals: number;
  /** What people call it; null: only its address is known. */
  symbol: string | null;
}

/** Tokens whose decimals the service read from their contracts, by chain and address. */
export const evmTokens = signal<ReadonlyMap<string, EvmToken>>(new Map());

export const evmTokenKey = (chain: string, asset: string): string =>
  `${chain} ${asset.toLowerCase()}`;

/** What a token is called: its symbol, else its address, shortened. */
export function formatEvmToken(chain: string, asset: string): string {
  if (asset === "native") return "native coin";
  return evmTokens.value.get(evmTokenKey(chain, asset))?.symbol ?? shortenId(asset);
}

const NATIVE_DECIMALS = 18;

/**
 * An amount with its token. Without known decimals it is in minor units, and says so.
 *
 * @param decimals - what the answer itself says of them; null: nothing
 */
export function formatEvmAmount(
  amount: string,
  chain: string,
  asset: string,
  decimals: number | null = null,
): string {
  const token = formatEvmToken(chain, asset);
  const known =
    decimals ??
    (asset === "native"
      ? NATIVE_DECIMALS
      : (evmTokens.value.get(evmTokenKey(chain, asset))?.decimals ?? null));
  return known === null
    ? `${formatUnits(amount, 0)} minor units of ${token}`
    : `${formatUnits(amount, known)} ${token}`;
}
