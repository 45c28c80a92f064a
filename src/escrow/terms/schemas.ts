import * as z from "zod";
import {
  network,
  paymentSourceType,
  requestAgentIdentifier,
  requestUnit,
} from "../../http/openapi/chain-fields.ts";
import { described, EXAMPLE_TX_HASH, named, textField } from "../../http/openapi/fields.ts";

/** As it is signed: digits in another form would be another text. */
const positiveAmount = z
  .string()
  .regex(/^[1-9]\d{0,24}$/, "must be a whole number above 0, without leading zeros");

const MAX_METADATA_BYTES = 16 * 1024;

export const requestedFunds = z
  .array(
    named(
      "RequestedAmount",
      "A requested amount.",
      z.object({
        amount: described(positiveAmount, "Minor units of `unit`.", "10000000"),
        unit: requestUnit,
      }),
    ),
  )
  .max(7);

/** Position in the list of payment sources of an agent of Web3ChainV2. */
export const sourceIndex = z.int().min(0).max(24);

/** What a quote and the purchase of it both say. */
export const sharedTerms = {
  network,
  agentIdentifier: requestAgentIdentifier,
  inputHash: described(
    z
      .string()
      .regex(/^(?:[0-9a-f]{2})*$/, "must be lower-case hex")
      .min(2)
      .max(250),
    "Hash of the job's input, in lower-case hex.",
    EXAMPLE_TX_HASH,
  ),
  identifierFromPurchaser: described(
    z.string().regex(/^(?:[0-9a-f]{2}){7,13}$/, "must be lower-case hex of 7 to 13 bytes"),
    "The buyer's own identifier of the job: 7 to 13 bytes in lower-case hex.",
    "0123456789abcdef0123",
  ),
  paymentSourceType: paymentSourceType.optional(),
  supportedPaymentSourceIndex: described(
    sourceIndex.optional(),
    "Position of the payment source in the agent's list, for agents of Web3ChainV2 only. Omitted: in a quote, the only one that fits; in a purchase, the one that the seller signed.",
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
    "Your note, at most 16 KiB in UTF-8, visible to you and Admins.",
    "order 7",
  ),
};

export const warningsField = described(
  z.array(textField("A sentence.")),
  "Warnings about values that are allowed but not advisable.",
  ["unlockTime: is less than 45 minutes after submitResultTime"],
);
