import {
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  pad,
  toEventSelector,
  toHex,
} from "viem";
import { PERMIT2, permit2Abi, tokenAbi } from "./contracts.ts";
import type { Rpc } from "./rpc.ts";
import type { Job } from "./settlement.ts";
import { type Log, type Receipt, receiptOf } from "./transactions.ts";

/** What became of a job, read from the chain; `open`: nothing yet, and it may be tried again. */
export type Finding =
  | { state: "settled"; transaction: string; block: number }
  | { state: "failed"; transaction: string; reason: string; message: string }
  | { state: "open" };

const TRANSFER = toEventSelector("Transfer(address,address,uint256)");
const AUTHORIZATION_USED = toEventSelector("AuthorizationUsed(address,bytes32)");
/** How far back another transaction that used the authorization is looked for. */
const LOOK_BACK_BLOCKS = 5_000;

/** Judges a job by the receipt of one of its transactions. */
export async function judgeReceipt(rpc: Rpc, job: Job, receipt: Receipt): Promise<Finding> {
  const { hash: transaction, block } = receipt;
  if (receipt.succeeded) {
    if (receipt.logs.some((log) => isPaymentOf(job, log)))
      return { state: "settled", transaction, block };
    return {
      state: "failed",
      transaction,
      reason: "invalid_exact_evm_transfer_event_mismatch",
      message: "The transaction succeeded without the transfer that was agreed",
    };
  }
  const other = await judgeAuthorization(rpc, job, block);
  if (other.state !== "open") return other;
  return {
    state: "failed",
    transaction,
    reason: "invalid_exact_evm_transaction_failed",
    message: "The transaction reverted",
  };
}

/**
 * Judges a job by its authorization alone, when none of its own transactions has a receipt: others
 * may bring it to the chain too, and then the payee has been paid all the same.
 *
 * @param block - height up to which the chain was seen
 */
export async function judgeAuthorization(rpc: Rpc, job: Job, block: number): Promise<Finding> {
  if (!(await isUsed(rpc, job))) return { state: "open" };
  const payment = await findPayment(rpc, job, block);
  if (payment) return { state: "settled", transaction: payment.hash, block: payment.block };
  return {
    state: "failed",
    transaction: "",
    reason: "invalid_exact_evm_nonce_already_used",
    message: "The authorization was used or cancelled without this payment",
  };
}

async function isUsed(rpc: Rpc, job: Job): Promise<boolean> {
  const from = job.from as Hex;
  if (job.kind === "eip3009") {
    const call = { abi: tokenAbi, functionName: "authorizationState" } as const;
    const data = encodeFunctionData({ ...call, args: [from, job.nonce as Hex] });
    const answer = await rpc.call<Hex>("eth_call", { to: job.asset, data }, "latest");
    return decodeFunctionResult({ ...call, data: answer });
  }
  const nonce = BigInt(job.nonce);
  const call = { abi: permit2Abi, functionName: "nonceBitmap" } as const;
  const data = encodeFunctionData({ ...call, args: [from, nonce >> 8n] });
  const answer = await rpc.call<Hex>("eth_call", { to: PERMIT2, data }, "latest");
  return ((decodeFunctionResult({ ...call, data: answer }) >> (nonce & 0xffn)) & 1n) === 1n;
}

/** Finds the transaction that used the authorization and made the transfer. */
async function findPayment(rpc: Rpc, job: Job, block: number): Promise<Receipt | null> {
  const logs = await rpc.call<Log[]>("eth_getLogs", {
    address: job.asset,
    topics: [TRANSFER, topic(job.from), topic(job.payTo)],
    fromBlock: toHex(Math.max(block - LOOK_BACK_BLOCKS, 0)),
    toBlock: "latest",
  });
  for (const log of logs.filter((one) => isPaymentOf(job, one)).reverse()) {
    const receipt = await receiptOf(rpc, log.transactionHash);
    if (receipt && (await usesAuthorization(rpc, job, receipt))) return receipt;
  }
  return null;
}

async function usesAuthorization(rpc: Rpc, job: Job, receipt: Receipt): Promise<boolean> {
  if (job.kind === "eip3009")
    return receipt.logs.some(
      ({ address, topics }) =>
        isSame(address, job.asset) &&
        isSame(topics[0], AUTHORIZATION_USED) &&
        isSame(topics[1], topic(job.from)) &&
        isSame(topics[2], job.nonce),
    );
  // Permit2 leaves no log of its own: its nonce must stand in what was sent.
  const sent = await rpc.call<{ input: string } | null>("eth_getTransactionByHash", receipt.hash);
  const nonce = toHex(BigInt(job.nonce), { size: 32 }).slice(2);
  return sent?.input.toLowerCase().includes(nonce) ?? false;
}

function isPaymentOf(job: Job, { address, topics, data }: Log): boolean {
  return (
    isSame(address, job.asset) &&
    isSame(topics[0], TRANSFER) &&
    isSame(topics[1], topic(job.from)) &&
    isSame(topics[2], topic(job.payTo)) &&
    BigInt(data) === BigInt(job.amount)
  );
}

function topic(address: string): string {
  return pad(address as Hex, { size: 32 });
}

function isSame(a: string | undefined, b: string): boolean {
  return a?.toLowerCase() === b.toLowerCase();
}
