import * as z from "zod";
import { network, paymentSourceType, paymentType } from "../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_CONTRACT_ADDRESS,
  EXAMPLE_TX_HASH,
  EXAMPLE_WALLET_ADDRESS,
  hexField,
  idField,
  named,
  nullableTextField,
  nullableTimestampField,
  textField,
  timestampField,
  walletAddressField,
} from "../http/openapi/fields.ts";
import {
  automationMode,
  autoWithdrawPayments,
  autoWithdrawRefunds,
  providerListFields,
} from "../sources/schemas.ts";
import { walletEntry } from "../wallets/managed/schemas.ts";
import { configText, EXAMPLE_POLICY_ID, rpcProvider } from "./schemas.ts";

const adminWallet = named(
  "AdminWallet",
  "An administrator of a contract.",
  z.object({
    walletAddress: walletAddressField("the administrator"),
    order: described(z.int().min(0), "Position among the administrators, from 0.", 0),
  }),
);

const publicFields = {
  id: idField("the payment source", "01m80ydypnk4jnwav628wda9nd"),
  createdAt: timestampField("Time of creation."),
  updatedAt: timestampField("When the settings last changed."),
  lastCheckedAt: nullableTimestampField("Time of the last sync. Null: none yet."),
  network,
  paymentType,
  paymentSourceType,
  syncInProgress: described(z.boolean(), "Whether the sync still reads history.", false),
  smartContractAddress: textField("Address of the contract, in bech32.", EXAMPLE_CONTRACT_ADDRESS),
  policyId: hexField(56, "Policy of the agents' tokens.", EXAMPLE_POLICY_ID),
  AdminWallets: described(z.array(adminWallet), "The contract's administrators, in their order."),
  feeRatePermille: described(
    z.int().min(0),
    "Fee of the contract, in thousandths of each locked amount.",
    50,
  ),
  FeeReceiverNetworkWallet: described(
    z.object({
      walletAddress: textField(
        "Address of the recipient, in bech32. Empty: no fee.",
        EXAMPLE_WALLET_ADDRESS,
      ),
    }),
    "Recipient of the fee.",
  ),
  requiredAdminSignatures: described(
    z.int().min(0).nullable(),
    "Number of administrators who must sign a settlement. Null: unknown.",
    2,
  ),
  cooldownTime: described(
    z.int().min(0),
    "Milliseconds that a side must wait between two steps.",
    420_000,
  ),
  drives: automationMode,
  autoWithdrawPayments,
  autoWithdrawRefunds,
  lastIdentifierChecked: textField(
    "Hash of the last synced transaction. Empty: none yet.",
    EXAMPLE_TX_HASH,
  ),
  PurchasingWallets: described(z.array(walletEntry), "Wallets that lock funds for purchases."),
  SellingWallets: described(z.array(walletEntry), "Wallets that receive payments."),
  FundingWallets: described(z.array(walletEntry), "Wallets that top up the others."),
};

/** A source as every key sees it. */
export const publicSourceRecord = named(
  "PublicPaymentSource",
  "A payment source, without the fields for Admins.",
  z.object(publicFields),
);

export type PublicSourceRecord = z.infer<typeof publicSourceRecord>;

/** A source as an Admin sees it. */
export const paymentSourceRecord = named(
  "PaymentSource",
  "An escrow contract that the service syncs, with its wallets.",
  z.object({
    ...publicFields,
    error: nullableTextField(
      "Why the last sync failed. Null: it succeeded.",
      "The chain provider failed",
    ),
    PaymentSourceConfig: described(
      named(
        "PaymentSourceConfig",
        "The chain provider of a payment source.",
        z.object({
          rpcProviderApiKey: textField(
            "Key of the chain provider. Empty: the key that encrypted it is lost.",
            "preprod4f7Qm2Xc9LrTbV1yHnK8sWzD3gPjE6uA",
          ),
          rpcProvider,
        }),
      ),
      configText,
    ),
    ...providerListFields,
  }),
);

export type PaymentSourceRecord = z.infer<typeof paymentSourceRecord>;
