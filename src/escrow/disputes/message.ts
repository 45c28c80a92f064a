/** What administrators sign to settle a dispute of Web3ChainV2: rules 26 to 29 of docs/escrow-contract.md. */
import { blake2b } from "@noble/hashes/blake2.js";
import { type CoseSignature, isCoseValid, readCoseSign1 } from "../../chain/cose.ts";
import { bytesToHex, hexToBytes } from "../../chain/hex.ts";
import { encodePlutusData, type PlutusMap } from "../../chain/plutus/data.ts";
import { encodeRedeemer, REDEEMERS } from "../../chain/redeemer.ts";
import type { OutputReference } from "../../chain/transaction/plan.ts";
import type { StoredFunds } from "../record.ts";

/** How an escrow's funds are divided. */
export interface Split {
  buyer: readonly StoredFunds[];
  seller: readonly StoredFunds[];
}

/** An administrator's signature as the redeemer carries it, hex. */
export interface AdminSignature {
  /** Payment key hash. */
  vkey: string;
  publicKey: string;
  /** Protected headers, as they were signed. */
  headers: string;
  signature: string;
}

const DIGEST = { dkLen: 28 };
const POLICY_ID_LENGTH = 56;
/** The contract takes no longer ones. */
const MOST_HEADER_BYTES = 256;

/** The message that settles an escrow's output in a way, 28 bytes. */
export function settlementMessage({ txHash, index }: OutputReference, split: Split): Uint8Array {
  const own = { index: 0, fields: [hexToBytes(txHash), BigInt(index)] };
  const fields = [own, valueData(split.buyer), valueData(split.seller)];
  return blake2b(encodePlutusData({ index: 0, fields }), DIGEST);
}

/** CBOR of the redeemer that settles. */
export function settlementRedeemer(
  split: Split,
  signatures: readonly AdminSignature[],
): Uint8Array {
  return encodeRedeemer(REDEEMERS.WithdrawDisputed, [
    valueData(split.buyer),
    valueData(split.seller),
    signatures.map(({ publicKey, headers, signature }) => ({
      index: 0,
      fields: [publicKey, headers, signature].map(hexToBytes),
    })),
  ]);
}

/**
 * Reads a signature of a message as wallets make it (CIP-30). Wallets on hardware sign the message's
 * blake2b-224 instead, which the contract takes as well (CIP-8, `hashed`).
 *
 * @returns what is wrong with it, for people, if anything is
 */
export function readSignature(
  message: Uint8Array,
  cose: CoseSignature,
): AdminSignature | { problem: string } {
  const parts = readCoseSign1(cose);
  if (parts === null) return { problem: "must be a COSE_Sign1 with its COSE_Key" };
  if (parts.headers.length > MOST_HEADER_BYTES)
    return { problem: `must have protected headers of at most ${MOST_HEADER_BYTES} bytes` };
  // What the payload says is a claim: one of the two must really have been signed.
  const isSigned = [message, blake2b(message, DIGEST)].some((payload) =>
    isCoseValid({ ...parts, payload }),
  );
  if (!isSigned) return { problem: "does not sign the proposal's message" };
  return {
    vkey: bytesToHex(blake2b(parts.publicKey, DIGEST)),
    publicKey: bytesToHex(parts.publicKey),
    headers: bytesToHex(parts.headers),
    signature: bytesToHex(parts.signature),
  };
}

/** Plutus data of a value: by policy and name in their order, the native coin under empty names. */
function valueData(funds: readonly StoredFunds[]): PlutusMap {
  const sorted = funds
    .filter(({ amount }) => BigInt(amount) !== 0n)
    .toSorted((a, b) => (a.unit < b.unit ? -1 : 1));
  const policies = Map.groupBy(sorted, ({ unit }) => unit.slice(0, POLICY_ID_LENGTH));
  return {
    entries: [...policies].map(([policyId, assets]) => [
      hexToBytes(policyId),
      {
        entries: assets.map(({ unit, amount }) => [
          hexToBytes(unit.slice(POLICY_ID_LENGTH)),
          BigInt(amount),
        ]),
      },
    ]),
  };
}
