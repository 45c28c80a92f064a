/** What the service knows of the tokens of x402. */
import { callApi } from "../api/request.ts";
import { hasAccess } from "../api/session.ts";
import { type EvmToken, evmDefaultAssets, evmTokenKey, evmTokens } from "../ui/evm-tokens.ts";

/** Tokens that people know by another name than that of their contract's signatures. */
const SYMBOLS: Readonly<Record<string, string>> = { "USD Coin": "USDC" };

interface AvailableNetwork {
  caip2Id: string;
  defaultAsset: string | null;
  defaultAssetDecimals: number | null;
}

interface PaidResource {
  requirements: {
    network: string;
    asset: string;
    extra: { name?: string; decimals: number };
  } | null;
}

/** Reads what networks and paid resources say of their tokens. */
export async function loadEvmTokens(): Promise<void> {
  const [{ Networks }, { PaymentSources }] = await Promise.all([
    callApi<{ Networks: AvailableNetwork[] }>({ method: "GET", path: "/x402/networks/available" }),
    hasAccess("+PAY")
      ? callApi<{ PaymentSources: PaidResource[] }>({
          method: "GET",
          path: "/x402/payment-sources",
          query: { limit: "100" },
        })
      : { PaymentSources: [] },
  ]);
  const tokens = new Map<string, EvmToken>();
  for (const { caip2Id, defaultAsset, defaultAssetDecimals: decimals } of Networks)
    if (defaultAsset !== null && decimals !== null)
      tokens.set(evmTokenKey(caip2Id, defaultAsset), { decimals, symbol: null });
  for (const { requirements } of PaymentSources) {
    if (requirements === null) continue;
    const { network, asset, extra } = requirements;
    const symbol = extra.name === undefined ? null : (SYMBOLS[extra.name] ?? extra.name);
    tokens.set(evmTokenKey(network, asset), { decimals: extra.decimals, symbol });
  }
  evmTokens.value = tokens;
  evmDefaultAssets.value = new Map(
    Networks.flatMap(({ caip2Id, defaultAsset }) =>
      defaultAsset === null ? [] : [[caip2Id, defaultAsset] as const],
    ),
  );
}
