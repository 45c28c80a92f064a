import * as z from "zod";
import { described, idField, named, textField, timestampField } from "../http/openapi/fields.ts";
import { textParameter } from "../http/openapi/parameters.ts";
import { ERASED_DATA } from "./erasures.ts";
import { BASES } from "./staying-data.ts";

export const erasureBody = z.strictObject({
  apiKeyId: described(
    textParameter(),
    "Id of the API key whose data is to be erased.",
    "01m80ye14arhma0jvpxvf6nc73",
  ),
});

const erasedKind = named("ErasedKind", "Kind of erased data.", z.enum(ERASED_DATA));
const stayingBasis = named("StayingBasis", "Reason why data stays.", z.enum(BASES));

const erasedData = named(
  "ErasedData",
  "Removed data of one kind.",
  z.object({
    what: described(erasedKind, "Kind of the data.", "metadata"),
    count: described(
      z.int().min(0).nullable(),
      "Number of rows that this request erased. Null: unknown, because an answer of the database was lost.",
      12,
    ),
  }),
);

const stayingData = named(
  "StayingData",
  "Data that an erasure leaves.",
  z.object({
    what: textField("The data.", "Backups of the database with the erased data."),
    basis: described(
      stayingBasis,
      "Why the data stays: a law, the operator's books, the public chain, the operation of the service, or because it ends by itself.",
      "Temporary",
    ),
    reason: textField("Explanation for people.", "The platform deletes them after 30 days."),
    until: described(
      timestampField("Time of deletion.").nullable(),
      "Time at which the data ends. Null: it does not end by itself.",
      "2026-12-22T06:17:26.922Z",
    ),
  }),
);

export const erasureResult = named(
  "Erasure",
  "Result of an erasure.",
  z.object({
    apiKeyId: idField("the API key"),
    erasedAt: timestampField("Time of the erasure."),
    isComplete: described(
      z.boolean(),
      "Whether all is erased. False: the service erases the rest within minutes.",
      true,
    ),
    Erased: described(z.array(erasedData), "The removed data."),
    Stays: described(z.array(stayingData), "The data that stays, and why."),
  }),
);

export type ErasureResult = z.input<typeof erasureResult>;
