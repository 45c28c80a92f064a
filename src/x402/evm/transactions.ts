import pMap from "p-map";
import type { Hex, PrivateKeyAccount } from "viem";
import { loadViem } from "../../packages.ts";
import { type Rpc, type RpcCall, RpcRefusal, readResult } from "./rpc.ts";
import * as results from "./rpc-results.ts";

const { keccak256, privateKeyToAccount, toHex } = await loadViem();

/** State of the chain and of the wallet, read in one request. Amounts are wei. */
export interface ChainSnapshot {
  chainId: number;
  /** Height, hash and time (Unix seconds) of the latest block. */
  blockNumber: number;
  blockHash: string;
  blockTimestamp: number;
  /** Nonce of the next transaction to be mined, and of the next the node would accept. */
  nonce: number;
  pendingNonce: number;
  balance: bigint;
  fees: Fees;
  receipts: Map<string, Receipt>;
}

/** EIP-1559 fees per unit of gas; a legacy transaction takes `maxFee` as its gas price. */
export interface Fees {
  maxFee: bigint;
  tip: bigint;
  isLegacy: boolean;
}

export interface Receipt {
  hash: string;
  blockNumber: number;
  blockHash: string;
  isSuccessful: boolean;
  logs: readonly Pick<results.MinedLog, "address" | "topics" | "data">[];
}

const DEFAULT_TIP_WEI = 1_000_000_000n;

/** A malicious token may emit as many logs as its gas pays for. */
const RECEIPTS_PER_REQUEST = 8;

/**
 * Reads the chain and the receipts of transactions. Beyond the first few, it reads the receipts of
 * nonces that the node counts as used. No other transaction is in a block.
 *
 * @param transactions - by nonce
 * @param takesOnlyLegacy - whether the chain refuses EIP-1559 transactions although its blocks have
 *   a base fee
 * @param others - calls for the same request, whose answers are returned in order
 * @throws RpcUnavailableError when any of it cannot be read
 */
export async function readChainSnapshot(
  rpc: Rpc,
  wallet: string,
  transactions: readonly { hash: string; nonce: number }[],
  takesOnlyLegacy: boolean,
  others: readonly RpcCall[],
): Promise<{ chain: ChainSnapshot; answers: (unknown | RpcRefusal)[] }> {
  const first = transactions.slice(0, RECEIPTS_PER_REQUEST);
  const answers = await rpc.callBatch([
    { method: "eth_chainId", params: [] },
    { method: "eth_getBlockByNumber", params: ["latest", false] },
    { method: "eth_getTransactionCount", params: [wallet, "latest"] },
    { method: "eth_getTransactionCount", params: [wallet, "pending"] },
    { method: "eth_getBalance", params: [wallet, "latest"] },
    { method: "eth_gasPrice", params: [] },
    { method: "eth_maxPriorityFeePerGas", params: [] },
    ...first.map(encodeReceiptCall),
    ...others,
  ]);
  const [chainId, block, count, pendingNonce, balance, gasPrice, tip, ...rest] = answers;
  const { number, hash, timestamp, baseFeePerGas } = readResult(results.block, block);
  const nonce = readResult(results.smallQuantity, count);
  const mined = transactions.slice(RECEIPTS_PER_REQUEST).filter((one) => one.nonce < nonce);
  const receipts = [...rest.slice(0, first.length), ...(await readReceipts(rpc, mined))];
  const chain = {
    chainId: readResult(results.smallQuantity, chainId),
    blockNumber: number,
    blockHash: hash,
    blockTimestamp: timestamp,
    nonce,
    pendingNonce: readResult(results.smallQuantity, pendingNonce),
    balance: readResult(results.quantity, balance),
    fees: toFees(takesOnlyLegacy ? null : (baseFeePerGas ?? null), tip, gasPrice),
    receipts: new Map(
      receipts
        .map(decodeReceipt)
        .filter((receipt) => receipt !== null)
        .map((receipt) => [receipt.hash, receipt]),
    ),
  };
  return { chain, answers: rest.slice(first.length) };
}

/** A few requests at once: a Worker has six connections. */
const PARALLEL_REQUESTS = 4;

async function readReceipts(
  rpc: Rpc,
  transactions: readonly { hash: string }[],
): Promise<(unknown | RpcRefusal)[]> {
  const chunks = Array.from(
    { length: Math.ceil(transactions.length / RECEIPTS_PER_REQUEST) },
    (_, i) => transactions.slice(i * RECEIPTS_PER_REQUEST, (i + 1) * RECEIPTS_PER_REQUEST),
  );
  const answers = await pMap(chunks, (chunk) => rpc.callBatch(chunk.map(encodeReceiptCall)), {
    concurrency: PARALLEL_REQUESTS,
  });
  return answers.flat();
}

function encodeReceiptCall({ hash }: { hash: string }): RpcCall {
  return { method: "eth_getTransactionReceipt", params: [hash] };
}

/** Hashes of the blocks at these heights; null where there is none. */
export async function readBlockHashes(
  rpc: Rpc,
  heights: readonly number[],
): Promise<Map<number, string | null>> {
  const answers = await rpc.callBatch(
    heights.map((height) => ({ method: "eth_getBlockByNumber", params: [toHex(height), false] })),
  );
  return new Map(
    heights.map((height, i) => {
      const block = readResult(results.block.nullable(), answers[i]);
      return [height, block?.hash ?? null];
    }),
  );
}

/**
 * Twice the base fee covers five full blocks in a row.
 *
 * @param baseFee - null: the fees of a legacy transaction
 * @param tip - the node's answer
 * @param gasPrice - the node's answer
 */
export function toFees(baseFee: bigint | null, tip: unknown, gasPrice: unknown): Fees {
  if (baseFee === null) {
    const price = readResult(results.quantity, gasPrice);
    return { maxFee: price, tip: price, isLegacy: true };
  }
  // Not every node supports the method; the default is what other clients fall back to.
  const priorityFee = results.quantity.catch(DEFAULT_TIP_WEI).parse(tip);
  return { maxFee: 2n * baseFee + priorityFee, tip: priorityFee, isLegacy: false };
}

/** Null when the transaction is in no block. */
function decodeReceipt(answer: unknown): Receipt | null {
  const receipt = readResult(results.receipt, answer);
  if (!receipt?.blockHash || receipt.blockNumber == null) return null;
  return {
    hash: receipt.transactionHash,
    blockNumber: receipt.blockNumber,
    blockHash: receipt.blockHash,
    isSuccessful: receipt.status === 1n,
    logs: receipt.logs,
  };
}

/** Reads one receipt; null when the transaction is in no block. */
export async function fetchReceipt(rpc: Rpc, hash: string): Promise<Receipt | null> {
  const [answer] = await rpc.callBatch([encodeReceiptCall({ hash })]);
  if (answer instanceof RpcRefusal) throw answer;
  return decodeReceipt(answer);
}

/** What transactions in blocks have cost, in wei. Null: the node does not say so. */
export async function fetchGasCosts(
  rpc: Rpc,
  transactions: readonly { hash: string }[],
): Promise<{ block: number; wei: bigint }[] | null> {
  const answers = await readReceipts(rpc, transactions);
  if (answers.some((answer) => answer instanceof RpcRefusal)) return null;
  return answers.flatMap((answer) => {
    const {
      blockNumber: block,
      gasUsed,
      effectiveGasPrice,
      l1Fee,
    } = readResult(results.gasCost, answer) ?? {};
    if (block == null || gasUsed === undefined || effectiveGasPrice === undefined) return [];
    return [{ block, wei: gasUsed * effectiveGasPrice + (l1Fee ?? 0n) }];
  });
}

export interface UnsignedTransaction {
  chainId: number;
  nonce: number;
  to: string;
  data: string;
  gas: bigint;
  fees: Fees;
}

/** Creates a signer once, since deriving the public key costs as much as a signature. */
export function createSigner(privateKey: string): PrivateKeyAccount {
  return privateKeyToAccount(privateKey as Hex);
}

/**
 * Whether a signed transaction has a gas price. Other transactions begin with their type
 * (EIP-2718).
 */
export function isLegacyTransaction(raw: string): boolean {
  return Number.parseInt(raw.slice(2, 4), 16) > 0x7f;
}

/** Signs a transaction; its hash is known before any node has seen it. */
export async function signTransaction(
  signer: PrivateKeyAccount,
  { chainId, nonce, to, data, gas, fees }: UnsignedTransaction,
): Promise<{ raw: Hex; hash: Hex }> {
  const common = { chainId, nonce, to: to as Hex, data: data as Hex, gas, value: 0n };
  const raw = await signer.signTransaction(
    fees.isLegacy
      ? { ...common, type: "legacy", gasPrice: fees.maxFee }
      : {
          ...common,
          type: "eip1559",
          maxFeePerGas: fees.maxFee,
          maxPriorityFeePerGas: fees.tip,
        },
  );
  return { raw, hash: keccak256(raw) };
}
