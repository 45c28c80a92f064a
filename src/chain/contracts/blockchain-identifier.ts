import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import lz from "lz-string";
import { subtractCollateral } from "../amounts.ts";
import { isPayloadOf, readCoseSign1, signCoseSign1, verifyCoseMessage } from "../cose.ts";
import { bytesToHex, hexToBytes, isHex } from "../hex.ts";
import type { Funds } from "../network.ts";
import { hashKey, type WalletKeys } from "../wallet-keys.ts";
import { type EscrowDatum, SELLER_NONCE_LENGTH } from "./escrow-datum.ts";

/** The parts of a `blockchainIdentifier`; all but the address are lower-case hex. */
export interface IdentifierSegments {
  /** The seller's nonce, 64 characters, followed by the agent identifier. */
  sellerId: string;
  buyerNonce: string;
  /** COSE_Sign1 over the terms. */
  signature: string;
  /** COSE_Key of the seller. */
  key: string;
  /** Null in identifiers of Web3ChainV1, which do not name the contract. */
  contractAddress: string | null;
}

interface DecodedIdentifier extends IdentifierSegments {
  agentIdentifier: string | null;
}

/** Hex digits; real identifiers have some 1,200. */
const MAX_IDENTIFIER_LENGTH = 16_384;
const MAX_ADDRESS_LENGTH = 250;
const MAX_PARTS = 5;
/** The ledger's largest transaction. */
const MAX_TRANSACTION_BYTES = 16_384;
/**
 * Characters of the parts with their separators: a transaction carries all parts as bytes, which are
 * hex here, except for the address of the contract.
 */
const MAX_TEXT_LENGTH = 2 * MAX_TRANSACTION_BYTES + MAX_ADDRESS_LENGTH + MAX_PARTS - 1;

/** The identifier that buyer, seller and contract know an escrow by: lower-case hex. */
export function encodeBlockchainIdentifier(segments: IdentifierSegments): string {
  const { sellerId, buyerNonce, signature, key, contractAddress } = segments;
  const parts = [sellerId, buyerNonce, signature, key];
  if (contractAddress !== null) parts.push(contractAddress);
  return bytesToHex(lz.compressToUint8Array(parts.join(".")));
}

/** Parses an identifier; null when the text is not one. No signature is checked. */
export function decodeBlockchainIdentifier(hex: string): DecodedIdentifier | null {
  // The compression writes units of two bytes.
  if (hex.length % 4 !== 0 || hex.length > MAX_IDENTIFIER_LENGTH || !isHex(hex)) return null;
  const text = decompressLz(hexToBytes(hex), MAX_TEXT_LENGTH) ?? "";
  const parts = text.split(".", MAX_PARTS + 1);
  const [sellerId, buyerNonce, signature, key, contractAddress] = parts;
  if (sellerId === undefined || buyerNonce === undefined) return null;
  if (signature === undefined || key === undefined || parts.length > MAX_PARTS) return null;
  if (!isHex(sellerId) || !isHex(buyerNonce)) return null;
  if (contractAddress !== undefined && !isAddressLike(contractAddress)) return null;
  return {
    sellerId,
    buyerNonce,
    signature,
    key,
    contractAddress: contractAddress ?? null,
    agentIdentifier: sellerId.slice(SELLER_NONCE_LENGTH) || null,
  };
}

function isAddressLike(text: string): boolean {
  return text.startsWith("addr") && text.length <= MAX_ADDRESS_LENGTH;
}

/** The identifier of the escrow that a datum belongs to. */
export function toBlockchainIdentifier(datum: EscrowDatum, contractAddress: string): string {
  return encodeBlockchainIdentifier({
    sellerId: sellerIdOf(datum),
    buyerNonce: datum.buyerNonce,
    signature: datum.referenceSignature,
    key: datum.referenceKey,
    contractAddress: datum.version === "Web3ChainV1" ? null : contractAddress,
  });
}

function sellerIdOf({ sellerNonce, agentIdentifier }: SignedTerms): string {
  return sellerNonce + (agentIdentifier ?? "");
}

/** The part of a datum that the seller signs. */
export type SignedTerms = Pick<
  EscrowDatum,
  | "version"
  | "inputHash"
  | "agentIdentifier"
  | "buyerNonce"
  | "sellerNonce"
  | "payByTime"
  | "submitResultTime"
  | "unlockTime"
  | "externalDisputeUnlockTime"
  | "seller"
  | "sellerReturnAddress"
>;

/** What the seller also signs, but the datum does not hold. */
export interface TermsContext {
  contractAddress: string;
  /** Null: the price is fixed by the agent's registration. */
  requestedFunds: Funds[] | null;
  /** Position among the registration's payment sources (Web3ChainV2); older sellers omit it. */
  supportedPaymentSourceIndex?: number;
}

/** The canonical JSON text of the terms, and its SHA-256: the payload of the seller's signature. */
export function encodeSignedTerms(
  terms: SignedTerms,
  { contractAddress, requestedFunds, supportedPaymentSourceIndex }: TermsContext,
): { text: string; hash: Uint8Array } {
  // Canonical: no space, and keys in the order of their code units.
  const text = JSON.stringify({
    RequestedFunds:
      requestedFunds?.map(({ unit, amount }) => ({ amount: String(amount), unit })) ?? null,
    agentIdentifier: terms.agentIdentifier,
    externalDisputeUnlockTime: String(terms.externalDisputeUnlockTime),
    inputHash: terms.inputHash,
    payByTime: String(terms.payByTime),
    purchaserIdentifier: terms.buyerNonce,
    sellerAddress: terms.seller,
    sellerIdentifier: sellerIdOf(terms),
    ...(terms.version === "Web3ChainV2" && {
      sellerReturnAddress: terms.sellerReturnAddress,
      smartContractAddress: contractAddress,
    }),
    submitResultTime: String(terms.submitResultTime),
    ...(terms.version === "Web3ChainV2" && { supportedPaymentSourceIndex }),
    unlockTime: String(terms.unlockTime),
  });
  return { text, hash: sha256(utf8ToBytes(text)) };
}

/** Signs terms as a seller's service does: the signature in datum and identifier. */
export function signIdentifier(
  terms: SignedTerms,
  context: TermsContext,
  keys: WalletKeys,
): { referenceSignature: string; referenceKey: string; blockchainIdentifier: string } {
  const { signature, key } = signCoseSign1(encodeSignedTerms(terms, context).hash, keys);
  const blockchainIdentifier = encodeBlockchainIdentifier({
    sellerId: sellerIdOf(terms),
    buyerNonce: terms.buyerNonce,
    signature,
    key,
    contractAddress: terms.version === "Web3ChainV1" ? null : context.contractAddress,
  });
  return { referenceSignature: signature, referenceKey: key, blockchainIdentifier };
}

/**
 * Whether the seller that a datum names signed its terms. The datum lacks two signed values, so each of
 * their possible values is tried. The first is the requested funds: none for a fixed price, else the
 * locked funds less the collateral, in any order. The second is the position of the payment source. The
 * check takes a few milliseconds, and some ten times as long for four assets and other terms. The
 * costly check of the signature comes last.
 *
 * @param lockedFunds - the funds of the output that locked the escrow
 * @param requestedFunds - where they are known, in the order in which they were asked for
 */
export function verifySellerSignature(
  datum: EscrowDatum,
  {
    contractAddress,
    lockedFunds,
    requestedFunds,
  }: { contractAddress: string; lockedFunds: Funds[]; requestedFunds?: Funds[] | undefined },
): { ok: true } | { ok: false; reason: string } {
  const { referenceSignature: signature, referenceKey: key, sellerVkey } = datum;
  return verifyTerms(
    datum,
    { signature, key, sellerVkey },
    listPossibleContexts(datum, contractAddress, lockedFunds, requestedFunds),
  );
}

/** A seller's signature, and whose it has to be. */
export interface SellerSignature {
  /** COSE_Sign1, hex. */
  signature: string;
  /** COSE_Key, hex. */
  key: string;
  /** Payment key hash, hex. */
  sellerVkey: string;
}

/**
 * Whether a seller signed terms.
 *
 * @param contexts - what else may have been signed with them
 */
export function verifyTerms(
  terms: SignedTerms,
  { signature, key, sellerVkey }: SellerSignature,
  contexts: readonly TermsContext[],
): { ok: true } | { ok: false; reason: string } {
  if (terms.sellerNonce.length !== SELLER_NONCE_LENGTH)
    return { ok: false, reason: "the seller's nonce is not 32 bytes" };
  const cose = readCoseSign1({ signature, key });
  if (cose === null) return { ok: false, reason: "the seller's signature is not COSE" };
  if (hashKey(cose.publicKey) !== sellerVkey)
    return { ok: false, reason: "the signing key is not the seller's" };
  const hashOf = (context: TermsContext) => encodeSignedTerms(terms, context).hash;
  const signed = contexts.find((context) => isPayloadOf(cose, hashOf(context)));
  if (!signed) return { ok: false, reason: "the seller signed other terms" };
  return verifyCoseMessage(cose, hashOf(signed)) === "signed"
    ? { ok: true }
    : { ok: false, reason: "the seller's signature is invalid" };
}

/** A registration has at most 25 payment sources. */
const PAYMENT_SOURCE_INDEXES = [undefined, ...Array.from({ length: 25 }, (_, index) => index)];
/** Beyond this many assets not every order is tried. */
const MAX_PERMUTED_ASSETS = 4;

function listPossibleContexts(
  datum: EscrowDatum,
  contractAddress: string,
  lockedFunds: Funds[],
  known?: Funds[],
): TermsContext[] {
  const price = subtractCollateral(lockedFunds, datum.collateralReturn);
  const orders = known
    ? [known]
    : price.length <= MAX_PERMUTED_ASSETS
      ? listPermutations(price)
      : [price];
  const indexes = datum.version === "Web3ChainV1" ? [undefined] : PAYMENT_SOURCE_INDEXES;
  return [null, ...orders].flatMap((requestedFunds) =>
    indexes.map((index) => ({
      contractAddress,
      requestedFunds,
      ...(index !== undefined && { supportedPaymentSourceIndex: index }),
    })),
  );
}

function listPermutations<T>(items: T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, i) =>
    listPermutations(items.toSpliced(i, 1)).map((others) => [item, ...others]),
  );
}

/** Codes that are no entries: a character of 8 or of 16 bits follows, or the text ends. */
const LZ_CODES = { character8: 0, character16: 1, end: 2 };
const FIRST_ENTRY_CODE = 3;

/** A part of the text that a code repeats. */
interface LzEntry {
  start: number;
  length: number;
}

/**
 * Decompresses what `compressToUint8Array` of lz-string compresses. The library's function has no
 * bound. A text can be hundreds of times as long as its compressed bytes.
 *
 * @param maxLength - of the text, in UTF-16 code units; memory and time stay proportional to it
 * @returns null when the bytes are malformed, or the text is longer
 */
export function decompressLz(bytes: Uint8Array, maxLength: number): string | null {
  const characters: string[] = [];
  const entries: LzEntry[] = [];
  const read = createBitReader(bytes);
  let previous: LzEntry | null = null;
  for (;;) {
    // As many bits as the largest code needs, which is that of `next`.
    const code = read((entries.length + FIRST_ENTRY_CODE).toString(2).length);
    if (code === null) return null;
    if (code === LZ_CODES.end) return characters.join("");
    const start = characters.length;
    // Becomes an entry with this code: the previous part, and the first character of this one.
    const next: LzEntry | null = previous && { start: previous.start, length: previous.length + 1 };
    let entry: LzEntry | null | undefined;
    if (code < FIRST_ENTRY_CODE) {
      const character = read(code === LZ_CODES.character8 ? 8 : 16);
      if (character === null || start === maxLength) return null;
      characters.push(String.fromCharCode(character));
      entry = { start, length: 1 };
      entries.push(entry);
    } else {
      const index = code - FIRST_ENTRY_CODE;
      entry = index === entries.length ? next : entries[index];
      if (!entry || start + entry.length > maxLength) return null;
      // One by one: `next` ends with a character that is pushed here.
      for (let i = 0; i < entry.length; i++) characters.push(characters[entry.start + i] ?? "");
    }
    if (next) entries.push(next);
    previous = { start, length: entry.length };
  }
}

/** Reads numbers whose lowest bit comes first from bytes whose highest bit comes first. */
function createBitReader(bytes: Uint8Array): (count: number) => number | null {
  let offset = 0;
  return (count) => {
    if (offset + count > bytes.length * 8) return null;
    let value = 0;
    for (let i = 0; i < count; i++, offset++)
      value |= (((bytes[offset >> 3] ?? 0) >> (7 - (offset & 7))) & 1) << i;
    return value;
  };
}
