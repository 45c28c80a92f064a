import { z } from "@hono/zod-openapi";
import { NETWORKS } from "../chain/network.ts";
import { page, text } from "../http/parameters.ts";
import { timestamp, walletEntry } from "./schemas.ts";

const ROLES = ["Purchasing", "Selling"] as const;

const funds = z.object({ unit: z.string(), amount: z.string() });

export const listQuery = z.object({
  ...page,
  paymentSourceId: text().optional(),
  walletType: z.enum(ROLES).optional(),
  walletVkey: text().optional(),
  walletAddress: text().optional(),
});

export type ListQuery = z.output<typeof listQuery>;

/** A wallet with what belongs to it beside the entry in its source. */
export const walletRecord = walletEntry
  .extend({
    type: z.enum(ROLES),
    network: z.enum(NETWORKS),
    paymentSourceId: z.string(),
    createdAt: timestamp,
  })
  .openapi("Wallet");

export type WalletRecord = z.infer<typeof walletRecord>;

export const walletWithBalance = walletRecord
  .extend({
    Balance: z.array(funds).nullable().openapi({
      description:
        "What lies at the address now; null when no answer of the provider came in time.",
    }),
  })
  .openapi("WalletWithBalance");

export const newWalletBody = z.object({ network: z.enum(NETWORKS) });

export const freshWallet = z
  .object({
    walletMnemonic: z.string().openapi({ description: "24 words, shown here and stored nowhere." }),
    walletAddress: z.string(),
    walletVkey: z.string(),
  })
  .openapi("FreshWallet");

export const changeBody = z.object({
  id: text(),
  collectionAddress: text().nullable().optional().openapi({
    description: "Where refunds or revenue are sent; null: to the wallet itself.",
  }),
  note: text(250, 0).optional(),
});

export type ChangeBody = z.output<typeof changeBody>;

const unit = z
  .string()
  .regex(
    /^([0-9a-f]{56}([0-9a-f]{2}){0,32})?$/,
    "must be empty, or policy id and asset name in hex",
  );
const amount = z.string().regex(/^\d{1,20}$/, "must be a whole number of minor units as text");

export const ruleListQuery = z.object({ ...page, walletId: text().optional() });

export const newRuleBody = z.object({
  walletId: text(),
  unit: unit.default("").openapi({ description: "Empty: the native coin." }),
  thresholdAmount: amount.openapi({ description: "Minor units; less than this is low." }),
  enabled: z.boolean().default(true),
});

export type NewRuleBody = z.output<typeof newRuleBody>;

export const ruleChangeBody = z.object({
  id: text(),
  thresholdAmount: amount.optional(),
  enabled: z.boolean().optional(),
});

export type RuleChangeBody = z.output<typeof ruleChangeBody>;

export const ruleRecord = z
  .object({
    id: z.string(),
    walletId: z.string(),
    unit: z.string(),
    thresholdAmount: z.string(),
    enabled: z.boolean(),
    status: z.enum(["Unknown", "Healthy", "Low"]).openapi({
      description: "`Unknown` until the first check after the rule was created or changed.",
    }),
    balance: z.string().nullable().openapi({ description: "Minor units at the last check." }),
    checkedAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .openapi("LowBalanceRule");

export type RuleRecord = z.infer<typeof ruleRecord>;
