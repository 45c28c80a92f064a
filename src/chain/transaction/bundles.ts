import { encodeBytes, encodeInt } from "../cbor.ts";
import { hexToBytes } from "../hex.ts";
import { assetOf } from "../unit.ts";
import { fundsOf, type Value } from "./value.ts";

/** The array of a value, the largest native amount, and the map of its policies. */
const VALUE_BYTES = 1 + 9 + 3;
/** A policy id, and the map of its tokens. */
const POLICY_BYTES = 2 + 28 + 3;

/**
 * Parts the tokens of a value, so that each part has room in one output beside any native amount.
 *
 * @param most - bytes that the value of an output may have (Alonzo's `maxValSize`)
 * @returns none when there are no tokens
 * @throws UnitError
 */
export function bundlesOf(value: Value, most: number): Value[] {
  const bundles: Value[] = [];
  let [room, policy] = [0, ""];
  // Sorted, so that each policy is named in as few of them as possible.
  for (const { unit, amount } of fundsOf(value)) {
    if (unit === "") continue;
    const { policyId, assetName } = assetOf(unit);
    const own = encodeBytes(hexToBytes(assetName)).length + encodeInt(amount).length;
    const needed = own + (policyId === policy ? 0 : POLICY_BYTES);
    const isNew = bundles.length === 0 || needed > room;
    if (isNew) bundles.push(new Map());
    bundles.at(-1)?.set(unit, amount);
    room = isNew ? most - VALUE_BYTES - POLICY_BYTES - own : room - needed;
    policy = policyId;
  }
  return bundles;
}
