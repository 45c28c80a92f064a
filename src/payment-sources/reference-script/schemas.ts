import * as z from "zod";
import {
  described,
  EXAMPLE_TX_HASH,
  hexField,
  idField,
  minorUnitsField,
  named,
  nullableTextField,
  textField,
  timestampField,
  walletVkeyField,
} from "../../http/openapi/fields.ts";
import { optionalTextParameter, textParameter } from "../../http/openapi/parameters.ts";
import { REFERENCE_SCRIPT_STATES } from "../../wallets/reference-scripts/tables.ts";

const EXAMPLE_SOURCE_ID = "01m80ydypnk4jnwav628wda9nd";

export const publishScriptBody = z.object({
  id: described(textParameter(), "Id of the payment source.", EXAMPLE_SOURCE_ID),
  walletId: optionalTextParameter(
    "Wallet of the source that publishes the script and keeps the deposit. Omitted: the first wallet that `drives` allows.",
    "01m80ydypnw7zfztc441hghgzn",
  ),
});

export type PublishScriptBody = z.output<typeof publishScriptBody>;

export const withdrawScriptBody = z.object({
  id: described(textParameter(), "Id of the payment source.", EXAMPLE_SOURCE_ID),
});

export const referenceScriptRecord = named(
  "ReferenceScript",
  "A contract's script in an output on the chain, to which transactions refer.",
  z.object({
    id: idField("the reference script", "01m80yk2v7n4q8s1w5x9z3b6cd"),
    paymentSourceId: idField("the payment source", EXAMPLE_SOURCE_ID),
    walletVkey: walletVkeyField("the wallet whose output has the script"),
    scriptHash: hexField(
      56,
      "Hash of the script.",
      "a15ce9d82d2f67645fc624e2edac03c6f1c106d0ad1af5815a3b14ad",
    ),
    scriptSize: described(z.int().min(1), "Size of the script, in bytes.", 10003),
    state: described(
      named(
        "ReferenceScriptState",
        "State of a reference script. Transactions refer to the script while it is `Published`.",
        z.enum(REFERENCE_SCRIPT_STATES),
      ),
      "State of the reference script.",
      "Published",
    ),
    output: nullableTextField(
      "`<transaction>#<index>` of the script's output. Null: none yet.",
      `${EXAMPLE_TX_HASH}#0`,
    ),
    deposit: described(
      minorUnitsField("").nullable(),
      "Native coin in the output, in minor units, which a withdrawal returns. Null: no output yet.",
      "44138710",
    ),
    txHash: nullableTextField(
      "Hash of the last transaction that published or withdrew the script.",
      EXAMPLE_TX_HASH,
    ),
    error: described(
      textField("").nullable(),
      "Why the settlement failed, or what it waits for. Null: neither.",
      null,
    ),
    createdAt: timestampField("Time of the request."),
    updatedAt: timestampField("Time of the last change."),
  }),
);

export type ReferenceScriptRecord = z.infer<typeof referenceScriptRecord>;
