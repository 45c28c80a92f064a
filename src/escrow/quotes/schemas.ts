import * as z from "zod";
import {
  answerText,
  described,
  minorUnits,
  named,
  WALLET_ADDRESS,
} from "../../http/openapi/fields.ts";
import { bech32Address, funds, network, unit } from "../../http/openapi/ledger.ts";
import { time } from "../../http/openapi/parameters.ts";
import { givenIdentifier } from "../queries/next-schemas.ts";
import { paymentRecord } from "../queries/record-schemas.ts";
import { requestedFunds, sharedTerms, warnings } from "../terms/schemas.ts";

export const quoteBody = z.object({
  ...sharedTerms,
  payByTime: described(
    time(),
    "Until when the buyer may lock the funds: at least 2 minutes ahead, and 5 minutes before `submitResultTime`.",
    "2026-11-22T07:00:00.000Z",
  ),
  submitResultTime: described(
    time(),
    "Until when the result is submitted: at least 15 minutes ahead, and 15 minutes before `unlockTime`.",
    "2026-11-22T08:00:00.000Z",
  ),
  unlockTime: described(
    time().optional(),
    "From when the seller may withdraw. Left out: 6 hours after `submitResultTime`.",
    "2026-11-22T14:00:00.000Z",
  ),
  externalDisputeUnlockTime: described(
    time().optional(),
    "From when a dispute may be settled, at least 15 minutes after `unlockTime`. Left out: 12 hours after `submitResultTime`.",
    "2026-11-22T20:00:00.000Z",
  ),
  RequestedFunds: described(
    requestedFunds.nullable().default(null),
    "The price, where the agent's is dynamic; left out where it is fixed.",
  ),
  sellerReturnAddress: described(
    bech32Address().nullable().default(null),
    "Where revenue goes: the selling wallet's own or its `collectionAddress`, unless an Admin asks. Left out: its `collectionAddress`.",
    WALLET_ADDRESS,
  ),
});

export type QuoteBody = z.output<typeof quoteBody>;

/** An amount that may be below zero. */
const net = z.array(
  named(
    "NetFunds",
    "What is left of one asset.",
    z.object({
      amount: described(
        z.string().regex(/^-?\d+$/),
        "Minor units of `unit`, below zero where it costs more than it brings.",
        "9500000",
      ),
      unit,
    }),
  ),
);

export const quoteRecord = named(
  "Quote",
  "A payment that was just requested.",
  paymentRecord.extend({
    Estimate: described(
      named(
        "QuoteEstimate",
        "What an escrow binds and costs, before network fees.",
        z.object({
          minimumNativeLock: minorUnits(
            "Native coin that the buyer has to lock, in minor units; what it has beyond the price goes back.",
          ),
          protocolFee: described(funds, "What the contract takes from the seller."),
          expectedNet: described(net, "What the seller is left with."),
        }),
      ),
      "What the escrow will bind and cost, before network fees.",
    ),
    Warnings: warnings,
  }),
);

export const unsignedLockBody = z.object({
  network,
  blockchainIdentifier: givenIdentifier,
  buyerAddress: described(
    bech32Address().min(58).max(120),
    "Address of the wallet that pays, with a payment key, in bech32. On Web3ChainV2 never the one that the seller is paid at.",
    WALLET_ADDRESS,
  ),
});

export const unsignedLock = z.object({
  unsignedTxCbor: answerText("The transaction without signatures, CBOR in hex.", "84a400818258"),
  collateralReturnMinorUnit: minorUnits(
    "Native coin that is locked besides the price and comes back at the end, in minor units.",
    "0",
  ),
});
