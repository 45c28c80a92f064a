import * as z from "zod";
import {
  answerText,
  described,
  hexText,
  minorUnits,
  named,
  recordId,
  TX_HASH,
  timestamp,
  walletVkey,
} from "../../http/openapi/fields.ts";
import { text } from "../../http/openapi/parameters.ts";
import { REFERENCE_SCRIPT_STATES } from "../../wallets/reference-scripts/tables.ts";

const SOURCE_ID = "01m80ydypnk4jnwav628wda9nd";

export const publishBody = z.object({
  id: described(text(), "Id of the payment source.", SOURCE_ID),
  walletId: described(
    text().optional(),
    "Wallet of the source that publishes the script and keeps the deposit. Left out: the first that may be driven.",
    "01m80ydypnw7zfztc441hghgzn",
  ),
});

export type PublishBody = z.output<typeof publishBody>;

export const withdrawBody = z.object({
  id: described(text(), "Id of the payment source.", SOURCE_ID),
});

export const referenceScriptRecord = named(
  "ReferenceScript",
  "A contract's script in an output on the chain: transactions that read it there need not hold it.",
  z.object({
    id: recordId("the reference script", "01m80yk2v7n4q8s1w5x9z3b6cd"),
    paymentSourceId: recordId("the payment source", SOURCE_ID),
    walletVkey: walletVkey("the wallet whose output carries it"),
    scriptHash: hexText(
      56,
      "Hash of the script.",
      "a15ce9d82d2f67645fc624e2edac03c6f1c106d0ad1af5815a3b14ad",
    ),
    scriptSize: described(z.int().min(1), "Bytes of the script.", 10003),
    state: described(
      named(
        "ReferenceScriptState",
        "How far a reference script is: transactions read it while it is `Published`.",
        z.enum(REFERENCE_SCRIPT_STATES),
      ),
      "How far it is.",
      "Published",
    ),
    output: described(
      z.string().nullable(),
      "`<transaction>#<index>` of the output that carries it; null before the first transaction.",
      `${TX_HASH}#0`,
    ),
    deposit: described(
      minorUnits("").nullable(),
      "Minor units of the native coin in that output, which come back when it is withdrawn; null before it.",
      "44138710",
    ),
    txHash: described(
      z.string().nullable(),
      "The last transaction that published or withdrew it.",
      TX_HASH,
    ),
    error: described(
      answerText("").nullable(),
      "Why it failed, or what it waits for; null otherwise.",
      null,
    ),
    createdAt: timestamp("When it was requested."),
    updatedAt: timestamp("When it was last changed."),
  }),
);

export type ReferenceScriptRecord = z.infer<typeof referenceScriptRecord>;
