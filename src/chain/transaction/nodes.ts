/** Looks into the nodes of a transaction's bytes: what is not there, or something else, is refused by name. */
import { type CborNode, type CborNodeOf, integerOf } from "../cbor.ts";

/** Tag of a set, around an array (CDDL of the Conway era). */
const SET_TAG = 258;

export class TransactionError extends Error {
  override name = "TransactionError";
}

/** The value at an integer key of a map. */
export function at(map: CborNodeOf<"map">, key: number): CborNode | undefined {
  const wanted = BigInt(key);
  return map.entries.find(([node]) => node.kind === "int" && node.value === wanted)?.[1];
}

export function required(map: CborNodeOf<"map">, key: number, name: string): CborNode {
  const node = at(map, key);
  if (node === undefined) throw new TransactionError(`${name}: missing`);
  return node;
}

export function expect<K extends CborNode["kind"]>(
  node: CborNode | undefined,
  kind: K,
  name: string,
): CborNodeOf<K> {
  if (node?.kind !== kind) throw new TransactionError(`${name}: not ${kind}`);
  return node as CborNodeOf<K>;
}

/** Items of an array, or of a set (tag 258 around an array). */
export function itemsOf(node: CborNode, name: string): CborNode[] {
  const array = node.kind === "tag" && node.tag === SET_TAG ? node.content : node;
  return expect(array, "array", name).items;
}

export function integer(node: CborNode | undefined, name: string): bigint {
  const value = node === undefined ? null : integerOf(node);
  if (value === null) throw new TransactionError(`${name}: not an integer`);
  return value;
}

/** An integer that a number holds exactly: an index or a slot. */
export function small(node: CborNode | undefined, name: string): number {
  const value = integer(node, name);
  if (value < 0n || value > Number.MAX_SAFE_INTEGER)
    throw new TransactionError(`${name}: out of range`);
  return Number(value);
}
