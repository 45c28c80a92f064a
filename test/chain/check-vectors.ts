/** The checks that our vectors and others in the same form have in common. */
import { expect, it } from "vitest";
import {
  decodeBlockchainIdentifier,
  encodeBlockchainIdentifier,
  encodeSignedTerms,
  type SignedTerms,
  toBlockchainIdentifier,
  verifySellerSignature,
} from "../../src/chain/contracts/blockchain-identifier.ts";
import {
  DATUM_STATES,
  decodeEscrowDatum,
  type EscrowDatum,
  encodeEscrowDatum,
} from "../../src/chain/contracts/escrow-datum.ts";
import { encodeOwnReference, encodeRedeemer } from "../../src/chain/contracts/redeemers.ts";
import { bytesToHex } from "../../src/chain/hex.ts";
import { slotAt, timeOfSlot } from "../../src/chain/slots.ts";
import { hashKey } from "../../src/chain/wallet-keys.ts";
import { verifyCoseSign1 } from "../support/verify-cose-sign1.ts";

export interface IdentifierVector {
  version: number;
  payload: {
    inputHash: string;
    agentIdentifier: string;
    purchaserIdentifier: string;
    sellerIdentifier: string;
    RequestedFunds: { amount: string; unit: string }[] | null;
    payByTime: string;
    submitResultTime: string;
    unlockTime: string;
    externalDisputeUnlockTime: string;
    sellerAddress: string;
    sellerReturnAddress?: string | null;
    smartContractAddress?: string;
    supportedPaymentSourceIndex?: number;
  };
  canonicalJson: string;
  sha256: string;
  signature: string;
  key: string;
  segments: string[];
  blockchainIdentifier: string;
}

export interface DatumVector {
  name: string;
  version: string;
  input: {
    id: string;
    buyer: string;
    seller: string;
    br?: string | null;
    sr?: string | null;
    coll: string;
    inputHash: string;
    resultHash: string | null;
    t: string[];
    sc: string;
    bc: string;
    state: number;
  };
  cbor: string;
}

interface SlotVector {
  zeroTimeMs: number;
  zeroSlot: number;
  at1800000000000: number;
}

export function checkIdentifiers(rows: IdentifierVector[], v1Contract: string): void {
  it.each(rows)("identifier of V$version: segments and text follow from each other", (row) => {
    const [sellerId, buyerNonce, signature, key, contractAddress = null] = row.segments;
    const decoded = decodeBlockchainIdentifier(row.blockchainIdentifier);
    expect(decoded).toEqual({
      sellerId,
      buyerNonce,
      signature,
      key,
      contractAddress,
      agentIdentifier: row.payload.agentIdentifier,
    });
    expect(decoded && encodeBlockchainIdentifier(decoded)).toBe(row.blockchainIdentifier);
  });

  it.each(rows)(
    "identifier of V$version: the terms have the text and hash that were signed",
    (row) => {
      const { text, hash } = encodeSignedTerms(termsOf(row), contextOf(row, v1Contract));
      expect(text).toBe(row.canonicalJson);
      expect(bytesToHex(hash)).toBe(row.sha256);
    },
  );

  it.each(rows)("identifier of V$version: the COSE signature verifies over that hash", (row) => {
    const cose = verifyCoseSign1(row);
    expect(cose?.valid).toBe(true);
    expect(cose && bytesToHex(cose.payload)).toBe(row.sha256);
  });
}

export function termsOf({ version, payload }: IdentifierVector): SignedTerms {
  return {
    version: version === 1 ? "Web3ChainV1" : "Web3ChainV2",
    inputHash: payload.inputHash,
    agentIdentifier: payload.agentIdentifier,
    buyerNonce: payload.purchaserIdentifier,
    sellerNonce: payload.sellerIdentifier.slice(0, 64),
    payByTime: BigInt(payload.payByTime),
    submitResultTime: BigInt(payload.submitResultTime),
    unlockTime: BigInt(payload.unlockTime),
    externalDisputeUnlockTime: BigInt(payload.externalDisputeUnlockTime),
    seller: payload.sellerAddress,
    sellerReturnAddress: payload.sellerReturnAddress ?? null,
  };
}

export function contextOf({ payload }: IdentifierVector, v1Contract: string) {
  const { RequestedFunds, supportedPaymentSourceIndex } = payload;
  return {
    contractAddress: payload.smartContractAddress ?? v1Contract,
    requestedFunds:
      RequestedFunds?.map(({ unit, amount }) => ({ unit, amount: BigInt(amount) })) ?? null,
    ...(supportedPaymentSourceIndex !== undefined && { supportedPaymentSourceIndex }),
  };
}

/** Of every datum vector: what locks of 10 whole coins were asked for in the signed terms. */
const PRICE = 10_000_000n;

export function checkDatums(rows: DatumVector[], contracts: { V1: string; V2: string }): void {
  it.each(rows)("datum $name: the fields make the bytes, the bytes the fields", (row) => {
    const datum = datumOf(row);
    expect(bytesToHex(encodeEscrowDatum(datum))).toBe(row.cbor);
    const context = {
      version: datum.version,
      network: "Preprod" as const,
      contractAddress: datum.version === "Web3ChainV1" ? contracts.V1 : contracts.V2,
    };
    expect(decodeEscrowDatum(row.cbor, context)).toEqual({ ok: true, datum });
    expect(toBlockchainIdentifier(datum, context.contractAddress)).toBe(row.input.id);
  });

  // The seller of these vectors signed that there is no return address.
  const signed = rows.filter(({ input }) => !input.sr);
  it.each(signed)("datum $name: carries a valid signature of its seller", (row) => {
    const datum = datumOf(row);
    const contractAddress = datum.version === "Web3ChainV1" ? contracts.V1 : contracts.V2;
    const lockedFunds = [{ unit: "", amount: PRICE + datum.collateralReturn }];
    expect(verifySellerSignature(datum, { contractAddress, lockedFunds })).toEqual({ ok: true });
  });
}

/** The datum that a vector describes, put together without reading its CBOR. */
export function datumOf({ version, input }: DatumVector): EscrowDatum {
  const segments = decodeBlockchainIdentifier(input.id);
  const cose = segments && verifyCoseSign1(segments);
  const state = DATUM_STATES[input.state];
  const [payByTime = "", submitResultTime = "", unlockTime = "", disputeTime = ""] = input.t;
  if (!segments || !cose || !state) throw new Error("the vector has no identifier or state");
  return {
    version: version === "V1" ? "Web3ChainV1" : "Web3ChainV2",
    buyer: input.buyer,
    // The vectors share one buyer.
    buyerVkey: "1f9d349ec66fb28920e0f093edce415792ce0281a8825015ce3e16bf",
    seller: input.seller,
    sellerVkey: hashKey(cose.publicKey),
    buyerReturnAddress: input.br ?? null,
    sellerReturnAddress: input.sr ?? null,
    referenceKey: segments.key,
    referenceSignature: segments.signature,
    sellerNonce: segments.sellerId.slice(0, 64),
    buyerNonce: segments.buyerNonce,
    agentIdentifier: segments.agentIdentifier,
    collateralReturn: BigInt(input.coll),
    inputHash: input.inputHash,
    resultHash: input.resultHash ?? "",
    payByTime: BigInt(payByTime),
    submitResultTime: BigInt(submitResultTime),
    unlockTime: BigInt(unlockTime),
    externalDisputeUnlockTime: BigInt(disputeTime),
    sellerCooldownTime: BigInt(input.sc),
    buyerCooldownTime: BigInt(input.bc),
    state,
  };
}

export function checkRedeemers(vectors: {
  rows: { alt: number; cbor: string }[];
  outputReferenceDatum: { txHash: string; index: number; cbor: string };
}): void {
  it.each(vectors.rows)("redeemer $alt is written as $cbor", ({ alt, cbor }) => {
    expect(bytesToHex(encodeRedeemer(alt))).toBe(cbor);
  });

  it("a payout's datum refers to the output it pays out", () => {
    const { txHash, index, cbor } = vectors.outputReferenceDatum;
    expect(bytesToHex(encodeOwnReference(txHash, index))).toBe(cbor);
  });
}

export function checkSlots(vectors: { preprod: SlotVector; mainnet: SlotVector }): void {
  it.each([
    ["Preprod", vectors.preprod],
    ["Mainnet", vectors.mainnet],
  ] as const)("slots of %s are counted from its origin", (network, vector) => {
    expect(slotAt(network, vector.zeroTimeMs)).toBe(vector.zeroSlot);
    expect(slotAt(network, 1_800_000_000_000)).toBe(vector.at1800000000000);
    expect(slotAt(network, 1_800_000_000_999)).toBe(vector.at1800000000000);
    expect(timeOfSlot(network, vector.at1800000000000)).toBe(1_800_000_000_000);
  });
}
