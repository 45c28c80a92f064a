/**
 * Stands in for what the marketplace's clients import and its copy lacks: the generated SDK, `neverthrow`,
 * and the guarded fetch. The SDK only makes the request: judging the answers is the copy's own part.
 */
import { bech32 as limited } from "@scure/base";

type Query = Record<string, string | number | boolean | undefined>;

interface Settings {
  baseUrl: string;
  headers?: Record<string, string>;
  fetch?: typeof fetch;
}

interface Call {
  client: { settings: Settings };
  query?: Query;
  body?: object;
  signal?: AbortSignal;
}

interface Purchase {
  createdAt: string | Date;
  nextActionOrOnChainStateOrResultLastChangedAt: string | Date;
}

/** As `createClient` of the generated SDK. */
export function createClient(settings: Settings) {
  const client = {
    settings,
    setConfig: (more: Partial<Settings>) => Object.assign(settings, more),
  };
  return client;
}

function operation(method: "GET" | "POST", path: string) {
  return async ({ client: { settings }, query = {}, body, signal }: Call) => {
    const url = new URL(`${settings.baseUrl}${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const response = await (settings.fetch ?? fetch)(url, {
      method,
      headers: { ...settings.headers, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    const read: unknown = await response.json();
    return response.ok ? { data: read, response } : { error: read, response };
  };
}

export const getApiKeyStatus = operation("GET", "/api-key-status");
export const getBalance = operation("GET", "/balance");
export const getPayment = operation("GET", "/payment");
export const getPaymentInformation = operation("GET", "/payment-information");
export const getPaymentSource = operation("GET", "/payment-source");
/** As the generated SDK, which turns texts of times into dates. */
export async function getPurchaseDiff(call: Call) {
  const answer = await operation("GET", "/purchase/diff")(call);
  const { data } = answer.data ? (answer.data as { data: { Purchases: Purchase[] } }) : {};
  for (const one of data?.Purchases ?? [])
    for (const field of ["createdAt", "nextActionOrOnChainStateOrResultLastChangedAt"] as const)
      one[field] = new Date(one[field]);
  return answer;
}
export const getRailReadiness = operation("GET", "/rail-readiness");
export const getRegistryAgentIdentifier = operation("GET", "/registry/agent-identifier");
export const getWalletList = operation("GET", "/wallet/list");
export const getX402Budgets = operation("GET", "/x402/budgets");
export const getX402NetworksAvailable = operation("GET", "/x402/networks/available");
export const getX402Wallets = operation("GET", "/x402/wallets");
export const getX402WalletsBalance = operation("GET", "/x402/wallets/balance");
export const postPayment = operation("POST", "/payment");
export const postPurchase = operation("POST", "/purchase");
export const postPurchaseRequestRefund = operation("POST", "/purchase/request-refund");
export const postPurchaseResolveBlockchainIdentifier = operation(
  "POST",
  "/purchase/resolve-blockchain-identifier",
);
export const postRegistryDiff = operation("POST", "/registry-diff");
export const postX402Pay = operation("POST", "/x402/pay");

const result = (isOk: boolean) => (value?: unknown) => ({
  isOk: () => isOk,
  isErr: () => !isOk,
  ...(isOk ? { value } : { error: value }),
});

/** As `ok` of `neverthrow`. */
export const ok = result(true);

/** As `err` of `neverthrow`. */
export const err = result(false);

/** Fetches by http what the copy insists to fetch by https: the service runs on this machine. */
export function ssrfSafeFetch(url: string, init: RequestInit): Promise<Response> {
  return fetch(url.replace(/^https:/, "http:"), init);
}

/** As `bech32` of `@scure/base` before 2.4, whose `decodeToBytes` takes addresses of any length. */
export const bech32 = {
  decodeToBytes: (address: string) => limited.decodeToBytes(address, false),
};
