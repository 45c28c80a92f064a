import {
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  pad,
  toEventSelector,
  toHex,
} from "viem";
import { PERMIT2, permit2Abi, tokenAbi } from "./contracts.ts";
import { type Rpc, RpcRefusal, RpcUnavailable } from "./rpc.ts";
import type { Job } from "./settlement.ts";
import { type Log, type Receipt, receiptOf } from "./transactions.ts";
import type { MinedIn } from "./wallet-ledger.ts";

/**
 * What became of a job, read from the chain; `open`: nothing yet, and it may be tried again. `place`
 * is where a transaction of its own came to nothing; null when none did.
 */
export type Finding =
  | ({ state: "settled" } & MinedIn)
  | { state: "failed"; place: MinedIn | null; reason: string; message: string }
  | { state: "open" };

/** Blocks in which others may have used the authorization: since it was seen unused, until now. */
export interface Span {
  from: number;
  to: number;
}

const TRANSFER = toEventSelector("Transfer(address,address,uint256)");
const AUTHORIZATION_USED = toEventSelector("AuthorizationUsed(address,bytes32)");
/** Nodes bound the range of one question. */
const BLOCKS_PER_REQUEST = 1_000;
/** Only a trap has more logs of one authorization, or so many equal payments in those blocks. */
const MAX_CANDIDATES = 50;

/**
 * Judges a job by the receipt of one of its transactions.
 *
 * @throws RpcUnavailable, RpcRefusal
 */
export async function judgeReceipt(
  rpc: Rpc,
  job: Job,
  receipt: Receipt,
  span: Span,
): Promise<Finding> {
  const place = minedIn(receipt);
  if (receipt.succeeded) {
    if (receipt.logs.some((log) => isPaymentOf(job, log))) return { state: "settled", ...place };
    return {
      state: "failed",
      place,
      reason: "invalid_exact_evm_transfer_event_mismatch",
      message: "The transaction succeeded without the transfer that was agreed",
    };
  }
  const other = await judgeAuthorization(rpc, job, span);
  if (other.state === "settled") return other;
  if (other.state === "failed") return { ...other, place };
  return {
    state: "failed",
    place,
    reason: "invalid_exact_evm_transaction_failed",
    message: "The transaction reverted",
  };
}

/**
 * Judges a job by its authorization alone, when none of its own transactions has a receipt: others
 * may bring it to the chain too, and then the payee has been paid all the same. A token that does
 * not tell whether it was used is taken to say no.
 *
 * @throws RpcUnavailable, RpcRefusal
 */
export async function judgeAuthorization(rpc: Rpc, job: Job, span: Span): Promise<Finding> {
  if (!(await isUsed(rpc, job))) return { state: "open" };
  const payment = await findPayment(rpc, job, span);
  if (payment) return { state: "settled", ...minedIn(payment) };
  return {
    state: "failed",
    place: null,
    reason: "invalid_exact_evm_nonce_already_used",
    message: "The authorization was used or cancelled without this payment",
  };
}

function minedIn({ hash: transaction, block, blockHash }: Receipt): MinedIn {
  return { transaction, block, blockHash };
}

async function isUsed(rpc: Rpc, job: Job): Promise<boolean> {
  const from = job.from as Hex;
  if (job.kind === "eip3009") {
    const call = { abi: tokenAbi, functionName: "authorizationState" } as const;
    const answer = await ask(
      rpc,
      job.asset,
      encodeFunctionData({ ...call, args: [from, job.nonce as Hex] }),
    );
    try {
      return answer !== null && decodeFunctionResult({ ...call, data: answer });
    } catch {
      return false;
    }
  }
  const nonce = BigInt(job.nonce);
  const call = { abi: permit2Abi, functionName: "nonceBitmap" } as const;
  const answer = await ask(
    rpc,
    PERMIT2,
    encodeFunctionData({ ...call, args: [from, nonce >> 8n] }),
  );
  if (answer === null) return false;
  return ((decodeFunctionResult({ ...call, data: answer }) >> (nonce & 0xffn)) & 1n) === 1n;
}

/** What a contract answers; null when it reverts. */
async function ask(rpc: Rpc, to: string, data: Hex): Promise<Hex | null> {
  try {
    return await rpc.call<Hex>("eth_call", { to, data }, "latest");
  } catch (error) {
    if (error instanceof RpcRefusal && error.isRevert) return null;
    throw error;
  }
}

/** Finds the transaction that used the authorization and made the transfer, newest blocks first. */
async function findPayment(rpc: Rpc, job: Job, { from, to }: Span): Promise<Receipt | null> {
  const topics =
    job.kind === "eip3009"
      ? [AUTHORIZATION_USED, topic(job.from), job.nonce]
      : [TRANSFER, topic(job.from), topic(job.payTo)];
  for (let last = to; last >= from; last -= BLOCKS_PER_REQUEST) {
    const first = Math.max(last - BLOCKS_PER_REQUEST + 1, from);
    const logs = await readLogs(rpc, job.asset, topics, first, last);
    const candidates = job.kind === "eip3009" ? logs : logs.filter((log) => isPaymentOf(job, log));
    for (const { transactionHash } of candidates.slice(-MAX_CANDIDATES).reverse()) {
      const receipt = await receiptOf(rpc, transactionHash);
      if (receipt && (await isMadeBy(rpc, job, receipt))) return receipt;
    }
  }
  return null;
}

/** @throws RpcUnavailable when the node that answers has not seen the last of the blocks */
async function readLogs(
  rpc: Rpc,
  address: string,
  topics: string[],
  first: number,
  last: number,
): Promise<Log[]> {
  const filter = { address, topics, fromBlock: toHex(first), toBlock: toHex(last) };
  const [height, logs] = await rpc.many([
    { method: "eth_blockNumber", params: [] },
    { method: "eth_getLogs", params: [filter] },
  ]);
  if (height instanceof RpcRefusal) throw height;
  if (logs instanceof RpcRefusal) throw logs;
  if (Number(height) < last) throw new RpcUnavailable("the RPC node is behind");
  return logs as Log[];
}

/** Whether a transaction made the payment, and by this authorization. */
async function isMadeBy(rpc: Rpc, job: Job, receipt: Receipt): Promise<boolean> {
  if (!receipt.logs.some((log) => isPaymentOf(job, log))) return false;
  if (job.kind === "eip3009") return true;
  // Permit2 leaves no log of its own: its nonce must stand in what was sent.
  const sent = await rpc.call<{ input: string } | null>("eth_getTransactionByHash", receipt.hash);
  const nonce = toHex(BigInt(job.nonce), { size: 32 }).slice(2);
  return sent?.input.toLowerCase().includes(nonce) ?? false;
}

/** Data of a Transfer log: the amount alone. */
const AMOUNT = /^0x[0-9a-fA-F]{64}$/;

function isPaymentOf(job: Job, { address, topics, data }: Log): boolean {
  return (
    isSame(address, job.asset) &&
    isSame(topics[0], TRANSFER) &&
    isSame(topics[1], topic(job.from)) &&
    isSame(topics[2], topic(job.payTo)) &&
    AMOUNT.test(data) &&
    BigInt(data) === BigInt(job.amount)
  );
}

function topic(address: string): string {
  return pad(address as Hex, { size: 32 });
}

function isSame(a: string | undefined, b: string): boolean {
  return a?.toLowerCase() === b.toLowerCase();
}
