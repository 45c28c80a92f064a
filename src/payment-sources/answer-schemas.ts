import * as z from "zod";
import {
  answerText,
  CONTRACT_ADDRESS,
  described,
  hexText,
  named,
  recordId,
  TX_HASH,
  timestamp,
  WALLET_ADDRESS,
  walletAddress,
} from "../http/openapi/fields.ts";
import { network, paymentSourceType, paymentType } from "../http/openapi/ledger.ts";
import { autoWithdrawPayments, autoWithdrawRefunds, drives } from "../sources/schemas.ts";
import { walletEntry } from "../wallets/managed/schemas.ts";
import { configText, POLICY_ID, rpcProvider } from "./schemas.ts";

const adminWallet = named(
  "AdminWallet",
  "An administrator of a contract.",
  z.object({
    walletAddress: walletAddress("the administrator"),
    order: described(z.int().min(0), "Its place among them, from 0.", 0),
  }),
);

const publicFields = {
  id: recordId("the payment source", "01m80ydypnk4jnwav628wda9nd"),
  createdAt: timestamp("When it was made."),
  updatedAt: timestamp("When its settings were last changed."),
  lastCheckedAt: described(
    timestamp("").nullable(),
    "When the chain was last read for it; null before the first time.",
    "2026-11-22T06:17:26.922Z",
  ),
  network,
  paymentType,
  paymentSourceType,
  syncInProgress: described(z.boolean(), "Whether history is still being read.", false),
  smartContractAddress: answerText("Address of the contract, in bech32.", CONTRACT_ADDRESS),
  policyId: hexText(56, "Policy of the tokens of the contract's agents.", POLICY_ID),
  AdminWallets: described(z.array(adminWallet), "The contract's administrators, in their order."),
  feeRatePermille: described(
    z.int().min(0),
    "Fee of the contract, in thousandths of the price.",
    50,
  ),
  FeeReceiverNetworkWallet: described(
    z.object({
      walletAddress: answerText(
        "Address of the receiver, in bech32; empty where the contract takes no fee.",
        WALLET_ADDRESS,
      ),
    }),
    "Who gets the fee.",
  ),
  requiredAdminSignatures: described(
    z.int().min(0).nullable(),
    "Administrators who must sign to settle a dispute; null where it is not known.",
    2,
  ),
  cooldownTime: described(
    z.int().min(0),
    "Milliseconds that a side waits between two of its steps.",
    420_000,
  ),
  drives,
  autoWithdrawPayments,
  autoWithdrawRefunds,
  lastIdentifierChecked: answerText(
    "Hash of the last transaction that was read; empty before the first.",
    TX_HASH,
  ),
  PurchasingWallets: described(z.array(walletEntry), "Wallets that lock funds for purchases."),
  SellingWallets: described(z.array(walletEntry), "Wallets that are paid."),
  FundingWallets: described(z.array(walletEntry), "Wallets that fill up the others."),
};

/** A source as every key sees it. */
export const publicSourceRecord = named(
  "PublicPaymentSource",
  "A payment source, without what only an Admin sees.",
  z.object(publicFields),
);

export type PublicSourceRecord = z.infer<typeof publicSourceRecord>;

/** A source as an Admin sees it. */
export const paymentSourceRecord = named(
  "PaymentSource",
  "An escrow contract that is followed, with the wallets that act in it.",
  z.object({
    ...publicFields,
    error: described(
      z.string().nullable(),
      "Why the last sync did not complete; null when it did.",
      "The chain provider failed",
    ),
    PaymentSourceConfig: described(
      named(
        "PaymentSourceConfig",
        "The chain provider of a payment source.",
        z.object({
          rpcProviderApiKey: answerText(
            "Key of the chain provider; empty when the key it was sealed with is lost.",
            "preprod4f7Qm2Xc9LrTbV1yHnK8sWzD3gPjE6uA",
          ),
          rpcProvider,
        }),
      ),
      configText,
    ),
  }),
);

export type PaymentSourceRecord = z.infer<typeof paymentSourceRecord>;
