/** Short forms for taking ledger structures apart; each throws a `CborError` on a surprise. */
import { bytesToHex } from "@noble/hashes/utils.js";
import { CborError, type CborKind, type CborNode, type CborNodeOf } from "../../src/chain/cbor.ts";

export function expectNode<K extends CborKind>(node: CborNode | undefined, kind: K): CborNodeOf<K> {
  if (node?.kind !== kind) throw new CborError(`${node?.kind ?? "nothing"} in place of ${kind}`);
  return node as CborNodeOf<K>;
}

/** The members of an array, or of a set: an array under tag 258. None when the node is missing. */
export function itemsOf(node: CborNode | undefined): CborNode[] {
  if (node === undefined) return [];
  return expectNode(node.kind === "tag" ? node.content : node, "array").items;
}

/** The fields of a map whose keys are small integers. None when the node is missing. */
export function fieldsOf(node: CborNode | undefined): Map<number, CborNode> {
  const entries = node ? expectNode(node, "map").entries : [];
  return new Map(entries.map(([key, value]) => [Number(intOf(key)), value]));
}

export function bytesOf(node: CborNode | undefined): Uint8Array {
  return expectNode(node, "bytes").value;
}

export function hexOf(node: CborNode | undefined): string {
  return bytesToHex(bytesOf(node));
}

export function intOf(node: CborNode | undefined): bigint {
  return expectNode(node, "int").value;
}

/** Exactly the bytes of a node, out of those it was read from. */
export function cut(source: Uint8Array, node: CborNode): Uint8Array {
  return source.subarray(node.start, node.end);
}
