/**
 * What administrators sign to settle a dispute: on Web3ChainV2 a message (rules 26 to 29 of
 * docs/escrow-contract.md), on Web3ChainV1 the transaction.
 */
import { blake2b } from "@noble/hashes/blake2.js";
import { encodeRedeemer, REDEEMERS } from "../../chain/contracts/redeemers.ts";
import { type CoseSignature, readCoseSign1, verifyCoseMessage } from "../../chain/cose.ts";
import { isSignedBy } from "../../chain/ed25519.ts";
import { bytesToHex, hexToBytes } from "../../chain/hex.ts";
import { encodePlutusData } from "../../chain/plutus/data.ts";
import type { OutputReference } from "../../chain/transaction/transaction-plan.ts";
import { readWitnesses } from "../../chain/transaction/witnesses.ts";
import { hashKey } from "../../chain/wallet-keys.ts";
import { encodeFunds, type SettlementSplit } from "../model/split.ts";

/** An administrator's signature as the redeemer, or the transaction, carries it, hex. */
export interface AdminSignature {
  /** Payment key hash. */
  vkey: string;
  publicKey: string;
  /** Protected headers, as they were signed; of a transaction's signature empty. */
  headers: string;
  signature: string;
}

/** How many of the required signatures were given: who has several places counts as often. */
export function countGivenSignatures(
  administrators: readonly string[],
  signed: readonly AdminSignature[],
) {
  return administrators.filter((vkey) => signed.some((one) => one.vkey === vkey)).length;
}

const DIGEST_OPTIONS = { dkLen: 28 };
/** The contract takes no longer ones. */
const MAX_HEADER_BYTES = 256;

/** The message that settles an escrow's output in a way, 28 bytes. */
export function buildSettlementMessage(
  { txHash, index }: OutputReference,
  split: SettlementSplit,
): Uint8Array {
  const own = { index: 0, fields: [hexToBytes(txHash), BigInt(index)] };
  const fields = [own, encodeFunds(split.buyer), encodeFunds(split.seller)];
  return blake2b(encodePlutusData({ index: 0, fields }), DIGEST_OPTIONS);
}

/** CBOR of the redeemer that settles. */
export function encodeSettlementRedeemer(
  split: SettlementSplit,
  signatures: readonly AdminSignature[],
): Uint8Array {
  return encodeRedeemer(REDEEMERS.WithdrawDisputed, [
    encodeFunds(split.buyer),
    encodeFunds(split.seller),
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
  if (parts.protectedHeader.length > MAX_HEADER_BYTES)
    return { problem: `must have protected headers of at most ${MAX_HEADER_BYTES} bytes` };
  if (verifyCoseMessage(parts, message) !== "signed")
    return { problem: "does not sign the proposal's message" };
  return {
    vkey: bytesToHex(blake2b(parts.publicKey, DIGEST_OPTIONS)),
    publicKey: bytesToHex(parts.publicKey),
    headers: bytesToHex(parts.protectedHeader),
    signature: bytesToHex(parts.signature),
  };
}

/**
 * Reads the administrators' signatures of a transaction from a wallet's answer to `signTx`
 * (CIP-30).
 *
 * @param hash - the transaction's hash, hex
 * @param signers - payment key hashes that the transaction names
 * @returns the signatures, or a message for people
 */
export function readWitnessSet(
  hash: string,
  signers: readonly string[],
  answered: string,
): AdminSignature[] | { problem: string } {
  const given = readWitnesses(answered);
  if (given === null)
    return { problem: "must be a witness set with signatures, or a signed transaction, in hex" };
  const { witnesses, transaction } = given;
  if (transaction !== null && transaction !== hash)
    return {
      problem: `signs the transaction ${transaction}, not the proposal's transaction ${hash}`,
    };
  const all = witnesses.map((one) => ({ ...one, vkey: hashKey(one.publicKey) }));
  const asked = all.filter(({ vkey }) => signers.includes(vkey));
  if (asked.length === 0)
    return {
      problem: `has the signers ${all.map(({ vkey }) => vkey).join(", ")}: the transaction requires ${signers.join(", ")}`,
    };
  const bad = asked.find((one) => !isSignedBy(one.publicKey, hexToBytes(hash), one.signature));
  if (bad)
    return {
      problem: `the signature of ${bad.vkey} does not match the proposal's transaction ${hash}`,
    };
  const read = asked.map(({ publicKey, signature, vkey }) => ({
    vkey,
    publicKey: bytesToHex(publicKey),
    headers: "",
    signature: bytesToHex(signature),
  }));
  return [...new Map(read.map((one) => [one.vkey, one])).values()];
}
