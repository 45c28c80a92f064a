/** Payments and purchases, as both sides see them. */
import * as z from "zod";
import {
  blockFields,
  funds,
  network,
  onChainState,
  paymentSourceType,
} from "../../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_CONTRACT_ADDRESS,
  EXAMPLE_TX_HASH,
  EXAMPLE_WALLET_ADDRESS,
  hexField,
  idField,
  minorUnitsField,
  named,
  nullableTimestampField,
  textField,
  timestampField,
  walletAddressField,
  walletVkeyField,
} from "../../http/openapi/fields.ts";
import { TRANSACTION_STATUSES } from "../model/transaction-record.ts";
import {
  agentFields,
  EXAMPLE_BLOCKCHAIN_IDENTIFIER,
  EXAMPLE_ESCROW_AGENT_IDENTIFIER,
  nextStep,
  paymentAction,
  purchaseAction,
} from "./next-step-schemas.ts";

const EXAMPLE_HASH = "c96c6d5be8d08a12e7b5cdc1b207fa6b2430974c86803d8891675e76fd992c20";

/** A time of an escrow: decimal text of Unix milliseconds. */
function escrowTimeField(what: string, example: string) {
  return described(z.string().regex(/^\d+$/).nullable(), `${what}, in Unix milliseconds.`, example);
}

/** 32 bytes in hex, or nothing yet. */
function hashField(what: string) {
  return described(
    z.string().regex(/^([0-9a-f]{2})*$/),
    `${what}, in hex. Empty: none.`,
    EXAMPLE_HASH,
  );
}

const transaction = named(
  "Transaction",
  "A transaction on the chain that changed a record.",
  z.object({
    id: idField("this entry", "01m80ye14a00rx03e40b26dfrc"),
    createdAt: timestampField("Time of discovery."),
    updatedAt: timestampField("Time of the last change."),
    txHash: hexField(64, "Hash of the transaction.", EXAMPLE_TX_HASH),
    status: described(
      named(
        "TransactionStatus",
        "Status of a transaction. `RolledBack`: the chain dropped the transaction.",
        z.enum(TRANSACTION_STATUSES),
      ),
      "Status of the transaction.",
      "Confirmed",
    ),
    fees: described(
      minorUnitsField("").nullable(),
      "Fee in minor units of the native coin. Null: not in a block yet.",
      "214943",
    ),
    previousOnChainState: described(
      onChainState.nullable(),
      "State before the transaction. Null: the transaction locked the funds.",
    ),
    newOnChainState: described(onChainState.nullable(), "State after the transaction."),
    ...blockFields,
  }),
);

const counterparty = named(
  "Counterparty",
  "The other side of an escrow.",
  z.object({
    id: idField("the wallet", "v628wda9ndec27d0f26c6ffc649cb0b2c66fe1fb"),
    walletVkey: walletVkeyField(
      "the wallet",
      "ec27d0f26c6ffc649cb0b2c66fe1fb03ce5ff3203c950e2a83680386",
    ),
  }),
);

export const pricingType = described(
  named("PricingType", "A type of pricing.", z.enum(["Fixed", "Free", "Dynamic"])),
  "Type of the pricing.",
  "Fixed",
);

export const recordPaymentSource = named(
  "RecordPaymentSource",
  "The payment source that a record belongs to.",
  z.object({
    id: idField("the payment source", "01m80ydypnk4jnwav628wda9nd"),
    network,
    paymentSourceType,
    smartContractAddress: textField(
      "Address of the contract, in bech32.",
      EXAMPLE_CONTRACT_ADDRESS,
    ),
    policyId: hexField(
      56,
      "Policy of the agents' tokens.",
      EXAMPLE_ESCROW_AGENT_IDENTIFIER.slice(0, 56),
    ),
  }),
);

const commonFields = {
  id: idField("the record"),
  createdAt: timestampField("Time of creation."),
  updatedAt: timestampField("Time of the last change."),
  blockchainIdentifier: textField(
    "Identifier of the escrow on the chain: both sides' identifiers and the seller's signature, compressed.",
    EXAMPLE_BLOCKCHAIN_IDENTIFIER,
  ),
  ...agentFields,
  pricingType,
  lastCheckedAt: nullableTimestampField(
    "When the sync last changed the record.",
    "2026-11-22T06:17:26.922Z",
  ),
  payByTime: escrowTimeField("Latest time to lock the funds", "1795330045147"),
  submitResultTime: escrowTimeField("Latest time to submit the result", "1795331845147"),
  unlockTime: escrowTimeField("Earliest time for the seller to withdraw", "1795353445147"),
  externalDisputeUnlockTime: escrowTimeField("Earliest time to settle a dispute", "1795375045147"),
  totalBuyerChainFees: described(
    z.number(),
    "Fees that the buyer paid, in whole units of the native coin.",
    0.216697,
  ),
  totalSellerChainFees: described(
    z.number(),
    "Fees that the seller paid, in whole units of the native coin.",
    0.456286,
  ),
  nextActionOrOnChainStateOrResultLastChangedAt: timestampField(
    "Stamp of the last change of the next action, the on-chain state or the result hash.",
  ),
  nextActionLastChangedAt: timestampField("Stamp of the last change of the next action."),
  onChainStateOrResultLastChangedAt: timestampField(
    "Stamp of the last change of the on-chain state or the result hash.",
  ),
  requestedById: idField("the API key that owns the record", "env-admin"),
  onChainState: described(
    onChainState.nullable(),
    "State of the escrow on the chain. Null: not locked.",
  ),
  collateralReturnMinorUnit: described(
    minorUnitsField("").nullable(),
    "Native coin that the buyer locked besides the price and gets back, in minor units.",
    "0",
  ),
  buyerReturnAddress: described(
    textField("", EXAMPLE_WALLET_ADDRESS).nullable(),
    "Address that receives a refund, in bech32. Null: the buyer's wallet.",
  ),
  sellerReturnAddress: described(
    textField("", EXAMPLE_WALLET_ADDRESS).nullable(),
    "Address that receives revenue, in bech32. Null: the seller's wallet.",
  ),
  cooldownTime: described(z.number(), "Unix milliseconds before which this side may not act.", 0),
  cooldownTimeOtherParty: described(
    z.number(),
    "Unix milliseconds before which the other side may not act.",
    0,
  ),
  inputHash: hashField("Hash of the job's input"),
  resultHash: hashField("Hash of the job's result"),
  Next: described(
    nextStep,
    "Next step of this service for the record, with its times and what it waits for.",
  ),
  expiredAt: nullableTimestampField(
    "When the time to lock the funds was over, or the purchase was cancelled. Null: neither.",
    "2026-11-22T06:17:26.922Z",
  ),
  CurrentTransaction: described(transaction.nullable(), "Newest transaction. Null: none yet."),
  TransactionHistory: described(
    z.array(transaction),
    "Earlier transactions, newest first. Empty unless `includeHistory` is true.",
  ),
  historyTruncated: described(
    z.boolean().optional(),
    "True: a history has more entries than the newest 1,000, which are shown. Otherwise omitted.",
    true,
  ),
  WithdrawnForSeller: described(
    funds,
    "Funds that a settled dispute paid to the seller or its return address. Otherwise empty.",
  ),
  WithdrawnForBuyer: described(
    funds,
    "Funds that a settled dispute paid to the buyer or its return address. Otherwise empty.",
  ),
  Settled: described(
    named(
      "Settled",
      "Funds that each side of an ended escrow received, including at return addresses.",
      z.object({
        seller: described(funds, "What the seller received, after the contract's fee."),
        buyer: described(funds, "What the buyer received, including the collateral."),
        protocolFee: described(funds, "The contract's fee. Empty on Web3ChainV2."),
      }),
    ).nullable(),
    "Funds that each side received. Null: the escrow is open, or ended before the service recorded this.",
  ),
  PaymentSource: described(recordPaymentSource, "The payment source of the record."),
  SmartContractWallet: described(
    named(
      "RecordWallet",
      "The wallet of this service that a record belongs to.",
      counterparty.extend({ walletAddress: walletAddressField("the wallet") }),
    ).nullable(),
    "The wallet of this service that acts in the escrow.",
  ),
  forceLayer: described(z.null(), "Always null, for clients of other services.", null),
  metadata: described(
    z.string().nullable(),
    "Note of the caller. Null: none, or not visible to the API key.",
    "order 7",
  ),
};

export const paymentRecord = named(
  "Payment",
  "An escrow from the seller's side.",
  z.object({
    ...commonFields,
    NextAction: described(
      named(
        "PaymentNextAction",
        "Next action of a payment.",
        z.object({
          ...paymentAction,
          resultHash: described(
            hexField(64, "", EXAMPLE_HASH).nullable(),
            "Hash of the result that is being submitted. Null: none.",
          ),
        }),
      ),
      "Next action.",
    ),
    RequestedFunds: described(funds, "The price."),
    BuyerWallet: described(counterparty.nullable(), "The buyer. Null: not locked."),
    sellerVKey: walletVkeyField("the seller"),
  }),
);

export const purchaseRecord = named(
  "Purchase",
  "An escrow from the buyer's side.",
  z.object({
    ...commonFields,
    NextAction: described(
      named("PurchaseNextAction", "Next action of a purchase.", z.object(purchaseAction)),
      "Next action.",
    ),
    ActionHistory: described(
      z.array(
        named(
          "PurchaseActionEntry",
          "An action in a purchase's history.",
          z.object({
            ...purchaseAction,
            id: idField("this entry", "01m80ye14a00s6tygd962r5qe6"),
            createdAt: timestampField("When the action began."),
            updatedAt: timestampField("Time of the last change."),
          }),
        ),
      ),
      "Earlier actions, newest first. Empty unless `includeHistory` is true.",
    ),
    PaidFunds: described(funds, "The price."),
    SellerWallet: described(counterparty, "The seller."),
  }),
);
