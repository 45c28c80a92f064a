import { encodeArray, encodeBytes, encodeInt, encodeMap } from "../cbor.ts";
import { hexToBytes } from "../hex.ts";
import type { Funds } from "../network.ts";
import { splitUnit } from "../unit.ts";

/** Minor units by unit; the native coin has the unit `""`. Only the native coin may be zero. */
export type Value = Map<string, bigint>;

/** The sum of all funds given. */
export function sumToValue(...funds: readonly (readonly Funds[])[]): Value {
  const value: Value = new Map();
  for (const { unit, amount } of funds.flat()) addAmount(value, unit, amount);
  return value;
}

/** Adds to one unit of a value in place. */
export function addAmount(value: Value, unit: string, amount: bigint): void {
  const sum = (value.get(unit) ?? 0n) + amount;
  if (sum === 0n && unit !== "") value.delete(unit);
  else value.set(unit, sum);
}

/** Adds a value to another in place, `times` it. */
export function addValue(value: Value, other: Value, times = 1n): void {
  for (const [unit, amount] of other) addAmount(value, unit, amount * times);
}

/** A value as funds, the native coin first. */
export function toFunds(value: Value): Funds[] {
  return [...value].map(([unit, amount]) => ({ unit, amount })).sort(compareUnits);
}

/** CBOR of an output's value: the native coin alone, or with its tokens. @throws UnitError */
export function encodeValue(value: Value): Uint8Array {
  const native = encodeInt(value.get("") ?? 0n);
  const tokens = new Map(value);
  tokens.delete("");
  return tokens.size === 0 ? native : encodeArray([native, encodeMultiAsset(tokens)]);
}

/** CBOR `{policy id: {asset name: quantity}}`. @throws UnitError */
export function encodeMultiAsset(tokens: Value): Uint8Array {
  const policies = Map.groupBy(toFunds(tokens), ({ unit }) => splitUnit(unit).policyId);
  return encodeMap(
    [...policies].map(([policyId, assets]) => [
      encodeBytes(hexToBytes(policyId)),
      encodeMap(
        assets.map(({ unit, amount }) => [
          encodeBytes(hexToBytes(splitUnit(unit).assetName)),
          encodeInt(amount),
        ]),
      ),
    ]),
  );
}

const compareUnits = (a: Funds, b: Funds) => (a.unit < b.unit ? -1 : a.unit > b.unit ? 1 : 0);
