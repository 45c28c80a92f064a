import { z } from "@hono/zod-openapi";
import { NETWORKS, ON_CHAIN_STATES, PAYMENT_SOURCE_TYPES } from "../chain/network.ts";
import { flag, limit, page, text, time } from "../http/parameters.ts";
import {
  PAYMENT_ACTIONS,
  PAYMENT_ERROR_TYPES,
  PURCHASE_ACTIONS,
  PURCHASE_ERROR_TYPES,
} from "./transitions.ts";

const timestamp = z.iso.datetime();
const numericText = z.string().regex(/^\d+$/).nullable();
const minorUnits = z.string().regex(/^-?\d+$/);
const funds = z.array(z.object({ amount: minorUnits, unit: z.string() }).openapi("Funds"));
const onChainState = z.enum(ON_CHAIN_STATES).nullable();

const transaction = z
  .object({
    id: z.string(),
    createdAt: timestamp,
    updatedAt: timestamp,
    txHash: z.string(),
    status: z.enum([
      "Pending",
      "Confirmed",
      "FailedViaTimeout",
      "FailedViaManualReset",
      "RolledBack",
    ]),
    fees: z.string().nullable(),
    blockHeight: z.int().nullable(),
    blockTime: z.int().nullable().openapi({ description: "Unix seconds." }),
    previousOnChainState: onChainState,
    newOnChainState: onChainState,
    confirmations: z.int().nullable(),
  })
  .openapi("Transaction");

function action(actions: readonly string[], errorTypes: readonly string[]) {
  return z.object({
    requestedAction: z.enum(actions),
    errorType: z.enum(errorTypes).nullable(),
    errorNote: z.string().nullable(),
  });
}

const counterparty = z.object({ id: z.string(), walletVkey: z.string() });

const common = z.object({
  id: z.string(),
  createdAt: timestamp,
  updatedAt: timestamp,
  blockchainIdentifier: z.string(),
  agentIdentifier: z.string(),
  pricingType: z.enum(["Fixed", "Free", "Dynamic"]),
  lastCheckedAt: timestamp.nullable(),
  payByTime: numericText,
  submitResultTime: numericText,
  unlockTime: numericText,
  externalDisputeUnlockTime: numericText,
  totalBuyerChainFees: z.number().openapi({ description: "Whole units of the native coin." }),
  totalSellerChainFees: z.number(),
  nextActionOrOnChainStateOrResultLastChangedAt: timestamp,
  nextActionLastChangedAt: timestamp,
  onChainStateOrResultLastChangedAt: timestamp,
  requestedById: z.string(),
  onChainState,
  collateralReturnMinorUnit: z.string().nullable(),
  buyerReturnAddress: z.string().nullable(),
  sellerReturnAddress: z.string().nullable(),
  cooldownTime: z.number(),
  cooldownTimeOtherParty: z.number(),
  inputHash: z.string(),
  resultHash: z.string(),
  CurrentTransaction: transaction.nullable(),
  TransactionHistory: z.array(transaction),
  WithdrawnForSeller: funds,
  WithdrawnForBuyer: funds,
  PaymentSource: z.object({
    id: z.string(),
    network: z.enum(NETWORKS),
    paymentSourceType: z.enum(PAYMENT_SOURCE_TYPES),
    smartContractAddress: z.string(),
    policyId: z.string(),
  }),
  SmartContractWallet: counterparty.extend({ walletAddress: z.string() }).nullable(),
  metadata: z.string().nullable(),
});

export const paymentRecord = common
  .extend({
    NextAction: action(PAYMENT_ACTIONS, PAYMENT_ERROR_TYPES).extend({
      resultHash: z.string().nullable(),
    }),
    RequestedFunds: funds,
    BuyerWallet: counterparty.nullable(),
  })
  .openapi("Payment");

export const purchaseRecord = common
  .extend({
    NextAction: action(PURCHASE_ACTIONS, PURCHASE_ERROR_TYPES),
    ActionHistory: z.array(
      action(PURCHASE_ACTIONS, PURCHASE_ERROR_TYPES).extend({
        id: z.string(),
        createdAt: timestamp,
        updatedAt: timestamp,
      }),
    ),
    PaidFunds: funds,
    SellerWallet: counterparty,
  })
  .openapi("Purchase");

const includeHistory = flag(false).openapi({
  description: "Whether to include the full transaction and status history.",
});

export const diffQuery = z.object({
  limit: limit(),
  cursorId: text()
    .optional()
    .openapi({ description: "Tie-breaker when lastUpdate equals a change timestamp." }),
  lastUpdate: time("1970-01-01T00:00:00.000Z"),
  network: z.enum(NETWORKS),
  filterSmartContractAddress: text().optional(),
  filterPaymentSourceType: z.enum(PAYMENT_SOURCE_TYPES).optional(),
  includeHistory,
});

export const listQuery = z.object({
  ...page,
  network: z.enum(NETWORKS),
  id: text().optional(),
  blockchainIdentifier: text(8000).optional(),
  filterOnChainState: z.enum(ON_CHAIN_STATES).optional(),
  filterSmartContractAddress: text().optional(),
  filterPaymentSourceType: z.enum(PAYMENT_SOURCE_TYPES).optional(),
  includeHistory,
});
