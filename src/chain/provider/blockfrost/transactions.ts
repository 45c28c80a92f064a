import * as z from "zod";
import { bytesToHex } from "../../hex.ts";
import {
  type AdditionalOutput,
  ProviderError,
  type ProviderUtxo,
  ResponseTooLargeError,
  type TransactionProvider,
} from "../provider.ts";
import {
  type Requester,
  readErrorMessage,
  type Sender,
  toDecimalText,
  toJson,
} from "../request.ts";
import { parseEvaluation } from "./evaluation.ts";
import { getPage } from "./get-page.ts";
import { COUNT_SCHEMA, HASH, HEX, QUANTITY_SCHEMA, toProviderUtxo, UTXO } from "./shapes.ts";

/** Dolos has the transaction already. */
const DUPLICATE_STATUS = 409;
const PAGE_SIZE = 100;
/** A wallet with more outputs uses only the newest ones, which include the change of its line. */
const MAX_PAGES = 10;
/** As many outputs of an address are listed at most. */
export const MAX_UTXOS = PAGE_SIZE * MAX_PAGES;

/** The provider's calls for building and sending transactions, over a client's GET and POST. */
export function createTransactionProvider(get: Requester, send: Sender): TransactionProvider {
  return {
    async addressUtxos(address) {
      // By their names: while pages are read, what comes in moves all others to later ones.
      const found = new Map<string, ProviderUtxo>();
      const path = `/addresses/${encodeURIComponent(address)}/utxos`;
      for (let page = 1; found.size < MAX_UTXOS && page <= 2 * MAX_PAGES; page++) {
        const rows =
          (await getPage(get, path, UTXOS, { page, count: PAGE_SIZE, order: "desc" })) ?? [];
        for (const row of rows)
          found.set(`${row.tx_hash}#${row.output_index}`, toProviderUtxo(row));
        if (rows.length < PAGE_SIZE) break;
      }
      return [...found.values()];
    },

    async spenders(txHash) {
      const found = await get(`/txs/${txHash}/utxos`, SPENDERS).catch(returnNullIfTooLarge);
      return (
        found &&
        new Map(
          found.outputs.flatMap(({ output_index: index, collateral, consumed_by_tx: spender }) =>
            spender && !collateral ? [[index, spender] as const] : [],
          ),
        )
      );
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
        priceMemory: toDecimalText(found.price_mem),
        priceSteps: toDecimalText(found.price_step),
        pricePerReferenceByte: toDecimalText(found.min_fee_ref_script_cost_per_byte),
        collateralPercent: BigInt(Math.ceil(found.collateral_percent)),
        maxCollateralInputs: found.max_collateral_inputs ?? 1,
        coinsPerByte: BigInt(found.coins_per_utxo_size),
        maxTransactionSize: found.max_tx_size,
        maxValueSize: Number(found.max_val_size),
        maxUnits: { memory: BigInt(found.max_tx_ex_mem), steps: BigInt(found.max_tx_ex_steps) },
        plutusV3Costs: found.cost_models_raw.PlutusV3.map(BigInt),
      };
    },

    async evaluate(cbor, additional = []) {
      const path = "/utils/txs/evaluate/utxos";
      const body = toJson({
        cbor: bytesToHex(cbor),
        additionalUtxoSet: additional.map(toOgmiosUtxo),
      });
      const { status, text } = await send(path, { contentType: "application/json", body });
      return parseEvaluation(status, text);
    },

    async submit(cbor) {
      const path = "/tx/submit";
      const payload = { contentType: "application/cbor", body: Uint8Array.from(cbor) };
      const { status, text } = await send(path, payload, [DUPLICATE_STATUS]);
      if (status === DUPLICATE_STATUS) return null;
      if (status === 400) {
        const refused = readErrorMessage(text);
        // blockfrost-platform says so of its connection to the node, not of the transaction.
        if (/^"?Error during transaction submission/.test(refused))
          throw new ProviderError(`provider: POST ${path}: its node does not answer`, { status });
        return { refused };
      }
      // The hosted service quotes the hash, Dolos does not.
      if (!/^"?[0-9a-f]{64}"?$/.test(text.trim()))
        throw new ProviderError(`provider: POST ${path}: answer is malformed`, { status });
      return null;
    },
  };
}

/** What nobody can read is not waited for: the list has what a transaction refers to, too. */
function returnNullIfTooLarge(error: unknown): null {
  if (error instanceof ResponseTooLargeError) return null;
  throw error;
}

const UTXOS = z.array(UTXO);

const SPENDERS = z.object({
  outputs: z.array(
    z.object({
      output_index: COUNT_SCHEMA,
      collateral: z.boolean(),
      consumed_by_tx: HASH.nullish(),
    }),
  ),
});

const SCRIPT = z.object({ cbor: HEX.nullable() });

const PARAMETERS = z.object({
  min_fee_a: COUNT_SCHEMA,
  min_fee_b: COUNT_SCHEMA,
  price_mem: z.number().positive(),
  price_step: z.number().positive(),
  collateral_percent: z.number().positive(),
  max_collateral_inputs: z.int().positive().nullish(),
  coins_per_utxo_size: QUANTITY_SCHEMA,
  max_tx_size: COUNT_SCHEMA,
  max_val_size: QUANTITY_SCHEMA,
  max_tx_ex_mem: QUANTITY_SCHEMA,
  max_tx_ex_steps: QUANTITY_SCHEMA,
  min_fee_ref_script_cost_per_byte: z.number().positive(),
  cost_models_raw: z.object({ PlutusV3: z.array(z.int()).min(1) }),
});

/** A pair of an input and its output, as Ogmios 5 has it: assets by `policy.name`. */
function toOgmiosUtxo({ txHash, index, address, value }: AdditionalOutput) {
  const assets = [...value].flatMap(([unit, amount]) =>
    unit === "" ? [] : [[unit.replace(/^(.{56})(.+)$/, "$1.$2"), amount] as const],
  );
  return [
    { txId: txHash, index },
    {
      address,
      value: { coins: value.get("") ?? 0n, assets: Object.fromEntries(assets) },
    },
  ];
}
