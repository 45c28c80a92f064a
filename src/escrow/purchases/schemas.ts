import * as z from "zod";
import {
  AGENT_IDENTIFIER,
  answerText,
  CONTRACT_ADDRESS,
  described,
  minorUnits,
  named,
  recordId,
  TX_HASH,
  WALLET_ADDRESS,
} from "../../http/openapi/fields.ts";
import { bech32Address, funds, network, ownWallet } from "../../http/openapi/ledger.ts";
import { givenIdentifier } from "../queries/next-schemas.ts";
import { pricingType, purchaseRecord, recordPaymentSource } from "../queries/record-schemas.ts";
import { requestedFunds, sharedTerms, warnings } from "../terms/schemas.ts";

/** A time as the seller has signed it. */
function signedTime(what: string, example: string) {
  return described(
    z
      .string()
      .regex(/^[1-9]\d{0,14}$/, "must be Unix milliseconds as decimal text, without leading zeros"),
    `${what}, in Unix milliseconds, as the quote has it.`,
    example,
  );
}

export const purchaseBody = z.object({
  ...sharedTerms,
  blockchainIdentifier: givenIdentifier,
  sellerVkey: described(
    z
      .string()
      .regex(/^[0-9a-fA-F]{56}$/, "must be hex of 28 bytes")
      .transform((hex) => hex.toLowerCase()),
    "Payment key hash of the seller, in hex.",
    TX_HASH.slice(0, 56),
  ),
  payByTime: signedTime("Until when the funds are locked", "1795330045147"),
  submitResultTime: signedTime("Until when the result is submitted", "1795331845147"),
  unlockTime: signedTime("From when the seller may withdraw", "1795353445147"),
  externalDisputeUnlockTime: signedTime("From when a dispute may be settled", "1795375045147"),
  Amounts: described(
    requestedFunds.nullable().default(null),
    "The price: where the agent's is dynamic, the quote's `RequestedFunds` in their order. Where it is fixed, it may be left out, and is compared with the agent's.",
  ),
  smartContractAddress: described(
    z.string().max(250).default(""),
    "The contract, which `blockchainIdentifier` names on Web3ChainV2; compared with it when it is sent.",
    CONTRACT_ADDRESS,
  ),
  buyerReturnAddress: described(
    bech32Address().nullable().default(null),
    "Where a refund goes: the address of a purchasing wallet or its `collectionAddress`, unless an Admin asks. Left out: the `collectionAddress` of the wallet that pays. On Web3ChainV2 never the address that the seller is paid at.",
    WALLET_ADDRESS,
  ),
  sellerReturnAddress: described(
    bech32Address().nullable().default(null),
    "The quote's: on Web3ChainV2 the seller has signed it.",
    WALLET_ADDRESS,
  ),
  paymentForceLayer: described(
    z.null("must be null: escrows are on the chain itself").default(null),
    "Always null: escrows are on the chain itself. Clients of other services send it.",
    null,
  ),
});
export type PurchaseBody = z.output<typeof purchaseBody>;

export const newPurchaseRecord = named(
  "NewPurchase",
  "A purchase that was just requested.",
  purchaseRecord.extend({ Warnings: warnings }),
);

export type PurchaseResponse = z.input<typeof newPurchaseRecord>;

const cost = named(
  "PurchaseCost",
  "What a purchase binds and costs, before network fees.",
  z.object({
    Locked: described(funds, "What a wallet locks: the price, and what an output needs to exist."),
    collateralReturnMinorUnit: minorUnits(
      "Native coin of that, in minor units, which comes back to the buyer in the end.",
      "4253970",
    ),
    usageCredits: described(z.int(), "Credits that `POST /purchase` takes of a limited key.", 1),
  }),
);
export type CostResponse = z.input<typeof cost>;

export const verifiedQuote = named(
  "VerifiedQuote",
  "A quote that passed every check of a purchase.",
  z.object({
    agentIdentifier: answerText("Policy id and asset name of the agent, in hex.", AGENT_IDENTIFIER),
    agentName: answerText("The agent's name as its token says.", "Translator"),
    pricingType,
    PaidFunds: described(funds, "The price."),
    SellerWallet: described(ownWallet, "The wallet that holds the agent's token, and is paid."),
    PaymentSource: described(recordPaymentSource, "Where the funds would be locked."),
    Cost: described(cost, "What the purchase would cost."),
    Warnings: warnings,
  }),
);
export type VerifiedQuoteResponse = z.input<typeof verifiedQuote>;

export const cancelBody = z.object({ network, blockchainIdentifier: givenIdentifier });
export type CancelBody = z.output<typeof cancelBody>;
export const cancelledPurchase = purchaseRecord;

/** What the 409 of POST /purchase has beside the error. */
export const PURCHASE_EXISTS = {
  name: "PurchaseExistsError",
  members: {
    id: recordId("the purchase"),
    object: described(
      purchaseRecord.optional(),
      "The purchase; left out for others than its owner and Admins.",
    ),
  },
};
