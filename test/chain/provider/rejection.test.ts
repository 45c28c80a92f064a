import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPermanentRejection, mentionsOutput } from "../../../src/chain/provider/rejection.ts";
import { readErrorMessage } from "../../../src/chain/provider/request.ts";

describe("a node's refusal", () => {
  it.each([
    ["a fee", "FeeTooSmallUTxO (Mismatch {supplied = 1, expected = 2})"],
    ["an output", "BabbageOutputTooSmallUTxO [(TxOut, Coin 1)]"],
    [
      "a value",
      'OutputTooBigUTxO [(5989,5000,(Addr Testnet (KeyHashObj (KeyHash "ab")) StakeRefNull))]',
    ],
    ["the size", "MaxTxSizeUTxO (Mismatch 16385 16384)"],
    ["the value", "ValueNotConservedUTxO (Mismatch 1 2)"],
    ["a signature", "InvalidWitnessesUTXOW [VKey]"],
    ["a script", "ValidationTagMismatch (IsValid True) (FailedUnexpectedly [PlutusFailure])"],
    ["the script data", "PPViewHashesDontMatch SJust"],
  ])("that names %s is of the bytes", (_, text) => {
    expect(isPermanentRejection(`transaction submit error ConwayUtxowFailure (${text})`)).toBe(
      true,
    );
  });

  it.each([
    [
      "inputs that it does not know, and so another sum",
      "BadInputsUTxO [x], ValueNotConservedUTxO",
    ],
    ["that all inputs are spent", "All inputs are spent. Transaction has probably been included"],
    ["another time", "OutsideValidityIntervalUTxO (ValidityInterval 1 2) (SlotNo 3)"],
    ["a mempool", "mempool is full"],
    ["what nobody has said before", "ConwayNewRuleFailure"],
  ])("that names %s is of its view", (_, text) => {
    expect(isPermanentRejection(text)).toBe(false);
  });
});

describe("a node's refusal of a transaction with many tokens", () => {
  const HASH = "5a".repeat(32);
  /** As nodes say it: the sums of all tokens first, and then what they do not know. */
  const said = (tokens: number) => {
    const listed = Array.from({ length: tokens }, (_, i) => {
      const policy = i.toString(16).padStart(56, "0");
      return `(PolicyID {policyID = ScriptHash "${policy}"},fromList [("53756e64616552657761726454",1)])`;
    }).join(",");
    const input = `TxIn (TxId {_unTxId = SafeHash "${HASH}"}) (TxIx 1)`;
    const message = `transaction submit error ShelleyTxValidationError (ApplyTxError [UtxowFailure (UtxoFailure (ValueNotConservedUTxO (MaryValue (Coin 0) (MultiAsset (fromList []))) (MaryValue (Coin 5) (MultiAsset (fromList [${listed}]))))),UtxowFailure (UtxoFailure (BadInputsUTxO (fromList [${input}])))])`;
    return JSON.stringify({ error: "Bad Request", status_code: 400, message });
  };

  it("is read to its end, however long the list of the tokens is", () => {
    fc.assert(
      fc.property(fc.nat(60), (tokens) => {
        const refusal = readErrorMessage(said(tokens));
        expect(isPermanentRejection(refusal)).toBe(false);
        expect(mentionsOutput(refusal, { txHash: HASH, index: 1 })).toBe(true);
      }),
    );
  });
});

describe("an output that a node names", () => {
  const output = { txHash: "5a".repeat(32), index: 1 };

  it.each([
    `missing from UTxO set: ${output.txHash}#1, ${"5b".repeat(32)}#2`,
    `BadInputsUTxO (fromList [TxIn (TxId {unTxId = SafeHash "${output.txHash}"}) (TxIx {unTxIx = 1})])`,
    JSON.stringify({ UnknownInputs: [{ txId: output.txHash, index: 1 }] }),
    `${output.txHash}#0 ${output.txHash}#1`,
  ])("is found in %s", (text) => {
    expect(mentionsOutput(text, output)).toBe(true);
  });

  it.each([
    "BadInputsUTxO",
    `${output.txHash}#0`,
    `${output.txHash}#10`,
    `${"5b".repeat(32)}#1`,
    output.txHash,
  ])("is not found in %s", (text) => {
    expect(mentionsOutput(text, output)).toBe(false);
  });
});
