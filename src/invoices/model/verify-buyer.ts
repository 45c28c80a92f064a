/** Proof that the buyer asks for its own invoices: a signature of its wallet's payment key. */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import type * as z from "zod";
import { toCanonicalJson } from "../../canonical-json.ts";
import { addressToBytes, type ParsedAddress, parseAddress } from "../../chain/address.ts";
import { readCoseSign1, verifyCoseMessage } from "../../chain/cose.ts";
import { isSignedBy } from "../../chain/ed25519.ts";
import { isHex } from "../../chain/hex.ts";
import type { Network } from "../../chain/network.ts";
import { hashKey } from "../../chain/wallet-keys.ts";
import { ApiError } from "../../http/errors.ts";
import type { signedInvoiceBody } from "./schemas.ts";

/** Longest validity of a signature. */
export const MAX_VALIDITY_MS = 2 * 60 * 60 * 1000;

type SignedFields = "action" | "validUntil" | "buyerWalletVkey" | "month";

/** The signed parts of a request, and its signature. */
type SignedRequest = Pick<
  z.output<typeof signedInvoiceBody>,
  SignedFields | "signature" | "key" | "walletAddress"
>;

/**
 * The text that the buyer signs: canonical JSON of the action, the expiry and a hash. The hash is the
 * SHA-256 of the canonical JSON of buyer, key hash and month.
 *
 * @param buyer - the party object as sent, restricted to its known members
 */
export function buildSignedMessage(
  request: Pick<SignedRequest, SignedFields>,
  buyer: object,
): string {
  const { action, validUntil, buyerWalletVkey, month } = request;
  const inner = toCanonicalJson({ Buyer: buyer, buyerWalletVkey, month });
  return toCanonicalJson({ action, hash: bytesToHex(sha256(utf8ToBytes(inner))), validUntil });
}

/**
 * Checks that the owner of the payment key `buyerWalletVkey` signed this request and that the
 * signature is still valid. The stake credential of an address never counts: anyone can make an
 * address from any stake key and another person's payment key.
 *
 * @param buyer - see `buildSignedMessage`
 * @param now - epoch milliseconds
 * @returns the network of the wallet
 * @throws ApiError 400, naming what does not match
 */
export function verifyBuyer(request: SignedRequest, buyer: object, now: number): Network {
  if (request.validUntil < now) throw new ApiError(400, "validUntil: the signature has expired");
  if (request.validUntil > now + MAX_VALIDITY_MS)
    throw new ApiError(400, "validUntil: must be at most two hours ahead");

  const address = parseAddress(request.walletAddress);
  if (!address) throw new ApiError(400, "walletAddress: is not a payment address in bech32");
  if (address.payment.kind !== "key")
    throw new ApiError(400, "walletAddress: belongs to a script, which cannot sign");
  if (address.payment.hash !== request.buyerWalletVkey.toLowerCase())
    throw new ApiError(400, "walletAddress: is not an address of buyerWalletVkey");

  const message = utf8ToBytes(buildSignedMessage(request, buyer));
  const isBare = isHexOfLength(64, request.signature) && isHexOfLength(32, request.key);
  if (isBare) verifyRawSignature(request, message);
  else verifyCoseSignature(request, message, address);
  return address.network;
}

function verifyRawSignature(request: SignedRequest, message: Uint8Array): void {
  const publicKey = hexToBytes(request.key);
  requirePaymentKey(request.buyerWalletVkey, publicKey);
  const signature = hexToBytes(request.signature);
  if (!isSignedBy(publicKey, message, signature))
    throw new ApiError(400, "signature: does not match the key and this request");
}

function verifyCoseSignature(
  request: SignedRequest,
  message: Uint8Array,
  address: ParsedAddress,
): void {
  const cose = readCoseSign1(request);
  if (cose === null)
    throw new ApiError(
      400,
      "signature: signature and key must be COSE_Sign1 and COSE_Key, or 64 and 32 bytes, in hex",
    );
  requirePaymentKey(request.buyerWalletVkey, cose.publicKey);
  if (cose.address === null)
    throw new ApiError(400, "signature: the protected headers must name the address");
  if (bytesToHex(cose.address) !== bytesToHex(addressToBytes(address.bech32)))
    throw new ApiError(400, "signature: must name the address in walletAddress");
  const verdict = verifyCoseMessage(cose, message);
  if (verdict === "other message")
    throw new ApiError(
      400,
      "signature: must sign this action, validUntil, Buyer, buyerWalletVkey and month",
    );
  if (verdict !== "signed") throw new ApiError(400, "signature: does not match the key");
}

function requirePaymentKey(vkey: string, publicKey: Uint8Array): void {
  if (hashKey(publicKey) !== vkey.toLowerCase())
    throw new ApiError(400, "key: is not the payment key of buyerWalletVkey");
}

function isHexOfLength(bytes: number, text: string): boolean {
  return text.length === 2 * bytes && isHex(text);
}
