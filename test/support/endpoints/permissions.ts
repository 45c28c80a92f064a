import type { EndpointCase } from "./all.ts";

/**
 * Who may call what is no GET, as it was decided: by the beginning of `METHOD path`, or of the path
 * alone. Every such route has a line here, written before the route: whoever adds one says who may.
 */
export const PERMISSIONS: Readonly<
  Record<Exclude<EndpointCase["access"], "none">, readonly string[]>
> = {
  Admin: [
    "/api-key",
    "/dispute/proposal",
    "/erasure",
    "/payment-source-extended",
    "/registry-source",
    "/units",
    "/wallet",
    "/invoice/monthly/internal",
    "/invoice/rates",
    "/x402/budgets",
    "/x402/low-balance",
    "/x402/networks",
    "/x402/payments/reconcile",
    "DELETE /inbox-agents",
    "DELETE /registry-inbox",
  ],
  "+PAY": [
    "/invoice/monthly",
    "/payment",
    "/purchase",
    "/registry",
    "/webhooks",
    "/x402/facilitator",
    "/x402/pay",
    "/x402/payment-sources",
    "/x402/settle",
    "/x402/verify",
    "/x402/wallets",
    "POST /inbox-agents",
    "POST /registry-inbox",
  ],
  // Queries that are too large for an address, and what anybody may ask for who may read.
  User: [
    "POST /dispute/signature",
    "POST /inbox-agent-registration",
    "POST /inbox-agent-registration-diff",
    "POST /inbox-agent-registration-refresh",
    "POST /inbox-agent-registration-search",
    "POST /payment/income",
    "POST /payment/resolve-blockchain-identifier",
    "POST /purchase/resolve-blockchain-identifier",
    "POST /purchase/spending",
    "POST /registry-diff",
    "POST /registry-entry",
    "POST /registry-entry-search",
    "POST /signature/verify/reveal-data",
  ],
};

/** Who may call an endpoint by the longest line that is its own, or of a path above it; null: no line. */
export function permissionOf({ method, path }: Pick<EndpointCase, "method" | "path">) {
  const lines = Object.entries(PERMISSIONS).flatMap(([access, all]) =>
    all.map((line) => ({ access, at: line.replace(/^[A-Z]+ /, ""), line })),
  );
  const [longest] = lines
    .filter(({ at }) => path === at || path.startsWith(`${at}/`))
    .filter(({ at, line }) => line === at || line === `${method} ${at}`)
    .toSorted((a, b) => b.at.length - a.at.length);
  return longest?.access ?? null;
}
