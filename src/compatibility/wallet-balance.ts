import type { listBalances } from "../x402/wallets/list-balances.ts";

/** Symbols of the native coins that clients print; a chain that is not here has `Native`. */
const NATIVE_SYMBOLS: Readonly<Record<string, string>> = {
  "eip155:1": "ETH",
  "eip155:10": "ETH",
  "eip155:56": "BNB",
  "eip155:100": "xDAI",
  "eip155:137": "POL",
  "eip155:8453": "ETH",
  "eip155:42161": "ETH",
  "eip155:43114": "AVAX",
  "eip155:84532": "ETH",
  "eip155:11155111": "ETH",
};

/** The balances of a wallet: the native coin, and the default token of its network. */
export function toExternalBalance(
  { caip2Network, error, Assets }: Awaited<ReturnType<typeof listBalances>>[number],
  { displayName, defaultAsset }: { displayName: string; defaultAsset: string | null },
) {
  const read = (wanted: string | null) => {
    const found = Assets.find(({ asset }) => asset === wanted);
    if (!found || found.decimals === null || found.amount === null) return null;
    return { asset: found.asset, decimals: found.decimals, amount: found.amount };
  };
  const native = read("native");
  const token = read(defaultAsset);
  return {
    caip2Network,
    displayName,
    native: native && {
      symbol: NATIVE_SYMBOLS[caip2Network] ?? "Native",
      ...{ decimals: native.decimals, amount: native.amount },
    },
    asset: token && { ...token, symbol: null },
    error,
  };
}
