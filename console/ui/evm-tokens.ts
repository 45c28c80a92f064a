/** Amounts of x402 in whole units of their tokens, as far as the service knows the decimals. */
import { signal } from "@preact/signals";
import { formatUnits, shortenId } from "./format.ts";
import type { AmountToken, Option } from "./resource.ts";

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

/** The token that each chain is paid in where nobody chooses one. */
export const evmDefaultAssets = signal<ReadonlyMap<string, string>>(new Map());

/** The known tokens by their addresses, to choose from. */
export function listEvmTokens(): Option[] {
  const found = new Map<string, Option>();
  for (const key of evmTokens.value.keys()) {
    const [chain = "", asset = ""] = key.split(" ");
    found.set(asset, { id: asset, label: formatEvmToken(chain, asset), detail: shortenId(asset) });
  }
  return [...found.values()];
}

/**
 * The token of an amount in a form.
 *
 * @param chain - empty: not known; then the token is one whose address all chains have the same decimals for
 */
export function findEvmToken(asset: string, chain = ""): AmountToken {
  const id = asset || (evmDefaultAssets.value.get(chain) ?? "");
  if (id === "native") return { name: "native coins", decimals: NATIVE_DECIMALS };
  if (id === "") return { name: "the token", decimals: null };
  const found = [...evmTokens.value].filter(([key]) =>
    chain === "" ? key.endsWith(evmTokenKey("", id)) : key === evmTokenKey(chain, id),
  );
  const [[key = "", first] = [], ...others] = found;
  if (first === undefined || others.some(([, one]) => one.decimals !== first.decimals))
    return { name: shortenId(id), decimals: null };
  return { name: formatEvmToken(key.split(" ")[0] ?? "", id), decimals: first.decimals };
}

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
