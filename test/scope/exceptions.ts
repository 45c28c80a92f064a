import { STRANGERS, type Stranger } from "./strangers.ts";

/** What strangers may see or do all the same, and why. */
export interface Exception {
  operations: readonly string[];
  strangers: readonly Stranger[];
  /** The statuses that may reveal that a resource exists. */
  differs?: readonly number[];
  /** Whether something may change. */
  mayChange?: true;
  /** Markers that may be shown. */
  shows?: readonly string[];
  because: string;
}

const BOUND = [
  "another wallet of the same source",
  "a wallet of another source",
] as const satisfies Stranger[];

export const EXCEPTIONS: readonly Exception[] = [
  {
    operations: ["GET /health", "GET /health/ready"],
    strangers: STRANGERS,
    shows: ["sourceId"],
    because: "health names each source, for monitors that have no key",
  },
  {
    operations: [
      "GET /utxos",
      "GET /balance",
      "GET /registry/wallet",
      "GET /inbox-agents/wallet",
      "GET /registry-inbox/wallet",
    ],
    strangers: BOUND,
    differs: [200],
    because: "the chain shows it to everybody",
  },
  {
    operations: ["POST /purchase", "purchase_job"],
    strangers: BOUND,
    shows: ["boughtPurchaseId"],
    differs: [200, 400, 404, 409],
    mayChange: true,
    because:
      "any key may buy a quote with its wallets, once: the refusal names the purchase's id alone, and a made-up identifier is invalid",
  },
  {
    operations: ["POST /purchase/verify"],
    strangers: BOUND,
    differs: [200, 404],
    because: "any key may verify a quote, and a made-up identifier is invalid",
  },
  {
    operations: [
      "PATCH /webhooks",
      "DELETE /webhooks",
      "POST /webhooks/test",
      "POST /webhooks/rotate-secret",
      "POST /webhooks/deliveries/replay",
    ],
    strangers: STRANGERS,
    differs: [403],
    because: "what has a creator answers 403 to other keys",
  },
  {
    operations: ["POST /invoice/monthly"],
    strangers: ["another owner"],
    mayChange: true,
    because: "the buyer's signature proves who asks, and the key is bound to no wallet",
  },
  {
    operations: ["POST /dispute/signature"],
    strangers: [...BOUND, "another owner"],
    differs: [200],
    mayChange: true,
    because: "the signature of an administrator is the proof, whoever hands it in",
  },
  {
    operations: ["POST /inbox-agent-registration-refresh"],
    strangers: [...BOUND, "another owner"],
    mayChange: true,
    because: "registrations are public, and whoever pays a credit may have one verified anew",
  },
];

/** The exception for a stranger at an operation. */
export function findException(operation: string, stranger: Stranger): Exception | undefined {
  return EXCEPTIONS.find(
    ({ operations, strangers }) => operations.includes(operation) && strangers.includes(stranger),
  );
}
