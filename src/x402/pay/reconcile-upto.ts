/** Reads what a payment of the scheme `upto` was charged: its facilitator alone decides that. */
import type { Hex } from "viem";
import { UPTO_PROXY } from "../evm/addresses.ts";
import { readUptoSettlement } from "../evm/calldata.ts";
import { isSameHex } from "../evm/is-same-hex.ts";
import { type Rpc, RpcRefusal, readResult } from "../evm/rpc.ts";
import * as results from "../evm/rpc-results.ts";
import {
  type AuthorizedPayment,
  BLOCKS_PER_REQUEST,
  type BlockRange,
  isUsedAtHeight,
  readLogs,
  type SettlementFinding,
  toTransferTopics,
} from "../facilitator-wallet/reconcile-authorization.ts";

/** As `SettlementFinding`. `amount`: the charge. */
export type ChargeFinding =
  | (Extract<SettlementFinding, { state: "settled" }> & { amount: string })
  | Exclude<SettlementFinding, { state: "settled" }>;

/** Transactions per request. */
const TRANSACTIONS_PER_REQUEST = 50;

/**
 * Finds the charge of an authorization. Only a call of the contract of `upto` by the facilitator itself
 * proves a charge. Tokens let anybody log a Transfer of 0, and a call through another contract may hide
 * the nonce.
 *
 * @throws RpcUnavailableError, RpcRefusal
 */
export async function findCharge(
  rpc: Rpc,
  payment: AuthorizedPayment,
  { from, to, toHash, isOld }: BlockRange,
): Promise<ChargeFinding> {
  const isUsed = await isUsedAtHeight(rpc, payment, to);
  if (isUsed === false) return { state: "open" };
  const topics = toTransferTopics(payment);
  for (let last = to; last >= from; last -= BLOCKS_PER_REQUEST) {
    const first = Math.max(last - BLOCKS_PER_REQUEST + 1, from);
    const logs = await readLogs(rpc, payment.asset, topics, first, last);
    const places = new Map(logs.map((log) => [log.transactionHash, log]));
    const hashes = [...places.keys()].reverse();
    while (hashes.length > 0) {
      const found = await findAmong(rpc, payment, hashes.splice(0, TRANSACTIONS_PER_REQUEST));
      const place = found && places.get(found.hash);
      if (!place) continue;
      const { transactionHash: transaction, blockNumber: block, blockHash } = place;
      return { state: "settled", transaction, block, blockHash, amount: String(found.charge) };
    }
  }
  if (isUsed === null) return { state: "open" };
  if (!isOld) return { state: "unclear" };
  return {
    state: "failed",
    inclusion: { transaction: "", block: to, blockHash: toHash },
    reason: "invalid_exact_evm_nonce_already_used",
    message: "The authorization was used in a way that does not show its charge",
  };
}

async function findAmong(
  rpc: Rpc,
  payment: AuthorizedPayment,
  hashes: readonly string[],
): Promise<{ hash: string; charge: bigint } | null> {
  const transactions = await rpc.callBatch(
    hashes.map((hash) => ({ method: "eth_getTransactionByHash", params: [hash] })),
  );
  for (const [i, answer] of transactions.entries()) {
    if (answer instanceof RpcRefusal) throw answer;
    const call = readResult(results.transactionCall, answer);
    if (!call || !isSameHex(call.to, UPTO_PROXY)) continue;
    const settled = readUptoSettlement(call.input as Hex);
    if (
      settled &&
      settled.nonce === BigInt(payment.nonce) &&
      isSameHex(settled.owner, payment.from) &&
      isSameHex(settled.token, payment.asset) &&
      isSameHex(settled.to, payment.payTo)
    )
      return { hash: hashes[i] ?? "", charge: settled.charge };
  }
  return null;
}
