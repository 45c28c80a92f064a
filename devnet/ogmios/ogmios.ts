/**
 * Ogmios 6 over HTTP beside a chain's node (https://ogmios.dev/api/): it evaluates, submits, and tells of its
 * ledger. Errors are answers with the status 400.
 */
import { hexToBytes } from "@noble/hashes/utils.js";
import { z } from "zod";
import { readAdditionalUtxos } from "../blockfrost/additional-utxos.ts";
import type { Chain } from "../ledger/chain.ts";
import { decode } from "../ledger/decode.ts";
import { evaluate, ScriptsFailed, UnknownInputs } from "../ledger/evaluation.ts";
import { MempoolFull } from "../ledger/mempool.ts";
import { LedgerRejection } from "../ledger/rejection.ts";
import { type OutputReference, outputKey } from "../ledger/transaction.ts";
import type { LedgerView } from "../ledger/view.ts";
import type { Fault } from "../server/faults.ts";
import { describeParameters, listUnspentOutputs } from "./ledger-state.ts";

interface OgmiosContext {
  chain: Chain;
  view: LedgerView;
  /** The node whose mempool a transaction is handed to. */
  node: number;
  /** Rows that a list lacks at its end. */
  dropRows?: Fault["dropRows"];
}

const HEX = z.string().regex(/^([0-9a-f]{2})*$/i);
const REQUEST = z.object({
  method: z.string(),
  params: z.record(z.string(), z.unknown()).default({}),
});
const TRANSACTION = z.object({ transaction: z.object({ cbor: HEX }) });
const OUTPUT = z.object({
  transaction: z.object({ id: HEX }),
  index: z.int().min(0),
  address: z.string(),
  value: z
    .object({ ada: z.object({ lovelace: z.number() }) })
    .catchall(z.record(z.string(), z.number())),
});

class OgmiosError extends Error {
  override name = "OgmiosError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const ERAS = ["shelley", "allegra", "mary", "alonzo", "babbage", "conway"];

/** A node tries to read a transaction as one of each era. */
function toDeserialisationError(reason: string): OgmiosError {
  const data = Object.fromEntries(ERAS.map((era) => [era, reason]));
  return new OgmiosError(-32602, "Invalid transaction.", data);
}

/** Answers a POST. */
export function answerOgmios(
  context: OgmiosContext,
  body: Uint8Array,
): { status: number; body: string } {
  let envelope: object = { jsonrpc: "2.0", id: null };
  try {
    const { method, params } = REQUEST.parse(JSON.parse(new TextDecoder().decode(body)));
    envelope = { ...envelope, method };
    const call = METHODS[method];
    if (!call) throw new OgmiosError(-32601, `Unknown method ${method}`);
    const result = call(context, params);
    return { status: 200, body: JSON.stringify({ ...envelope, result }) };
  } catch (error) {
    const { code, message, data } =
      error instanceof OgmiosError ? error : toDeserialisationError(String(error));
    const content = { ...envelope, error: { code, message, ...(data !== undefined && { data }) } };
    return { status: 400, body: JSON.stringify(content) };
  }
}

const METHODS: Record<string, (context: OgmiosContext, params: object) => unknown> = {
  // Of the genesis only what tells networks apart.
  "queryNetwork/genesisConfiguration": () => ({ era: "shelley", networkMagic: 1 }),
  "queryNetwork/tip": ({ view }) => ({ slot: view.tip.slot, id: view.tip.hash }),
  "queryLedgerState/tip": ({ view }) => ({ slot: view.tip.slot, id: view.tip.hash }),
  "queryLedgerState/protocolParameters": ({ chain, view }) => describeParameters(chain, view),
  "queryLedgerState/utxo": ({ view, dropRows }, params) => {
    const rows = listUnspentOutputs(view, params);
    return dropRows ? rows.slice(0, -dropRows) : rows;
  },
  evaluateTransaction: evaluateTransaction,
  submitTransaction: submitTransaction,
};

function submitTransaction({ chain, node, view }: OgmiosContext, params: object) {
  const { transaction } = TRANSACTION.parse(params);
  try {
    return { transaction: { id: chain.submit(hexToBytes(transaction.cbor), node) } };
  } catch (error) {
    if (error instanceof MempoolFull)
      throw new OgmiosError(3997, error.message, { error: error.message });
    if (!(error instanceof LedgerRejection)) throw error;
    throw toSubmitError(error, view);
  }
}

/** Of a refusal, what the specification asks for. Rules without a code here are a mempool's error. */
function toSubmitError({ token, message }: LedgerRejection, view: LedgerView): OgmiosError {
  const zero = { ada: { lovelace: 0 } };
  switch (token) {
    case "BadInputsUTxO":
      return new OgmiosError(3117, "Unknown inputs.", unknownOutputs(message));
    case "OutsideValidityIntervalUTxO":
      return new OgmiosError(3118, "Outside of the validity interval.", {
        validityInterval: {},
        currentSlot: view.tip.slot,
      });
    case "FeeTooSmallUTxO":
      return new OgmiosError(3122, "Insufficient fee.", {
        minimumRequiredFee: zero,
        providedFee: zero,
      });
    case "ValueNotConservedUTxO":
      return new OgmiosError(3123, "Value not conserved.", {
        valueConsumed: zero,
        valueProduced: zero,
      });
    case "DecoderFailure":
      return toDeserialisationError(message);
    default:
      return new OgmiosError(3997, "The mempool refuses it.", { error: message });
  }
}

function unknownOutputs(text: string) {
  const references = [...text.matchAll(/([0-9a-f]{64})\D{1,40}(\d+)/g)];
  return {
    unknownOutputReferences: references.map(([, id, index]) => ({
      transaction: { id },
      index: Number(index),
    })),
  };
}

function evaluateTransaction({ view }: OgmiosContext, params: object) {
  const { transaction } = TRANSACTION.parse(params);
  const content = z.object({ additionalUtxo: z.array(OUTPUT).default([]) }).parse(params);
  const additional = readAdditionalUtxos(
    content.additionalUtxo.map(
      ({ transaction: { id }, index, address, value: { ada, ...assets } }) => [
        { txId: id, index },
        { address, value: { coins: ada.lovelace, assets } },
      ],
    ),
  );
  const confirmed = (reference: OutputReference) => {
    const placed = view.output(reference);
    return placed?.consumedBy === null ? placed.output.cbor : undefined;
  };
  const overlap = additional.filter((reference) => confirmed(reference) !== undefined);
  if (overlap.length > 0)
    throw new OgmiosError(3002, "Some outputs are known already.", {
      overlappingOutputReferences: overlap.map(({ txHash, index }) => ({
        transaction: { id: txHash },
        index,
      })),
    });
  const byKey = new Map(additional.map((one) => [outputKey(one), one.cbor]));
  try {
    const runs = evaluate(
      decode(hexToBytes(transaction.cbor)),
      (reference) => confirmed(reference) ?? byKey.get(outputKey(reference)),
    );
    return runs.map(({ tag, index, memory, steps }) => ({
      validator: { purpose: tag, index },
      budget: { memory, cpu: steps },
    }));
  } catch (error) {
    if (error instanceof UnknownInputs)
      throw new OgmiosError(3004, "Unable to create the evaluation context.", {
        reason: error.message,
      });
    if (!(error instanceof ScriptsFailed)) throw error;
    const failures = [...error.reasons].map(([name, reason]) => {
      const [purpose = "", index = ""] = name.split(":");
      const failure = {
        code: 3012,
        message: "Some of the scripts failed.",
        data: { validationError: reason, traces: [] },
      };
      return { validator: { purpose, index: Number(index) }, error: failure };
    });
    throw new OgmiosError(3010, "Some scripts of the transaction failed.", failures);
  }
}
