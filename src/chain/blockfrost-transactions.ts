import { z } from "zod";
import type { Requester, Sender } from "./blockfrost-request.ts";
import {
  type ExecutionUnits,
  ProviderError,
  type ProviderUtxo,
  ScriptFailed,
  type TransactionProvider,
} from "./provider.ts";

const PAGE = 100;
/** A wallet with more outputs than this builds from the first of them. */
const MAX_PAGES = 10;
const LONGEST_REASON = 1000;

/** The provider's calls for building and sending transactions, over a client's GET and POST. */
export function createTransactionCalls(get: Requester, send: Sender): TransactionProvider {
  return {
    async addressUtxos(address) {
      const found: ProviderUtxo[] = [];
      for (let page = 1; page <= MAX_PAGES; page++) {
        const query = new URLSearchParams({ count: String(PAGE), page: String(page) });
        const path = `/addresses/${encodeURIComponent(address)}/utxos?${query}`;
        const rows = (await get(path, UTXOS)) ?? [];
        found.push(...rows.map(utxoOf));
        if (rows.length < PAGE) break;
      }
      return found;
    },

    async scriptCbor(scriptHash) {
      return (await get(`/scripts/${scriptHash}/cbor`, SCRIPT))?.cbor ?? null;
    },

    async protocolParameters() {
      const found = await get("/epochs/latest/parameters", PARAMETERS);
      if (found === null)
        throw new ProviderError("provider: has no protocol parameters", { status: 404 });
      return {
        feePerByte: BigInt(found.min_fee_a),
        feeConstant: BigInt(found.min_fee_b),
        priceMemory: decimalText(found.price_mem),
        priceSteps: decimalText(found.price_step),
        collateralPercent: BigInt(Math.ceil(found.collateral_percent)),
        coinsPerByte: BigInt(found.coins_per_utxo_size),
        maxTransactionSize: found.max_tx_size,
        plutusV3Costs: found.cost_models_raw.PlutusV3.map(BigInt),
      };
    },

    async evaluate(cbor) {
      const path = "/utils/txs/evaluate/utxos";
      const body = JSON.stringify({ cbor: hexOf(cbor), additionalUtxoSet: [] });
      const { status, text } = await send(path, { type: "application/json", body });
      if (status === 400) throw new ScriptFailed(shorten(messageOf(text)));
      const answer = EVALUATION.safeParse(jsonOf(text));
      if (!answer.success) throw new ProviderError(`provider: POST ${path}: answer is malformed`);
      if (!("EvaluationResult" in answer.data.result))
        throw new ScriptFailed(
          shorten(JSON.stringify(answer.data.result.EvaluationFailure ?? "no reason given")),
        );
      return new Map(Object.entries(answer.data.result.EvaluationResult).map(unitsOf));
    },

    async submit(cbor) {
      const path = "/tx/submit";
      const { status, text } = await send(path, {
        type: "application/cbor",
        body: Uint8Array.from(cbor),
      });
      if (status === 400) return { refused: shorten(messageOf(text)) };
      if (!/^"[0-9a-f]{64}"$/.test(text.trim()))
        throw new ProviderError(`provider: POST ${path}: answer is malformed`, { status });
      return null;
    },
  };
}

const HASH = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hex characters");
const HEX = z.string().regex(/^(?:[0-9a-f]{2})*$/, "must be hex");
const COUNT = z.int().nonnegative();
const QUANTITY = z.string().regex(/^\d+$/);

const UTXOS = z.array(
  z.object({
    address: z.string(),
    tx_hash: HASH,
    output_index: COUNT,
    amount: z.array(z.object({ unit: z.string(), quantity: QUANTITY })),
    inline_datum: HEX.nullable(),
    reference_script_hash: z.string().nullable(),
  }),
);

const SCRIPT = z.object({ cbor: HEX.nullable() });

const PARAMETERS = z.object({
  min_fee_a: COUNT,
  min_fee_b: COUNT,
  price_mem: z.number().positive(),
  price_step: z.number().positive(),
  collateral_percent: z.number().positive(),
  coins_per_utxo_size: QUANTITY,
  max_tx_size: COUNT,
  cost_models_raw: z.object({ PlutusV3: z.array(z.int()).min(1) }),
});

const UNITS = z.object({ memory: COUNT, steps: COUNT });

/** The answer of Ogmios 5, which the provider hands through. */
const EVALUATION = z.object({
  result: z.union([
    z.object({ EvaluationResult: z.record(z.string(), UNITS) }),
    z.object({ EvaluationFailure: z.unknown() }),
  ]),
});

function utxoOf(row: z.infer<typeof UTXOS>[number]): ProviderUtxo {
  return {
    address: row.address,
    txHash: row.tx_hash,
    outputIndex: row.output_index,
    amount: row.amount,
    inlineDatum: row.inline_datum,
    referenceScriptHash: row.reference_script_hash,
  };
}

function unitsOf([name, { memory, steps }]: [string, z.infer<typeof UNITS>]): [
  string,
  ExecutionUnits,
] {
  return [name, { memory: BigInt(memory), steps: BigInt(steps) }];
}

/** The shortest decimal text of a positive number, never in exponent form. */
function decimalText(value: number): string {
  const [digits = "", exponent = "0"] = String(value).split("e-");
  if (exponent === "0") return digits;
  const [whole = "", fraction = ""] = digits.split(".");
  return `0.${"0".repeat(Number(exponent) - whole.length)}${whole}${fraction}`;
}

function messageOf(text: string): string {
  const parsed = z.object({ message: z.string() }).safeParse(jsonOf(text));
  return parsed.success ? parsed.data.message : text;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const shorten = (text: string) => text.slice(0, LONGEST_REASON);
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
