import { formatAddress } from "../address.ts";
import { bytesToHex, hexToBytes, isHex } from "../hex.ts";
import type { Network, OnChainState, PaymentSourceType } from "../network.ts";
import { readPlutusAddress, toPlutusAddress, toPlutusOptionalAddress } from "../plutus/address.ts";
import {
  decodePlutusData,
  encodePlutusData,
  type PlutusData,
  PlutusDataError,
} from "../plutus/data.ts";
import { expectBytes, expectConstr, expectNoFields, expectOneField } from "../plutus/fields.ts";

/** States that a datum can have, by constructor number. Web3ChainV1 has only the first ones. */
export const DATUM_STATES = [
  "FundsLocked",
  "ResultSubmitted",
  "RefundRequested",
  "Disputed",
  "WithdrawAuthorized",
  "RefundAuthorized",
] as const satisfies readonly OnChainState[];
export type DatumState = (typeof DATUM_STATES)[number];
const V1_STATE_COUNT = 4;

/** The inline datum of an escrow output. Bytes are lower-case hex, times Unix milliseconds. */
export interface EscrowDatum {
  version: PaymentSourceType;
  /** bech32, like every address here. */
  buyer: string;
  /** Payment key hash, 56 hex characters. */
  buyerVkey: string;
  seller: string;
  sellerVkey: string;
  /** Always null in Web3ChainV1, which has no such field. */
  buyerReturnAddress: string | null;
  sellerReturnAddress: string | null;
  /** COSE_Key of the seller's signing key. */
  referenceKey: string;
  /** COSE_Sign1 over the terms; unique per escrow, so it links an output to its predecessor. */
  referenceSignature: string;
  /** The seller's 32 random bytes, in both versions without the agent identifier. */
  sellerNonce: string;
  buyerNonce: string;
  /** Policy id and asset name. Web3ChainV1 keeps it behind the seller's nonce in one field. */
  agentIdentifier: string | null;
  /** Native minor units returned to the buyer at the end. */
  collateralReturn: bigint;
  /** `""`: none. */
  inputHash: string;
  /** `""`: none. */
  resultHash: string;
  payByTime: bigint;
  submitResultTime: bigint;
  unlockTime: bigint;
  externalDisputeUnlockTime: bigint;
  /** Of any size: the contract sets no upper bound. */
  sellerCooldownTime: bigint;
  buyerCooldownTime: bigint;
  state: DatumState;
}

export interface EscrowDatumContext {
  version: PaymentSourceType;
  network: Network;
  contractAddress: string;
}

export type DecodedEscrowDatum = { ok: true; datum: EscrowDatum } | { ok: false; reason: string };

/** Characters of the seller's nonce in hex; what follows it in a seller id is the agent identifier. */
export const SELLER_NONCE_LENGTH = 64;

/**
 * Reads an escrow datum as the contract of that version would. Anyone can pay to the contract with
 * any datum, so anything else gives a reason, never an exception.
 *
 * @param cbor - the inline datum, bytes or hex
 */
export function decodeEscrowDatum(
  cbor: Uint8Array | string,
  context: EscrowDatumContext,
): DecodedEscrowDatum {
  try {
    return { ok: true, datum: readDatum(decodePlutusData(toBytes(cbor)), context) };
  } catch (error) {
    if (error instanceof PlutusDataError) return { ok: false, reason: error.message };
    throw error;
  }
}

function toBytes(cbor: Uint8Array | string): Uint8Array {
  if (typeof cbor !== "string") return cbor;
  if (!isHex(cbor)) throw new PlutusDataError("not hex");
  return hexToBytes(cbor);
}

function readDatum(
  data: PlutusData,
  { version, network, contractAddress }: EscrowDatumContext,
): EscrowDatum {
  const fields = new DatumFieldReader(expectConstr(data, "datum", 0).fields, network);
  const datum = readFields(fields, version);
  fields.expectEnd();
  if (version === "Web3ChainV2") {
    // Such an escrow could never pay out.
    const { buyer, seller, buyerReturnAddress, sellerReturnAddress } = datum;
    if ([buyer, seller, buyerReturnAddress, sellerReturnAddress].includes(contractAddress))
      throw new PlutusDataError("a party is the contract itself");
  }
  return datum;
}

/** Reads the fields in their order, which both layouts share. */
function readFields(fields: DatumFieldReader, version: PaymentSourceType): EscrowDatum {
  const isV1 = version === "Web3ChainV1";
  const buyer = fields.readParty("buyer");
  const buyerReturnAddress = isV1 ? null : fields.readOptionalAddress("buyer return address");
  const seller = fields.readParty("seller");
  const sellerReturnAddress = isV1 ? null : fields.readOptionalAddress("seller return address");
  const referenceKey = fields.readBytes("reference key");
  const referenceSignature = fields.readBytes("reference signature");
  if (!isV1 && referenceSignature.length < 2 * MIN_SIGNATURE_BYTES)
    throw new PlutusDataError(`reference signature: shorter than ${MIN_SIGNATURE_BYTES} bytes`);
  const sellerId = fields.readBytes("seller nonce");
  const buyerNonce = fields.readBytes("buyer nonce");
  const agentIdentifier = isV1
    ? sellerId.slice(SELLER_NONCE_LENGTH)
    : fields.readBytes("agent identifier");
  return {
    version,
    buyer: buyer.address,
    buyerVkey: buyer.vkey,
    seller: seller.address,
    sellerVkey: seller.vkey,
    buyerReturnAddress,
    sellerReturnAddress,
    referenceKey,
    referenceSignature,
    sellerNonce: isV1 ? sellerId.slice(0, SELLER_NONCE_LENGTH) : sellerId,
    buyerNonce,
    agentIdentifier: agentIdentifier || null,
    collateralReturn: fields.readAmount("collateral"),
    inputHash: fields.readBytes("input hash"),
    resultHash: fields.readBytes("result hash", MAX_RESULT_BYTES),
    payByTime: fields.readAmount("pay-by time"),
    submitResultTime: fields.readAmount("submit-result time"),
    unlockTime: fields.readAmount("unlock time"),
    externalDisputeUnlockTime: fields.readAmount("external dispute unlock time"),
    sellerCooldownTime: fields.readNatural("seller cooldown time"),
    buyerCooldownTime: fields.readNatural("buyer cooldown time"),
    state: fields.readState(isV1 ? V1_STATE_COUNT : DATUM_STATES.length),
  };
}

const MIN_SIGNATURE_BYTES = 16;
/** Limit of a field fixed by the lock: far more than any needs. */
const MAX_FIELD_BYTES = 1024;
/**
 * A step may set the result and the cooldowns, neither of which the contract bounds. A transaction
 * has 16 KiB; a lower limit would hide the step from us.
 */
const MAX_RESULT_BYTES = 16_384;
/** Times and amounts are stored in 64-bit columns. */
const MAX_INT64 = 2n ** 63n - 1n;

/** Reads the fields of a datum in sequence. */
class DatumFieldReader {
  readonly #fields: PlutusData[];
  readonly #network: Network;
  #nextIndex = 0;

  constructor(fields: PlutusData[], network: Network) {
    this.#fields = fields;
    this.#network = network;
  }

  expectEnd(): void {
    if (this.#nextIndex < this.#fields.length)
      throw new PlutusDataError(`${this.#fields.length} fields instead of ${this.#nextIndex}`);
  }

  #readNext(name: string): PlutusData {
    const field = this.#fields[this.#nextIndex++];
    if (field === undefined) throw new PlutusDataError(`${name}: missing`);
    return field;
  }

  readBytes(name: string, longest = MAX_FIELD_BYTES): string {
    return bytesToHex(expectBytes(this.#readNext(name), name, longest));
  }

  /** A non-negative integer of any size. */
  readNatural(name: string): bigint {
    const value = this.#readNext(name);
    if (typeof value !== "bigint") throw new PlutusDataError(`${name}: not an integer`);
    if (value < 0n) throw new PlutusDataError(`${name}: negative`);
    return value;
  }

  readAmount(name: string): bigint {
    const value = this.readNatural(name);
    if (value > MAX_INT64) throw new PlutusDataError(`${name}: beyond 64 bits`);
    return value;
  }

  /** A buyer or seller. */
  readParty(name: string): { address: string; vkey: string } {
    const parts = readPlutusAddress(this.#readNext(name), name, this.#network);
    return { address: formatAddress(parts), vkey: parts.payment.hash };
  }

  readOptionalAddress(name: string): string | null {
    const option = expectConstr(this.#readNext(name), name, 1);
    if (option.index === 1) {
      expectNoFields(option, name);
      return null;
    }
    return formatAddress(readPlutusAddress(expectOneField(option, name), name, this.#network));
  }

  readState(known: number): DatumState {
    const value = expectConstr(this.#readNext("state"), "state", known - 1);
    expectNoFields(value, "state");
    const readState = DATUM_STATES[value.index];
    if (readState === undefined) throw new PlutusDataError("state: unknown");
    return readState;
  }
}

/**
 * CBOR of a datum in the layout of its version, as wallets write it.
 *
 * @throws Error when an address or a hex field of the datum is malformed.
 */
export function encodeEscrowDatum(datum: EscrowDatum): Uint8Array {
  const isV1 = datum.version === "Web3ChainV1";
  const nonces = isV1
    ? [datum.sellerNonce + (datum.agentIdentifier ?? ""), datum.buyerNonce]
    : [datum.sellerNonce, datum.buyerNonce, datum.agentIdentifier ?? ""];
  const fields: PlutusData[] = [
    toPlutusAddress(datum.buyer),
    ...(isV1 ? [] : [toPlutusOptionalAddress(datum.buyerReturnAddress)]),
    toPlutusAddress(datum.seller),
    ...(isV1 ? [] : [toPlutusOptionalAddress(datum.sellerReturnAddress)]),
    hexToBytes(datum.referenceKey),
    hexToBytes(datum.referenceSignature),
    ...nonces.map(hexToBytes),
    datum.collateralReturn,
    hexToBytes(datum.inputHash),
    hexToBytes(datum.resultHash),
    datum.payByTime,
    datum.submitResultTime,
    datum.unlockTime,
    datum.externalDisputeUnlockTime,
    datum.sellerCooldownTime,
    datum.buyerCooldownTime,
    { index: DATUM_STATES.indexOf(datum.state), fields: [] },
  ];
  return encodePlutusData({ index: 0, fields });
}
