import * as z from "zod";
import {
  actingWallet,
  bech32AddressParameter,
  funds,
  network,
} from "../../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_AGENT_IDENTIFIER,
  EXAMPLE_CONTRACT_ADDRESS,
  EXAMPLE_TX_HASH,
  EXAMPLE_WALLET_ADDRESS,
  idField,
  minorUnitsField,
  named,
  textField,
} from "../../http/openapi/fields.ts";
import { hexParameter, requestBlockchainIdentifier } from "../queries/next-step-schemas.ts";
import { pricingType, purchaseRecord, recordPaymentSource } from "../queries/record-schemas.ts";
import { requestedFunds, sharedTerms, warningsField } from "../terms/schemas.ts";

/** A time as the seller has signed it. */
function signedTimeParameter(what: string, example: string) {
  return described(
    z
      .string()
      .regex(/^[1-9]\d{0,14}$/, "must be Unix milliseconds as decimal text, without leading zeros"),
    `${what}, in Unix milliseconds, from the quote.`,
    example,
  );
}

export const purchaseBody = z.object({
  ...sharedTerms,
  blockchainIdentifier: requestBlockchainIdentifier,
  sellerVkey: described(
    hexParameter(28),
    "Payment key hash of the seller, in hex.",
    EXAMPLE_TX_HASH.slice(0, 56),
  ),
  payByTime: signedTimeParameter("Latest time to lock the funds", "1795330045147"),
  submitResultTime: signedTimeParameter("Latest time to submit the result", "1795331845147"),
  unlockTime: signedTimeParameter("Earliest time for the seller to withdraw", "1795353445147"),
  externalDisputeUnlockTime: signedTimeParameter(
    "Earliest time to settle a dispute",
    "1795375045147",
  ),
  Amounts: described(
    requestedFunds.nullable().default(null),
    "The price. Dynamic: the quote's `RequestedFunds`, in their order. Fixed: optional, and must equal the agent's price.",
  ),
  smartContractAddress: described(
    z.string().max(250).default(""),
    "Address of the contract. On Web3ChainV2, it must be the contract in `blockchainIdentifier`.",
    EXAMPLE_CONTRACT_ADDRESS,
  ),
  buyerReturnAddress: described(
    bech32AddressParameter().nullable().default(null),
    "Address that receives a refund: a purchasing wallet's own, its `collectionAddress` or one of the key's `returnAddresses`; any address for Admins. Omitted: the `collectionAddress` of the wallet that pays. On Web3ChainV2, it must differ from the address that pays the seller.",
    EXAMPLE_WALLET_ADDRESS,
  ),
  sellerReturnAddress: described(
    bech32AddressParameter().nullable().default(null),
    "`sellerReturnAddress` of the quote. On Web3ChainV2, the seller signed it.",
    EXAMPLE_WALLET_ADDRESS,
  ),
  paymentForceLayer: described(
    z.null("must be null: escrows are on the chain itself").default(null),
    "Always null, for clients of other services.",
    null,
  ),
});
export type PurchaseBody = z.output<typeof purchaseBody>;

export const newPurchaseRecord = named(
  "NewPurchase",
  "A newly requested purchase.",
  purchaseRecord.extend({ Warnings: warningsField }),
);

export type PurchaseResponse = z.input<typeof newPurchaseRecord>;

const purchaseCost = named(
  "PurchaseCost",
  "Locked funds and costs of a purchase, without network fees.",
  z.object({
    Locked: described(funds, "Funds that a wallet locks: the price, and the minimum of an output."),
    collateralReturnMinorUnit: minorUnitsField(
      "Native coin in `Locked` that returns to the buyer at the end, in minor units.",
      "4253970",
    ),
    usageCredits: described(z.int(), "Credits that `POST /purchase` costs a limited key.", 1),
  }),
);
export type PurchaseCostResponse = z.input<typeof purchaseCost>;

export const verifiedQuote = named(
  "VerifiedQuote",
  "A quote that passed every check of a purchase.",
  z.object({
    agentIdentifier: textField(
      "Policy id and asset name of the agent, in hex.",
      EXAMPLE_AGENT_IDENTIFIER,
    ),
    agentName: textField("Name of the agent in its token.", "Translator"),
    pricingType,
    PaidFunds: described(funds, "The price."),
    SellerWallet: described(
      actingWallet,
      "Wallet that holds the agent's token and receives its payments.",
    ),
    PaymentSource: described(recordPaymentSource, "Payment source of the purchase."),
    Cost: described(purchaseCost, "Cost of the purchase."),
    Warnings: warningsField,
  }),
);
export type VerifiedQuoteResponse = z.input<typeof verifiedQuote>;

export const cancellationBody = z.object({
  network,
  blockchainIdentifier: requestBlockchainIdentifier,
});
export type CancellationBody = z.output<typeof cancellationBody>;
export const cancelledPurchase = purchaseRecord;

/** What the 409 of POST /purchase has beside the error. */
export const PURCHASE_EXISTS_ERROR = {
  name: "PurchaseExistsError",
  members: {
    id: idField("the purchase"),
    object: described(purchaseRecord.optional(), "The purchase. Only for its owner and Admins."),
  },
};
