import { hexToBytes } from "./hex.ts";
import { encodePlutusData, type PlutusData } from "./plutus-data.ts";

/** Constructor numbers of the escrow redeemers, the same in both contract generations but for 2. */
export const REDEEMERS = {
  Withdraw: 0,
  SetRefundRequested: 1,
  /** Web3ChainV1. */
  UnSetRefundRequested: 2,
  /** Web3ChainV2: the same constructor means another thing there. */
  AuthorizeWithdrawal: 2,
  WithdrawRefund: 3,
  WithdrawDisputed: 4,
  SubmitResult: 5,
  AuthorizeRefund: 6,
} as const;

/**
 * CBOR of a redeemer. Only `WithdrawDisputed` of Web3ChainV2 has fields: what the buyer gets, what
 * the seller gets, and the admins' signatures.
 */
export function encodeRedeemer(index: number, fields: PlutusData[] = []): Uint8Array {
  return encodePlutusData({ index, fields });
}

/**
 * CBOR of the datum that a payout output carries: the reference of the escrow output it pays out,
 * so that one output cannot stand for two escrows.
 *
 * @param txHash - 64 hex characters
 */
export function ownReferenceDatum(txHash: string, index: number): Uint8Array {
  return encodePlutusData({ index: 0, fields: [hexToBytes(txHash), BigInt(index)] });
}
