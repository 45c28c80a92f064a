import { bytesToHex, hexToBytes } from "../hex.ts";
import {
  decodePlutusData,
  encodePlutusData,
  type PlutusData,
  PlutusDataError,
} from "../plutus/data.ts";
import { expectBytes, expectConstr } from "../plutus/fields.ts";

/** Constructor numbers of the escrow redeemers, the same in both contract generations but for 2. */
export const REDEEMERS = {
  Withdraw: 0,
  SetRefundRequested: 1,
  /** Web3ChainV1. */
  UnSetRefundRequested: 2,
  /** Web3ChainV2: the same constructor has another meaning there. */
  AuthorizeWithdrawal: 2,
  WithdrawRefund: 3,
  WithdrawDisputed: 4,
  SubmitResult: 5,
  AuthorizeRefund: 6,
} as const;

/**
 * CBOR of a redeemer. Only `WithdrawDisputed` of Web3ChainV2 has fields: the buyer's share, the
 * seller's share, and the admins' signatures.
 */
export function encodeRedeemer(index: number, fields: PlutusData[] = []): Uint8Array {
  return encodePlutusData({ index, fields });
}

/**
 * CBOR of the datum of a payout output. The datum references the escrow output that is paid out, so
 * that one output cannot count for two escrows.
 *
 * @param txHash - 64 hex characters
 */
export function encodeOwnReference(txHash: string, index: number): Uint8Array {
  return encodePlutusData({ index: 0, fields: [hexToBytes(txHash), BigInt(index)] });
}

/**
 * The output that a payout's datum names, as `hash#index`, in whatever CBOR it is written; null when
 * the datum is something else.
 *
 * @param datum - inline datum, CBOR in hex
 */
export function decodeOwnReference(datum: string): string | null {
  try {
    const { fields } = expectConstr(decodePlutusData(hexToBytes(datum)), "own reference", 0);
    const [txHash, index, ...rest] = fields;
    if (txHash === undefined || typeof index !== "bigint" || rest.length > 0) return null;
    return `${bytesToHex(expectBytes(txHash, "own reference", 32))}#${index}`;
  } catch (error) {
    if (error instanceof PlutusDataError) return null;
    throw error;
  }
}
