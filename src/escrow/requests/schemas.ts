import * as z from "zod";
import {
  answerText,
  described,
  minorUnits,
  named,
  TX_HASH,
  WALLET_ADDRESS,
} from "../../http/openapi/fields.ts";
import {
  bech32Address,
  funds,
  givenAgentIdentifier,
  givenUnit,
  network,
  paymentSourceType,
  unit,
} from "../../http/openapi/ledger.ts";
import { time } from "../../http/parameters.ts";
import { givenIdentifier } from "../schemas/names.ts";
import { paymentRecord } from "../schemas/records.ts";

/** As it is signed: digits in another form would be another text. */
const positiveAmount = z
  .string()
  .regex(/^[1-9]\d{0,24}$/, "must be a whole number above 0, without leading zeros");

const MAX_METADATA_BYTES = 16 * 1024;

export const requestedFunds = z
  .array(
    named(
      "RequestedAmount",
      "An amount that is asked for.",
      z.object({
        amount: described(positiveAmount, "Minor units of `unit`.", "10000000"),
        unit: givenUnit,
      }),
    ),
  )
  .max(7);

/** What a quote and the purchase of it both say. */
export const sharedTerms = {
  network,
  agentIdentifier: givenAgentIdentifier,
  inputHash: described(
    z
      .string()
      .regex(/^(?:[0-9a-f]{2})*$/, "must be lower-case hex")
      .min(2)
      .max(250),
    "Hash of the job's input, in lower-case hex: the datum keeps its bytes.",
    TX_HASH,
  ),
  identifierFromPurchaser: described(
    z.string().regex(/^(?:[0-9a-f]{2}){7,13}$/, "must be lower-case hex of 7 to 13 bytes"),
    "What the buyer chose to tell this job from its others: 7 to 13 bytes in lower-case hex.",
    "0123456789abcdef0123",
  ),
  paymentSourceType: paymentSourceType.optional(),
  supportedPaymentSourceIndex: described(
    z.int().min(0).max(24).optional(),
    "Position of the payment source in the agent's list; for agents of Web3ChainV2 only.",
    0,
  ),
  metadata: described(
    z
      .string()
      .max(MAX_METADATA_BYTES)
      .refine(
        (text) => Buffer.byteLength(text) <= MAX_METADATA_BYTES,
        `must have at most ${MAX_METADATA_BYTES} bytes`,
      )
      .meta({ format: "text-of-16-kib" })
      .nullable()
      .default(null),
    "What you note, up to 16 KiB in UTF-8; shown to you and to Admins.",
    "order 7",
  ),
};

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

export const warnings = described(
  z.array(answerText("A sentence.")),
  "What is allowed but not advisable.",
  ["unlockTime: is less than 45 minutes after submitResultTime"],
);

export const quoteRecord = named(
  "Quote",
  "A payment that was just asked for.",
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
