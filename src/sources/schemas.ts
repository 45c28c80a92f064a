import { z } from "@hono/zod-openapi";
import { validateMnemonic } from "../chain/keys.ts";
import { NETWORKS, PAYMENT_SOURCE_TYPES } from "../chain/network.ts";
import { text } from "../http/parameters.ts";
import { contractProblems } from "./contract-rules.ts";

const MINUTE_MS = 60_000;

const config = z.object({
  // It travels in a header.
  rpcProviderApiKey: text().regex(/^[\x21-\x7e]*$/, "must be printable ASCII without spaces"),
  rpcProvider: z.enum(["Blockfrost"]).openapi({
    description: "Any service that speaks this HTTP API; its base URL is the operator's.",
  }),
});

const newWallet = z
  .object({
    walletMnemonic: text(1500)
      .superRefine((words, problems) => {
        const mnemonic = validateMnemonic(words);
        if (!mnemonic.ok) problems.addIssue(mnemonic.problem);
      })
      .openapi({ description: "12, 15, 18, 21 or 24 words (BIP-39). Never returned." }),
    note: text(250, 0).default(""),
    collectionAddress: text()
      .nullable()
      .default(null)
      .openapi({ description: "Where refunds or revenue are sent; null: to the wallet itself." }),
  })
  .openapi("NewWallet");

export type NewWallet = z.output<typeof newWallet>;

const address = z.object({ walletAddress: text() });
const walletId = z.object({ id: text() });

export const createBody = z
  .object({
    network: z.enum(NETWORKS),
    paymentSourceType: z.enum(PAYMENT_SOURCE_TYPES).default("Web3ChainV1"),
    smartContractAddress: text().optional().openapi({
      description:
        "The contract to follow, with its policyId. Both left out: they are derived from AdminWallets, requiredAdminSignatures, cooldownTime and on Web3ChainV1 the fee.",
    }),
    policyId: z
      .string()
      .regex(/^[0-9a-fA-F]{56}$/, "must be 56 hex digits")
      .transform((hex) => hex.toLowerCase())
      .optional()
      .openapi({ type: "string", pattern: "^[0-9a-fA-F]{56}$" }),
    PaymentSourceConfig: config,
    AdminWallets: z.array(address).min(1).max(50),
    feeRatePermille: z.int().min(0).max(1000),
    FeeReceiverNetworkWallet: address.nullable().default(null),
    requiredAdminSignatures: z.int().min(1).max(50).nullable().default(null),
    cooldownTime: z
      .int()
      .min(0)
      .max(30 * 24 * 60 * MINUTE_MS)
      .default(7 * MINUTE_MS)
      .openapi({ description: "Milliseconds." }),
    lastIdentifierChecked: text().nullable().default(null).openapi({
      description:
        "Hash of the contract's transaction to begin after; null: its first transaction is read.",
    }),
    PurchasingWallets: z.array(newWallet).max(50).default([]),
    SellingWallets: z.array(newWallet).max(50).default([]),
  })
  .refine(
    ({ requiredAdminSignatures, AdminWallets }) =>
      (requiredAdminSignatures ?? 0) <= AdminWallets.length,
    {
      path: ["requiredAdminSignatures"],
      error: "must be at most the number of AdminWallets",
    },
  )
  .superRefine((body, problems) => {
    for (const { field, problem } of contractProblems(body))
      problems.addIssue({ code: "custom", path: [field], message: problem });
  });

export type CreateBody = z.output<typeof createBody>;

export const updateBody = z.object({
  id: text(),
  lastIdentifierChecked: text().nullable().optional().openapi({
    description: "Sync goes on after this transaction of the contract; null: from the start.",
  }),
  PaymentSourceConfig: config.optional(),
  AddPurchasingWallets: z.array(newWallet).min(1).max(10).optional(),
  AddSellingWallets: z.array(newWallet).min(1).max(10).optional(),
  RemovePurchasingWallets: z.array(walletId).max(10).optional(),
  RemoveSellingWallets: z.array(walletId).max(10).optional(),
});

export type UpdateBody = z.output<typeof updateBody>;

export const deleteBody = z.object({ id: text() });

export const walletEntry = z
  .object({
    id: z.string(),
    walletVkey: z.string(),
    walletAddress: z.string(),
    note: z.string(),
    collectionAddress: z.string().nullable(),
  })
  .openapi("ManagedWallet");

export const timestamp = z.string().openapi({ format: "date-time" });

/** A source as everybody with a key sees it. */
export const publicSourceRecord = z
  .object({
    id: z.string(),
    createdAt: timestamp,
    updatedAt: timestamp,
    lastCheckedAt: timestamp.nullable(),
    network: z.enum(NETWORKS),
    paymentType: z.enum(PAYMENT_SOURCE_TYPES),
    paymentSourceType: z.enum(PAYMENT_SOURCE_TYPES),
    syncInProgress: z.boolean(),
    smartContractAddress: z.string(),
    policyId: z.string(),
    AdminWallets: z.array(z.object({ walletAddress: z.string(), order: z.int() })),
    feeRatePermille: z.int(),
    FeeReceiverNetworkWallet: z.object({ walletAddress: z.string() }).nullable(),
    requiredAdminSignatures: z.int().nullable(),
    cooldownTime: z.int(),
    lastIdentifierChecked: z.string().nullable(),
    PurchasingWallets: z.array(walletEntry),
    SellingWallets: z.array(walletEntry),
  })
  .openapi("PublicPaymentSource");

export type PublicSourceRecord = z.infer<typeof publicSourceRecord>;

/** A source as an Admin sees it. */
export const paymentSourceRecord = publicSourceRecord
  .extend({
    error: z.string().nullable().openapi({ description: "Why the last sync did not complete." }),
    PaymentSourceConfig: z.object({
      rpcProviderApiKey: z
        .string()
        .openapi({ description: "Empty when the key it was sealed with is lost." }),
      rpcProvider: z.enum(["Blockfrost"]),
    }),
  })
  .openapi("PaymentSource");

export type PaymentSourceRecord = z.infer<typeof paymentSourceRecord>;
