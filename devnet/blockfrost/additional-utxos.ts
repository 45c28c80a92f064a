/**
 * `additionalUtxoSet` of an evaluation: pairs of an input and its output. The form is that of
 * Ogmios 5 or of the provider's specification, which have different names for some members.
 */
import { hexToBytes } from "@noble/hashes/utils.js";
import { z } from "zod";
import { addressToBytes } from "../../src/chain/address.ts";
import { encodeArray, encodeBytes, encodeInt, encodeMap, encodeTag } from "../../src/chain/cbor.ts";
import { type OutputReference, POLICY_ID_LENGTH } from "../ledger/transaction.ts";
import { BlockfrostError } from "./request.ts";

/** An output that the evaluating node need not have. */
export interface AdditionalOutput extends OutputReference {
  /** The output as the ledger's CBOR has it. */
  cbor: Uint8Array;
}

const HEX = z.string().regex(/^([0-9a-f]{2})*$/);
const QUANTITY = z.coerce.bigint();

const INPUT = z
  .object({ txId: HEX, index: z.int().min(0) })
  .transform(({ txId, index }) => ({ txHash: txId, index }));

/** Amounts by policy and name: nested (Ogmios), or under `policy.name` as one key. */
const ASSETS = z.record(z.string(), z.union([QUANTITY, z.record(z.string(), QUANTITY)]));

const OUTPUT = z.object({
  address: z.string(),
  value: z.object({ coins: QUANTITY, assets: ASSETS.optional() }).catchall(z.unknown()),
  datum: HEX.nullish(),
  datumHash: HEX.nullish(),
  datum_hash: HEX.nullish(),
  script: z.record(z.string(), z.unknown()).nullish(),
});

const LANGUAGES: Record<string, bigint> = { "plutus:v1": 1n, "plutus:v2": 2n, "plutus:v3": 3n };

/** @throws BlockfrostError 400 when a member is malformed */
export function readAdditionalUtxos(rows: readonly unknown[]): AdditionalOutput[] {
  return rows.map((row, i) => {
    const parsed = z.tuple([INPUT, OUTPUT]).safeParse(row);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new BlockfrostError(
        400,
        `body/additionalUtxoSet/${[i, ...(issue?.path ?? [])].join("/")} ${issue?.message}`,
      );
    }
    const [reference, output] = parsed.data;
    return { ...reference, cbor: encodeOutput(output) };
  });
}

function encodeOutput(output: z.infer<typeof OUTPUT>): Uint8Array {
  const { address, value, datum, script } = output;
  const { coins, assets = {}, ...named } = value;
  const nested = z.record(z.string(), z.record(z.string(), QUANTITY)).safeParse(named);
  const all = { ...assets, ...(nested.success ? nested.data : {}) };
  const multiAsset = encodeAssets(all);
  const hash = output.datumHash ?? output.datum_hash;
  const fields: [bigint, Uint8Array | null | undefined][] = [
    [0n, encodeBytes(addressToBytes(address))],
    [1n, multiAsset ? encodeArray([encodeInt(coins), multiAsset]) : encodeInt(coins)],
    [2n, encodeDatum(datum, hash)],
    [3n, script && encodeScript(script)],
  ];
  return encodeMap(
    fields.flatMap(([key, item]) => (item ? [[encodeInt(key), item] as const] : [])),
  );
}

function encodeDatum(
  datum: string | null | undefined,
  hash: string | null | undefined,
): Uint8Array | null {
  if (datum) return encodeArray([encodeInt(1n), embedded(hexToBytes(datum))]);
  return hash ? encodeArray([encodeInt(0n), encodeBytes(hexToBytes(hash))]) : null;
}

function encodeScript(script: Record<string, unknown>): Uint8Array | null {
  const [[language = "", bytes] = []] = Object.entries(script);
  const number = LANGUAGES[language];
  if (number === undefined || typeof bytes !== "string")
    throw new BlockfrostError(400, "body/additionalUtxoSet: script must be of a Plutus language");
  return embedded(encodeArray([encodeInt(number), encodeBytes(hexToBytes(bytes))]));
}

function encodeAssets(assets: z.infer<typeof ASSETS>): Uint8Array | null {
  const units = Object.entries(assets).flatMap(([key, held]): [string, bigint][] => {
    if (typeof held === "bigint") return [[key.replace(".", ""), held]];
    return Object.entries(held).map(([name, quantity]) => [key + name, quantity]);
  });
  if (units.length === 0) return null;
  const policies = Map.groupBy(units, ([unit]) => unit.slice(0, POLICY_ID_LENGTH));
  return encodeMap(
    [...policies].map(([policy, held]) => [
      encodeBytes(hexToBytes(policy)),
      encodeMap(
        held.map(([unit, quantity]) => [
          encodeBytes(hexToBytes(unit.slice(POLICY_ID_LENGTH))),
          encodeInt(quantity),
        ]),
      ),
    ]),
  );
}

function embedded(cbor: Uint8Array): Uint8Array {
  return encodeTag(24, encodeBytes(cbor));
}
