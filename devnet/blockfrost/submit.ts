import { hexToBytes } from "@noble/hashes/utils.js";
import { z } from "zod";
import { isHex } from "../../src/chain/hex.ts";
import { decode } from "../ledger/decode.ts";
import type { Evaluation } from "../ledger/emulator.ts";
import { evaluate, ScriptsFailed, UnknownInputs } from "../ledger/evaluation.ts";
import { MempoolFull } from "../ledger/mempool.ts";
import { LedgerRejection } from "../ledger/rejection.ts";
import { type OutputReference, outputKey } from "../ledger/transaction.ts";
import { type AdditionalOutput, readAdditionalUtxos } from "./additional-utxos.ts";
import { BlockfrostError, type BlockfrostRequest, type Handler } from "./request.ts";

export const submitHandlers: Record<string, Handler> = {
  "POST /tx/submit": ({ chain, node, body, contentType }) => {
    if (!contentType.startsWith("application/cbor")) {
      throw new BlockfrostError(400, "Content-Type must be application/cbor");
    }
    try {
      return chain.submit(body, node);
    } catch (error) {
      if (error instanceof MempoolFull) throw new BlockfrostError(425, error.message);
      if (error instanceof LedgerRejection) throw new BlockfrostError(400, refusalText(error));
      throw error;
    }
  },

  "POST /utils/txs/evaluate": (request) =>
    evaluation(request, bytesOfText(new TextDecoder().decode(request.body)), []),

  "POST /utils/txs/evaluate/utxos": (request) => {
    const { cbor, additionalUtxoSet } = evaluationBody(request);
    return evaluation(request, bytesOfText(cbor), readAdditionalUtxos(additionalUtxoSet));
  },
};

/** The message of a refused submission: the answer of the node behind the provider, as it came. */
function refusalText({ token, failures }: LedgerRejection): string {
  const contents =
    token === "DecoderFailure"
      ? { contents: Array(ERAS).fill(DECODER_FAILURE), tag: "TxCmdTxReadError" }
      : {
          contents: {
            contents: {
              era: "ShelleyBasedEraConway",
              error: failures,
              kind: "ShelleyTxValidationError",
            },
            tag: "TxValidationErrorInCardanoMode",
          },
          tag: "TxCmdTxSubmitValidationError",
        };
  return JSON.stringify({ contents, tag: "TxSubmitFail" });
}

/** A node tries to read a transaction as one of each era, and says this of every one. */
const ERAS = 6;
const DECODER_FAILURE =
  'DecoderErrorDeserialiseFailure "Shelley Tx" (DeserialiseFailure 0 "expected list len or indef")';

/**
 * Answers as Ogmios 5 does: a failing script is an answer, not an HTTP error. It knows the outputs
 * of blocks and none of any mempool; those of unconfirmed parents come with the request.
 */
function evaluation(
  { view, query }: BlockfrostRequest,
  cbor: Uint8Array,
  additional: readonly AdditionalOutput[],
) {
  if ((query.get("version") ?? "5") !== "5") {
    throw new BlockfrostError(400, "Only version 5 of the answer is served here");
  }
  const confirmed = (reference: OutputReference) => {
    const placed = view.output(reference);
    return placed?.consumedBy === null ? placed.output.cbor : undefined;
  };
  const overlap = additional.filter((reference) => confirmed(reference) !== undefined);
  const byKey = new Map(additional.map((one) => [outputKey(one), one.cbor]));
  const run = () =>
    evaluate(decode(cbor), (reference) => confirmed(reference) ?? byKey.get(outputKey(reference)));
  return {
    type: "jsonwsp/response",
    version: "1.0",
    servicename: "ogmios",
    methodname: "EvaluateTx",
    result:
      overlap.length > 0
        ? { EvaluationFailure: { AdditionalUtxoOverlap: overlap.map(inputOf) } }
        : evaluationResult(run),
    reflection: null,
  };
}

function evaluationResult(run: () => Evaluation[]) {
  try {
    const costs = run().map(({ tag, index, memory, steps }) => [
      `${tag}:${index}`,
      { memory, steps },
    ]);
    return { EvaluationResult: Object.fromEntries(costs) };
  } catch (error) {
    if (error instanceof UnknownInputs)
      return { EvaluationFailure: { CannotCreateEvaluationContext: { reason: error.message } } };
    if (error instanceof ScriptsFailed) {
      const failures = [...error.reasons].map(([name, reason]) => [
        name,
        [{ validatorFailed: { error: reason, traces: [] } }],
      ]);
      return { EvaluationFailure: { ScriptFailures: Object.fromEntries(failures) } };
    }
    if (error instanceof LedgerRejection) throw new BlockfrostError(400, error.message);
    throw error;
  }
}

function inputOf({ txHash, index }: OutputReference) {
  return { txId: txHash, index };
}

const EVALUATION_BODY = z.object({
  cbor: z.string("body/cbor must be string"),
  additionalUtxoSet: z.array(z.unknown()).default([]),
});

function evaluationBody({ body }: BlockfrostRequest): z.infer<typeof EVALUATION_BODY> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder().decode(body));
  } catch (cause) {
    throw new BlockfrostError(400, "Body is not valid JSON", { cause });
  }
  const result = EVALUATION_BODY.safeParse(parsed);
  if (result.success) return result.data;
  throw new BlockfrostError(400, result.error.issues[0]?.message ?? "body is malformed");
}

/** Both endpoints take base16 and base64. */
function bytesOfText(text: string): Uint8Array {
  const trimmed = text.trim();
  return isHex(trimmed) ? hexToBytes(trimmed) : new Uint8Array(Buffer.from(trimmed, "base64"));
}
