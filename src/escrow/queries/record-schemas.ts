/** Payments and purchases, as both sides see them. */
import * as z from "zod";
import {
  answerText,
  CONTRACT_ADDRESS,
  described,
  hexText,
  minorUnits,
  named,
  recordId,
  TX_HASH,
  timestamp,
  walletAddress,
  walletVkey,
} from "../../http/openapi/fields.ts";
import {
  blockFields,
  funds,
  network,
  onChainState,
  paymentSourceType,
} from "../../http/openapi/ledger.ts";
import { TRANSACTION_STATUSES } from "../model/transaction-record.ts";
import { AGENT, IDENTIFIER, next, paymentAction, purchaseAction } from "./next-schemas.ts";

const HASH = "c96c6d5be8d08a12e7b5cdc1b207fa6b2430974c86803d8891675e76fd992c20";

/** A time of an escrow: decimal text of Unix milliseconds. */
function escrowTime(what: string, example: string) {
  return described(z.string().regex(/^\d+$/).nullable(), `${what}, in Unix milliseconds.`, example);
}

/** 32 bytes in hex, or nothing yet. */
function hash(what: string) {
  return described(
    z.string().regex(/^([0-9a-f]{2})*$/),
    `${what}, in hex; empty when there is none.`,
    HASH,
  );
}

const transaction = named(
  "Transaction",
  "A transaction of the chain that moved a record.",
  z.object({
    id: recordId("this entry", "01m80ye14a00rx03e40b26dfrc"),
    createdAt: timestamp("When it was found."),
    updatedAt: timestamp("When this entry was last changed."),
    txHash: hexText(64, "Hash of the transaction.", TX_HASH),
    status: described(
      named(
        "TransactionStatus",
        "What became of a transaction. `RolledBack`: the chain dropped it.",
        z.enum(TRANSACTION_STATUSES),
      ),
      "What became of it.",
      "Confirmed",
    ),
    fees: described(
      minorUnits("").nullable(),
      "Fee in minor units of the native coin; null before it is in a block.",
      "214943",
    ),
    previousOnChainState: described(
      onChainState.nullable(),
      "State before it; null of the transaction that locked the funds.",
    ),
    newOnChainState: described(onChainState.nullable(), "State after it."),
    ...blockFields,
  }),
);

const counterparty = named(
  "Counterparty",
  "The other side of an escrow.",
  z.object({
    id: recordId("the wallet", "v628wda9ndec27d0f26c6ffc649cb0b2c66fe1fb"),
    walletVkey: walletVkey(
      "the wallet",
      "ec27d0f26c6ffc649cb0b2c66fe1fb03ce5ff3203c950e2a83680386",
    ),
  }),
);

export const pricingType = described(
  named("PricingType", "How an agent is paid.", z.enum(["Fixed", "Free", "Dynamic"])),
  "How the agent is paid.",
  "Fixed",
);

export const recordPaymentSource = named(
  "RecordPaymentSource",
  "The payment source that a record belongs to.",
  z.object({
    id: recordId("the payment source", "01m80ydypnk4jnwav628wda9nd"),
    network,
    paymentSourceType,
    smartContractAddress: answerText("Address of the contract, in bech32.", CONTRACT_ADDRESS),
    policyId: hexText(56, "Policy of its agents' tokens.", AGENT.slice(0, 56)),
  }),
);

const common = {
  id: recordId("the record"),
  createdAt: timestamp("When the record was made."),
  updatedAt: timestamp("When the record was last changed."),
  blockchainIdentifier: answerText(
    "Names the escrow on the chain: both sides' identifiers and the seller's signature, compressed.",
    IDENTIFIER,
  ),
  agentIdentifier: answerText("Policy id and asset name of the agent, in hex.", AGENT),
  agentName: described(
    z.string().nullable(),
    "The agent's name as its token said when the record was requested; null: not read.",
    "Translator",
  ),
  pricingType,
  lastCheckedAt: described(
    timestamp("").nullable(),
    "When the sync last applied something to the record.",
    "2026-11-22T06:17:26.922Z",
  ),
  payByTime: escrowTime("Until when funds may be locked", "1795330045147"),
  submitResultTime: escrowTime("Until when the seller must submit the result", "1795331845147"),
  unlockTime: escrowTime("From when the seller may withdraw", "1795353445147"),
  externalDisputeUnlockTime: escrowTime("From when a dispute may be settled", "1795375045147"),
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
  nextActionOrOnChainStateOrResultLastChangedAt: timestamp(
    "Stamp of the last change of the next action, the on-chain state or the result hash.",
  ),
  nextActionLastChangedAt: timestamp("Stamp of the last change of the next action."),
  onChainStateOrResultLastChangedAt: timestamp(
    "Stamp of the last change of the on-chain state or the result hash.",
  ),
  requestedById: recordId("the API key that the record belongs to", "env-admin"),
  onChainState: described(
    onChainState.nullable(),
    "State of the escrow on the chain; null while nothing is locked.",
  ),
  collateralReturnMinorUnit: described(
    minorUnits("").nullable(),
    "Native coin that the buyer locked besides the price and gets back, in minor units.",
    "0",
  ),
  buyerReturnAddress: described(
    walletAddress("").nullable(),
    "Where a refund goes, in bech32; null: to the buyer's wallet.",
  ),
  sellerReturnAddress: described(
    walletAddress("").nullable(),
    "Where revenue goes, in bech32; null: to the seller's wallet.",
  ),
  cooldownTime: described(z.number(), "Unix milliseconds before which this side may not act.", 0),
  cooldownTimeOtherParty: described(
    z.number(),
    "Unix milliseconds before which the other side may not act.",
    0,
  ),
  inputHash: hash("Hash of the job's input"),
  resultHash: hash("Hash of the job's result"),
  Next: described(next, "What this service does for it next, when, and what it waits for."),
  expiredAt: described(
    timestamp("").nullable(),
    "When it was found that the funds can no longer be locked, or when the purchase was cancelled; null: neither.",
    "2026-11-22T06:17:26.922Z",
  ),
  CurrentTransaction: described(transaction.nullable(), "The newest transaction; null before one."),
  TransactionHistory: described(
    z.array(transaction),
    "Earlier transactions, newest first; empty unless `includeHistory` is true.",
  ),
  historyTruncated: described(
    z.boolean().optional(),
    "True where a history has older entries: the newest 1,000 are shown. Else it is left out.",
    true,
  ),
  WithdrawnForSeller: described(
    funds,
    "What a settled dispute paid to the seller or its return address; else empty.",
  ),
  WithdrawnForBuyer: described(
    funds,
    "What a settled dispute paid to the buyer or its return address; else empty.",
  ),
  Settled: described(
    named(
      "Settled",
      "What each side of an escrow really received when it ended, return addresses included.",
      z.object({
        seller: described(funds, "What the seller received: the contract's fee is taken off."),
        buyer: described(funds, "What the buyer received, the collateral included."),
      }),
    ).nullable(),
    "Who received what; null while the escrow is open, and for escrows that ended before this was recorded.",
  ),
  PaymentSource: described(recordPaymentSource, "The payment source of the record."),
  SmartContractWallet: described(
    named(
      "RecordWallet",
      "The wallet of this service that a record belongs to.",
      counterparty.extend({ walletAddress: walletAddress("the wallet") }),
    ).nullable(),
    "The wallet of this service that acts in the escrow.",
  ),
  forceLayer: described(
    z.null(),
    "Always null: escrows are on the chain itself. Clients of other services look for it.",
    null,
  ),
  metadata: described(
    z.string().nullable(),
    "What the caller noted, for its key and Admins; null to others, or when nothing.",
    "order 7",
  ),
};

export const paymentRecord = named(
  "Payment",
  "An escrow as its seller's side sees it.",
  z.object({
    ...common,
    NextAction: described(
      named(
        "PaymentNextAction",
        "What is done next for a payment.",
        z.object({
          ...paymentAction,
          resultHash: described(
            hexText(64, "", HASH).nullable(),
            "Hash of the result that is being submitted; null when none is.",
          ),
        }),
      ),
      "What is done next.",
    ),
    RequestedFunds: described(funds, "The price."),
    BuyerWallet: described(counterparty.nullable(), "The buyer; null while nothing is locked."),
    sellerVKey: walletVkey("the seller"),
  }),
);

export const purchaseRecord = named(
  "Purchase",
  "An escrow as its buyer's side sees it.",
  z.object({
    ...common,
    NextAction: described(
      named("PurchaseNextAction", "What is done next for a purchase.", z.object(purchaseAction)),
      "What is done next.",
    ),
    ActionHistory: described(
      z.array(
        named(
          "PurchaseActionEntry",
          "An action that a purchase had.",
          z.object({
            ...purchaseAction,
            id: recordId("this entry", "01m80ye14a00s6tygd962r5qe6"),
            createdAt: timestamp("When the purchase came to have it."),
            updatedAt: timestamp("When this entry was last changed."),
          }),
        ),
      ),
      "Earlier actions, newest first; empty unless `includeHistory` is true.",
    ),
    PaidFunds: described(funds, "The price."),
    SellerWallet: described(counterparty, "The seller."),
  }),
);
