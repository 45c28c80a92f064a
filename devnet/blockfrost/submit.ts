import { hexToBytes } from "@noble/hashes/utils.js";
import { isHex } from "../../src/chain/hex.ts";
import { LedgerRejection } from "../rejection.ts";
import { BlockfrostError, type BlockfrostRequest, type Handler } from "./request.ts";

export const submitHandlers: Record<string, Handler> = {
  "POST /tx/submit": ({ chain, body, contentType }) => {
    if (!contentType.startsWith("application/cbor")) {
      throw new BlockfrostError(400, "Content-Type must be application/cbor");
    }
    try {
      return chain.submit(body);
    } catch (error) {
      if (error instanceof LedgerRejection) throw new BlockfrostError(400, error.message);
      throw error;
    }
  },

  "POST /utils/txs/evaluate": (request) =>
    evaluate(request, bytesOfText(new TextDecoder().decode(request.body))),

  // Outputs that only `additionalUtxoSet` knows are not looked at: the mempool has those of
  // transactions that were submitted.
  "POST /utils/txs/evaluate/utxos": (request) => evaluate(request, cborOfJson(request)),
};

/** Answers as Ogmios 5 does: a failing script is an answer, not an HTTP error. */
function evaluate({ chain, query }: BlockfrostRequest, cbor: Uint8Array) {
  if ((query.get("version") ?? "5") !== "5") {
    throw new BlockfrostError(400, "Only version 5 of the answer is served here");
  }
  return {
    type: "jsonwsp/response",
    version: "1.0",
    servicename: "ogmios",
    methodname: "EvaluateTx",
    result: evaluationResult(() => chain.evaluate(cbor)),
    reflection: null,
  };
}

function evaluationResult(run: () => ReturnType<BlockfrostRequest["chain"]["evaluate"]>) {
  try {
    const costs = run().map(({ tag, index, memory, steps }) => [
      `${tag}:${index}`,
      { memory, steps },
    ]);
    return { EvaluationResult: Object.fromEntries(costs) };
  } catch (error) {
    if (!(error instanceof LedgerRejection)) throw error;
    return { EvaluationFailure: { ScriptFailures: {}, message: error.message } };
  }
}

function cborOfJson({ body }: BlockfrostRequest): Uint8Array {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder().decode(body));
  } catch (cause) {
    throw new BlockfrostError(400, "Body is not valid JSON", { cause });
  }
  const cbor = typeof parsed === "object" && parsed !== null && "cbor" in parsed && parsed.cbor;
  if (typeof cbor !== "string") throw new BlockfrostError(400, "body/cbor must be string");
  return bytesOfText(cbor);
}

/** Both endpoints take base16 and base64. */
function bytesOfText(text: string): Uint8Array {
  const trimmed = text.trim();
  return isHex(trimmed) ? hexToBytes(trimmed) : new Uint8Array(Buffer.from(trimmed, "base64"));
}
