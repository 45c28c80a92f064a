import { z } from "@hono/zod-openapi";
import { text } from "../http/parameters.ts";
import { ATTEMPT_DIRECTIONS, ATTEMPT_STATUSES } from "./tables.ts";

/** `eip155:` and a chain number that fits a JavaScript number. */
export const caip2 = z
  .string()
  .regex(/^eip155:[1-9]\d{0,14}$/, "must have the form eip155:<chain number>")
  .openapi({ example: "eip155:8453" });

/** As a filter, with the bound of the interface. */
export const caip2Filter = z
  .string()
  .regex(/^eip155:\d+$/, "must have the form eip155:<chain number>")
  .max(250);

const ZERO_ADDRESS = /^0x0{40}$/i;

/** An EVM address; stored and compared in lower case. */
export const evmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "must be 0x and 40 hex digits")
  .refine((value) => !ZERO_ADDRESS.test(value), "must not be the zero address")
  .transform((value) => value.toLowerCase())
  .openapi({ type: "string", example: "0x036cbd53842c5426634e7929541ec2318f3dcf7e" });

/** The native coin is no ERC-20; some tools write it as this address. */
export const tokenAddress = evmAddress.refine(
  (value) => value !== `0x${"e".repeat(40)}`,
  "must be an ERC-20 token",
);

const MAX_UINT256 = 2n ** 256n - 1n;

/** A whole number of a token's smallest units, decimal text. */
export function tokenAmount(min = 1n) {
  return (
    z
      .string()
      // Nothing below may see what is no number.
      .regex(/^\d{1,78}$/, { error: "must be a whole number in decimal digits", abort: true })
      .refine((value) => BigInt(value) <= MAX_UINT256, "must be below 2^256")
      .refine((value) => BigInt(value) >= min, `must be at least ${min}`)
      .transform((value) => BigInt(value).toString())
      .openapi({ type: "string", example: "10000" })
  );
}

export const timeoutSeconds = z.int().min(1).max(86_400);

const jsonObject = z.record(z.string(), z.unknown());

/** Terms of a payment as they go over the wire (x402 v2, specification §5). */
export const paymentRequirements = z.object({
  scheme: text(50),
  network: text(100, 3),
  amount: text(100),
  asset: text(100),
  payTo: text(100),
  maxTimeoutSeconds: z.number().positive(),
  extra: jsonObject.nullish(),
});

/**
 * A buyer's payment (x402 v2, specification §5). What is not named here is dropped before it is
 * hashed, except inside `payload` and `extensions`.
 */
export const paymentPayload = z
  .object({
    x402Version: z.int(),
    resource: z.object({ url: text(2000) }).optional(),
    accepted: paymentRequirements,
    payload: jsonObject,
    extensions: jsonObject.nullish(),
  })
  .openapi("X402PaymentPayload");

export type PaymentRequirements = z.output<typeof paymentRequirements>;
export type PaymentPayload = z.output<typeof paymentPayload>;

const time = z.string();

export const networkRecord = z
  .object({
    id: z.string(),
    caip2Id: z.string(),
    displayName: z.string(),
    rpcUrl: z.string(),
    isTestnet: z.boolean(),
    isEnabled: z.boolean(),
    defaultAsset: z.string().nullable(),
    facilitatorWalletId: z.string().nullable(),
    facilitatorWalletAddress: z.string().nullable(),
    eip6492AllowedFactories: z.array(z.string()),
    createdById: z.string().nullable(),
    createdAt: time,
    updatedAt: time,
  })
  .openapi("X402Network");

export const attemptRecord = z
  .object({
    id: z.string(),
    createdAt: time,
    updatedAt: time,
    direction: z.enum(ATTEMPT_DIRECTIONS),
    status: z.enum(ATTEMPT_STATUSES),
    apiKeyId: z.string().nullable(),
    evmWalletId: z.string().nullable(),
    registryRequestId: z.string().nullable(),
    supportedPaymentSourceId: z.string().nullable(),
    caip2Network: z.string(),
    asset: z.string(),
    amount: z.string(),
    payTo: z.string(),
    payer: z.string().nullable(),
    resource: z.string().nullable(),
    paymentPayloadHash: z.string(),
    paymentIdentifier: z.string().nullable(),
    errorReason: z.string().nullable(),
    errorMessage: z.string().nullable(),
    Settlement: z
      .object({
        id: z.string(),
        success: z.boolean(),
        txHash: z.string(),
        amount: z.string(),
        payer: z.string(),
        createdAt: time,
      })
      .nullable(),
  })
  .openapi("X402PaymentAttempt");

export const walletRecord = z
  .object({
    id: z.string(),
    caip2Network: z.string(),
    address: z.string(),
    type: z.enum(["Purchasing", "Selling"]),
    note: z.string().nullable(),
    createdById: z.string(),
    createdAt: time,
    updatedAt: time,
  })
  .openapi("X402Wallet");

export const settleResponse = z.object({
  success: z.boolean(),
  payer: z.string().nullable(),
  transaction: z.string().openapi({ description: "Transaction hash; empty when there is none." }),
  network: z.string(),
  amount: z.string(),
  errorReason: z.string().optional(),
  errorMessage: z.string().optional(),
});
