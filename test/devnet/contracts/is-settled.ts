/** The rules on settlements of Web3ChainV2: 26 to 30. */
import { blake2b } from "@noble/hashes/blake2.js";
import { bytesToHex } from "../../../src/chain/hex.ts";
import { encodePlutusData, type PlutusData } from "../../../src/chain/plutus/data.ts";
import { type Action, type Amounts, covers, paidTo, placeOf } from "./action.ts";
import { isBytes, isConstr, isInt, isMap } from "./datum-fields.ts";
import { BOARDS } from "./escrows.ts";
import type { Spent } from "./evaluate-draft.ts";
import { referenceOf } from "./settlements.ts";
import { verifySignature } from "./verify-signature.ts";

/** How many places of administrators must agree. */
export const REQUIRED = 2;
export const administratorsOf = ({ board = "three" }: Spent) => BOARDS[board];

/** Reads a value that obeys rule 29. */
function readValue(data: PlutusData | undefined): Amounts | null {
  if (!isMap(data)) return null;
  const value: Amounts = new Map();
  const policies = new Set<string>();
  for (const [policy, names] of data.entries) {
    if (!isBytes(policy) || !isMap(names) || names.entries.length === 0) return null;
    if (policies.has(bytesToHex(policy))) return null;
    policies.add(bytesToHex(policy));
    let last: string | null = null;
    for (const [name, quantity] of names.entries) {
      if (!isBytes(name) || !isInt(quantity) || quantity === 0n) return null;
      const hex = bytesToHex(name);
      if (last !== null && hex <= last) return null;
      last = hex;
      value.set(bytesToHex(policy) + hex, quantity);
    }
  }
  return value;
}

const hash224 = (bytes: Uint8Array) => blake2b(bytes, { dkLen: 28 });

/** Whether a settlement obeys rules 26 to 30. */
export function isSettled(action: Action): boolean {
  const { redeemer, spent } = action;
  const administrators = administratorsOf(spent);
  const [toBuyer, toSeller, signatures] = redeemer.fields;
  if (redeemer.fields.length !== 3 || !Array.isArray(signatures)) return false;
  const buyers = readValue(toBuyer);
  const sellers = readValue(toSeller);
  if (!buyers || !sellers || !toBuyer || !toSeller) return false;
  const parts = signatures.map((signature) =>
    isConstr(signature) &&
    signature.index === 0 &&
    signature.fields.length === 3 &&
    signature.fields.every(isBytes)
      ? (signature.fields as Uint8Array[])
      : null,
  );
  if (parts.includes(null) || parts.length > administrators.length) return false;
  if (!covers(paidTo(action, placeOf(action, "buyer")), buyers)) return false;
  if (!covers(paidTo(action, placeOf(action, "seller")), sellers)) return false;
  const message = hash224(
    encodePlutusData({ index: 0, fields: [referenceOf(spent), toBuyer, toSeller] }),
  );
  let agreeing = 0;
  for (const { vkey } of administrators)
    for (const part of parts) {
      const [key, headers, signature] = part as [Uint8Array, Uint8Array, Uint8Array];
      if (headers.length > 256) return false;
      if (bytesToHex(hash224(key)) !== vkey) continue;
      if (signature.length !== 64) return false;
      const isOver = (payload: Uint8Array) => verifySignature(key, headers, payload, signature);
      if (!isOver(message) && !isOver(hash224(message))) continue;
      agreeing++;
      break;
    }
  return agreeing >= REQUIRED && administrators.length >= REQUIRED;
}
