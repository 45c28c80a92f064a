import type { Hex } from "viem";
import { loadViem } from "../../packages.ts";
import { PERMIT2 } from "../evm/addresses.ts";
import { permit2Abi, tokenAbi } from "../evm/contracts.ts";
import { isSameHex } from "../evm/is-same-hex.ts";
import { type Rpc, type RpcCall, RpcRefusal, RpcUnavailableError, readResult } from "../evm/rpc.ts";
import * as results from "../evm/rpc-results.ts";
import type { Receipt } from "../evm/transactions.ts";
import type { SettlementJob } from "../model/messages.ts";
import type { BlockInclusion } from "./stored-job.ts";

const { encodeFunctionData, pad, toEventSelector, toHex } = await loadViem();

/**
 * A job's outcome, read from the chain. `open`: none yet, and it may be tried again. `unclear`: the
 * node's answers are inconsistent, as while a node lags. A failure has the place that decided it: one
 * of the job's transactions, or the block that was read.
 */
export type SettlementFinding =
  | ({ state: "settled" } & BlockInclusion)
  | { state: "failed"; inclusion: BlockInclusion; reason: string; message: string }
  | { state: "open" }
  | { state: "unclear" };

/** A payment, as far as the chain can tell it from others. */
export type AuthorizedPayment = Pick<
  SettlementJob,
  "kind" | "scheme" | "asset" | "from" | "payTo" | "amount" | "nonce"
>;

/** Blocks in which others may have used the authorization: since it was last seen unused. */
export interface BlockRange {
  from: number;
  to: number;
  /** Hash of the last of them. */
  toHash: string;
  /** Whether a lagging node would have caught up by now. */
  isOld: boolean;
}

const TRANSFER_TOPIC = toEventSelector("Transfer(address,address,uint256)");
const AUTHORIZATION_USED_TOPIC = toEventSelector("AuthorizationUsed(address,bytes32)");
const AUTHORIZATION_CANCELED_TOPIC = toEventSelector("AuthorizationCanceled(address,bytes32)");
/** Nodes limit the range of one query. */
export const BLOCKS_PER_REQUEST = 1_000;
/** Only a malicious token has more logs of one authorization, or as many equal payments. */
const MAX_CANDIDATES = 50;

/**
 * Decides a job by the receipt of one of its transactions. A revert fails it only if the
 * authorization agrees, and a receipt without any log only once the node had time to add more.
 *
 * @throws RpcUnavailableError, RpcRefusal
 */
export async function reconcileReceipt(
  rpc: Rpc,
  job: AuthorizedPayment,
  receipt: Receipt,
  span: BlockRange,
): Promise<SettlementFinding> {
  let place = toBlockInclusion(receipt);
  if (receipt.isSuccessful) {
    if (receipt.logs.some((log) => isMatchingTransfer(job, log)))
      return { state: "settled", ...place };
    if (receipt.logs.length === 0) {
      // A node may have a receipt before its logs, which are stored separately.
      const { inclusion: payment } = await findAuthorizationUse(rpc, job, {
        from: receipt.blockNumber,
        to: receipt.blockNumber,
      });
      if (payment) return { state: "settled", ...payment };
      if (!span.isOld) return { state: "unclear" };
      place = { ...place, ...toLastBlock(span) };
    }
    return {
      state: "failed",
      inclusion: place,
      reason: "invalid_exact_evm_transfer_event_mismatch",
      message: "The transaction succeeded without the agreed transfer",
    };
  }
  const other = await reconcileAuthorization(rpc, job, span);
  if (other.state === "settled" || other.state === "unclear") return other;
  if (other.state === "failed") return { ...other, inclusion: place };
  return {
    state: "failed",
    inclusion: place,
    reason: `invalid_${job.scheme ?? "exact"}_evm_transaction_failed`,
    message: "The transaction reverted",
  };
}

/**
 * Decides a job by its authorization alone, when none of the job's transactions has a receipt. Others
 * may submit the authorization too, and then the payee has still been paid. If the token does not show
 * whether it was used, only a log shows a use.
 *
 * @throws RpcUnavailableError, RpcRefusal
 */
export async function reconcileAuthorization(
  rpc: Rpc,
  job: AuthorizedPayment,
  span: BlockRange,
): Promise<SettlementFinding> {
  const isUsed = await isUsedAtHeight(rpc, job, span.to);
  if (isUsed === false) return { state: "open" };
  const { inclusion: payment, isLogged } = await findAuthorizationUse(rpc, job, span);
  if (payment) return { state: "settled", ...payment };
  if (!isLogged && isUsed === null) return { state: "open" };
  if (!isLogged && !span.isOld) return { state: "unclear" };
  return {
    state: "failed",
    inclusion: { transaction: "", ...toLastBlock(span) },
    reason: "invalid_exact_evm_nonce_already_used",
    message: "The authorization was used or canceled without this payment",
  };
}

/** The block since which we wait for the node's missing answer. */
function toLastBlock({ to, toHash }: BlockRange) {
  return { block: to, blockHash: toHash };
}

function toBlockInclusion({
  hash: transaction,
  blockNumber: block,
  blockHash,
}: Receipt): BlockInclusion {
  return { transaction, block, blockHash };
}

/** Whether the authorization was used by the block of that height. Null: the contract does not say. */
export async function isUsedAtHeight(
  rpc: Rpc,
  job: AuthorizedPayment,
  height: number,
): Promise<boolean | null> {
  const answer = await callAtHeight(rpc, height, encodeAuthorizationStateCall(job));
  if (answer instanceof RpcRefusal && !isWithoutState(job, answer)) throw answer;
  const isUsed = isAuthorizationUsed(job, answer);
  return isAuthorizationState(answer) ? isUsed : null;
}

/** An authorization's state on the chain: its payment, or that it was used or cancelled. */
interface AuthorizationUse {
  inclusion: BlockInclusion | null;
  isLogged: boolean;
}

/** Looks for the use of an authorization in the logs, newest blocks first. */
async function findAuthorizationUse(
  rpc: Rpc,
  job: AuthorizedPayment,
  { from, to }: Pick<BlockRange, "from" | "to">,
): Promise<AuthorizationUse> {
  const use: AuthorizationUse = { inclusion: null, isLogged: false };
  const topics =
    job.kind === "eip3009"
      ? [[AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC], toTopic(job.from), job.nonce]
      : toTransferTopics(job);
  for (let last = to; last >= from; last -= BLOCKS_PER_REQUEST) {
    const first = Math.max(last - BLOCKS_PER_REQUEST + 1, from);
    const logs = await readLogs(rpc, job.asset, topics, first, last);
    const candidates =
      job.kind === "eip3009" ? logs : logs.filter((log) => isMatchingTransfer(job, log));
    use.isLogged ||= job.kind === "eip3009" && logs.length > 0;
    for (const log of candidates.slice(-MAX_CANDIDATES).reverse())
      if (await isFromPaymentTransaction(rpc, job, log))
        return {
          inclusion: {
            transaction: log.transactionHash,
            block: log.blockNumber,
            blockHash: log.blockHash,
          },
          isLogged: true,
        };
  }
  return use;
}

export function toTransferTopics({
  from,
  payTo,
}: Pick<AuthorizedPayment, "from" | "payTo">): string[] {
  return [TRANSFER_TOPIC, toTopic(from), toTopic(payTo)];
}

/** Logs of a contract in a range of blocks. @throws RpcUnavailableError, RpcRefusal */
export async function readLogs(
  rpc: Rpc,
  address: string,
  topics: readonly (string | string[])[],
  first: number,
  last: number,
): Promise<results.MinedLog[]> {
  const filter = { address, topics, fromBlock: toHex(first), toBlock: toHex(last) };
  const logs = await callAtHeight(rpc, last, { method: "eth_getLogs", params: [filter] });
  if (logs instanceof RpcRefusal) throw logs;
  return readResult(results.logs, logs);
}

/** @throws RpcUnavailableError when the answering node has not seen the block of that height */
async function callAtHeight(
  rpc: Rpc,
  height: number,
  call: RpcCall,
): Promise<unknown | RpcRefusal> {
  const [latest, answer] = await rpc.callBatch([{ method: "eth_blockNumber", params: [] }, call]);
  if (latest instanceof RpcRefusal) throw latest;
  if (readResult(results.smallQuantity, latest) < height)
    throw new RpcUnavailableError("the RPC node is behind");
  return answer;
}

/**
 * Whether a log belongs to the transaction that paid by this authorization: for EIP-3009 the log of
 * its use, for Permit2 that of the transfer.
 */
async function isFromPaymentTransaction(
  rpc: Rpc,
  job: AuthorizedPayment,
  log: results.MinedLog,
): Promise<boolean> {
  const { transactionHash, blockNumber: block } = log;
  if (job.kind === "eip3009") {
    const transfers = await readLogs(rpc, job.asset, toTransferTopics(job), block, block);
    return transfers.some(
      (transfer) =>
        isSameHex(transfer.transactionHash, transactionHash) && isMatchingTransfer(job, transfer),
    );
  }
  // Permit2 emits no log: its nonce must be in the transaction's data.
  const input = await rpc.call(
    results.transactionInput,
    "eth_getTransactionByHash",
    transactionHash,
  );
  const nonce = toHex(BigInt(job.nonce), { size: 32 }).slice(2);
  return input?.toLowerCase().includes(nonce) ?? false;
}

/** Data of a Transfer log: the amount alone. */
const AMOUNT_PATTERN = /^0x[0-9a-fA-F]{64}$/;

function isMatchingTransfer(
  job: AuthorizedPayment,
  { address, topics, data }: Receipt["logs"][number],
): boolean {
  return (
    isSameHex(address, job.asset) &&
    isSameHex(topics[0], TRANSFER_TOPIC) &&
    isSameHex(topics[1], toTopic(job.from)) &&
    isSameHex(topics[2], toTopic(job.payTo)) &&
    AMOUNT_PATTERN.test(data) &&
    BigInt(data) === BigInt(job.amount)
  );
}

function toTopic(address: string): string {
  return pad(address as Hex, { size: 32 });
}

/** An authorization as its contract knows it: by payer and nonce. */
type AuthorizationId = Pick<SettlementJob, "kind" | "asset" | "from" | "nonce">;

/** The call that reads the state in the latest block. */
export function encodeAuthorizationStateCall({
  kind,
  asset,
  from,
  nonce,
}: AuthorizationId): RpcCall {
  const owner = from as Hex;
  const [to, data] =
    kind === "eip3009"
      ? [
          asset,
          encodeFunctionData({
            abi: tokenAbi,
            functionName: "authorizationState",
            args: [owner, nonce as Hex],
          }),
        ]
      : [
          PERMIT2,
          encodeFunctionData({
            abi: permit2Abi,
            functionName: "nonceBitmap",
            args: [owner, BigInt(nonce) >> 8n],
          }),
        ];
  return { method: "eth_call", params: [{ to, data }, "latest"] };
}

/**
 * Whether the state that a node returned says that the authorization was used. A contract that does
 * not answer the call has used none.
 *
 * @throws RpcUnavailableError when the node does not execute the call
 */
export function isAuthorizationUsed({ kind, nonce }: AuthorizationId, answer: unknown): boolean {
  if (answer instanceof RpcRefusal && isWithoutState({ kind }, answer)) return false;
  const word = readResult(results.bytes, answer);
  if (word.length !== WORD_HEX_LENGTH) return false;
  const value = BigInt(word);
  return kind === "eip3009" ? value === 1n : ((value >> (BigInt(nonce) & 0xffn)) & 1n) === 1n;
}

/** Whether a refusal is that of a token which does not show authorizations. Permit2 reverts no such call. */
function isWithoutState({ kind }: Pick<AuthorizationId, "kind">, refusal: RpcRefusal): boolean {
  return kind === "eip3009" && refusal.isRevert;
}

/** Whether a node's answer tells the state of an authorization: not every token does. */
export function isAuthorizationState(answer: unknown): boolean {
  return typeof answer === "string" && answer.length === WORD_HEX_LENGTH;
}

/** Length of 32 bytes in hex. */
const WORD_HEX_LENGTH = 66;
