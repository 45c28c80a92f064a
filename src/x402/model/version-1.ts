/** Version 1 of x402: its payments are verified, settled and stored in terms of version 2. */
import * as z from "zod";
import { described, named } from "../../http/openapi/fields.ts";
import { textParameter } from "../../http/openapi/parameters.ts";
import {
  EXAMPLE_ASSET,
  EXAMPLE_PAY_TO,
  EXAMPLE_RESOURCE_URL,
  MAX_URL_LENGTH,
  type PaymentPayload,
  type PaymentRequirements,
  paymentRequirements,
} from "./schemas.ts";

/** Chain numbers by the names of version 1, as the packages `x402` 1.2 and `@x402/evm` 2.27 have them. */
const CHAINS = new Map([
  ["abstract", 2741],
  ["abstract-testnet", 11124],
  ["avalanche", 43114],
  ["avalanche-fuji", 43113],
  ["base", 8453],
  ["base-sepolia", 84532],
  ["celo", 42220],
  ["educhain", 41923],
  ["ethereum", 1],
  ["flare", 14],
  ["iotex", 4689],
  ["megaeth", 4326],
  ["monad", 143],
  ["peaq", 3338],
  ["polygon", 137],
  ["polygon-amoy", 80002],
  ["sei", 1329],
  ["sei-testnet", 1328],
  ["sepolia", 11155111],
  ["skale-base-sepolia", 324705682],
  ["stable", 988],
  ["stable-testnet", 2201],
  ["story", 1514],
]);
const NAMES = new Map([...CHAINS].map(([name, chainId]) => [toCaip2(chainId), name]));

function toCaip2(chainId: number): string {
  return `eip155:${chainId}`;
}

/** Name of a chain in version 1; null: version 1 has none. */
export function toNetworkName(caip2Id: string): string | null {
  return NAMES.get(caip2Id) ?? null;
}

function toCaip2Network(name: string): string | null {
  const chainId = CHAINS.get(name);
  return chainId === undefined ? null : toCaip2(chainId);
}

const network = described(textParameter(100), "EVM chain, by its name in version 1.", "base");
const { scheme, asset, payTo, maxTimeoutSeconds, extra } = paymentRequirements.shape;

/** Terms of a payment in version 1, which name the resource. Unknown fields are dropped. */
export const version1Requirements = named(
  "X402Version1Requirements",
  "Terms of a payment (x402 v1).",
  z.object({
    scheme,
    network,
    maxAmountRequired: described(textParameter(100), "Minor units of the token.", "10000"),
    resource: described(
      z.string().max(MAX_URL_LENGTH).optional(),
      "URL of the resource.",
      EXAMPLE_RESOURCE_URL,
    ),
    asset: described(asset, "Address of the token.", EXAMPLE_ASSET),
    payTo: described(payTo, "Address of the payee.", EXAMPLE_PAY_TO),
    maxTimeoutSeconds,
    extra,
  }),
);

/** A buyer's payment in version 1. Unknown fields are dropped before hashing, except inside `payload`. */
export const version1Payload = named(
  "X402Version1Payload",
  "A buyer's payment by EIP-3009 (x402 v1).",
  z.object({
    x402Version: described(z.literal(1), "Version of x402.", 1),
    scheme,
    network,
    payload: described(
      z.record(z.string(), z.unknown()),
      "The signed authorization: `signature` and `authorization`.",
      {
        signature: "0x2d6a7588d6acca505cbf0d9a4a227e0c52c6c34008c8e8986a1283259764173608",
      },
    ),
  }),
);

/** Whether a payment is one of version 1. Each payment says its version. */
export function isVersion1(payload: unknown): boolean {
  return z.object({ x402Version: z.literal(1) }).safeParse(payload).success;
}

/**
 * A payment of version 1 in terms of version 2. An authorization is the same in both versions, and so
 * is the object that settles it. Permit2 is not part of version 1.
 *
 * @returns null when version 1 does not know the network
 */
export function translateVersion1(
  payload: z.output<typeof version1Payload>,
  terms: z.output<typeof version1Requirements>,
): { payload: PaymentPayload; requirements: PaymentRequirements } | null {
  const { resource, maxAmountRequired: amount, ...shared } = terms;
  const [accepted, required] = [payload.network, terms.network].map(toCaip2Network);
  if (!accepted || !required) return null;
  const requirements = { ...shared, network: required, amount };
  const { signature, authorization } = payload.payload;
  return {
    requirements,
    payload: {
      x402Version: 2,
      ...(resource && { resource: { url: resource } }),
      accepted: { ...requirements, scheme: payload.scheme, network: accepted },
      payload: { signature, authorization },
    },
  };
}

/** Reasons of version 1 by those of version 2, where they differ. */
const REASONS: Readonly<Record<string, string>> = {
  invalid_exact_evm_payload_authorization_value_mismatch: "invalid_exact_evm_authorization_value",
};

/** The reason code that version 1 has for one of version 2. */
export function toVersion1Reason(reason: string): string {
  return REASONS[reason] ?? reason;
}
