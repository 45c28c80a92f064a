import type { Hex, PrivateKeyAccount } from "viem";
import { loadViem } from "../../packages.ts";
import { type Rpc, type RpcCall, RpcRefusal, RpcUnavailable } from "./rpc.ts";

const { keccak256, privateKeyToAccount, toHex } = await loadViem();

/** State of the chain and of the wallet, read in one request. Amounts are wei. */
export interface ChainView {
  chainId: number;
  /** Height, hash and time (Unix seconds) of the latest block. */
  block: number;
  blockHash: string;
  time: number;
  /** Nonce of the next transaction to be mined, and of the next the node would accept. */
  nonce: number;
  pendingNonce: number;
  balance: bigint;
  fees: Fees;
  receipts: Map<string, Receipt>;
}

/** EIP-1559 fees per unit of gas; a chain without a base fee takes `maxFee` as its gas price. */
export interface Fees {
  maxFee: bigint;
  tip: bigint;
  isLegacy: boolean;
}

export interface Receipt {
  hash: string;
  block: number;
  blockHash: string;
  succeeded: boolean;
  logs: readonly Log[];
}

export interface Log {
  address: string;
  topics: readonly string[];
  data: string;
  transactionHash: string;
  blockNumber: string;
  blockHash: string;
}

const DEFAULT_TIP = 1_000_000_000n;

/** A malicious token may emit as many logs as its gas pays for. */
const RECEIPTS_PER_REQUEST = 8;

/** @throws RpcUnavailable when any of it cannot be read */
export async function readChain(
  rpc: Rpc,
  wallet: string,
  hashes: readonly string[],
): Promise<ChainView> {
  const [first = [], ...others] = chunks(hashes, RECEIPTS_PER_REQUEST);
  const [answers, ...rest] = await Promise.all([
    rpc.many([
      { method: "eth_chainId", params: [] },
      { method: "eth_getBlockByNumber", params: ["latest", false] },
      { method: "eth_getTransactionCount", params: [wallet, "latest"] },
      { method: "eth_getTransactionCount", params: [wallet, "pending"] },
      { method: "eth_getBalance", params: [wallet, "latest"] },
      { method: "eth_gasPrice", params: [] },
      { method: "eth_maxPriorityFeePerGas", params: [] },
      ...first.map(receiptCall),
    ]),
    ...others.map((some) => rpc.many(some.map(receiptCall))),
  ]);
  const [chainId, block, nonce, pendingNonce, balance, gasPrice, tip, ...receipts] = answers;
  const { number, hash, timestamp, baseFeePerGas } = given<BlockJson>(block);
  return {
    chainId: Number(given<string>(chainId)),
    block: Number(number),
    blockHash: hash,
    time: Number(timestamp),
    nonce: Number(given<string>(nonce)),
    pendingNonce: Number(given<string>(pendingNonce)),
    balance: BigInt(given<string>(balance)),
    fees: feesFrom(baseFeePerGas, tip, BigInt(given<string>(gasPrice))),
    receipts: new Map(
      [...receipts, ...rest.flat()]
        .map((receipt) => readReceipt(given<ReceiptJson | null>(receipt)))
        .filter((receipt) => receipt !== null)
        .map((receipt) => [receipt.hash, receipt]),
    ),
  };
}

function receiptCall(hash: string): RpcCall {
  return { method: "eth_getTransactionReceipt", params: [hash] };
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
}

/** Hashes of the blocks at these heights; null where there is none. */
export async function readBlockHashes(
  rpc: Rpc,
  heights: readonly number[],
): Promise<Map<number, string | null>> {
  const answers = await rpc.many(
    heights.map((height) => ({ method: "eth_getBlockByNumber", params: [toHex(height), false] })),
  );
  return new Map(
    heights.map((height, i) => [height, given<BlockJson | null>(answers[i])?.hash ?? null]),
  );
}

/** Twice the base fee covers five full blocks in a row. */
function feesFrom(baseFee: string | undefined, tip: unknown, gasPrice: bigint): Fees {
  if (baseFee === undefined) return { maxFee: gasPrice, tip: gasPrice, isLegacy: true };
  // Not every node supports the method; the default is what other clients fall back to.
  const wanted = tip instanceof RpcRefusal ? DEFAULT_TIP : BigInt(given<string>(tip));
  return { maxFee: 2n * BigInt(baseFee) + wanted, tip: wanted, isLegacy: false };
}

interface BlockJson {
  number: string;
  hash: string;
  timestamp: string;
  baseFeePerGas?: string;
}

interface ReceiptJson {
  transactionHash: string;
  blockNumber: string | null;
  blockHash: string;
  status: string;
  logs: Log[];
}

/** A node that refuses a plain read cannot be relied on. */
function given<T>(result: unknown): T {
  if (result instanceof RpcRefusal)
    throw new RpcUnavailable(`the RPC node refuses: ${result.message}`, { cause: result });
  return result as T;
}

function readReceipt(receipt: ReceiptJson | null): Receipt | null {
  if (receipt === null || receipt.blockNumber === null) return null;
  return {
    hash: receipt.transactionHash,
    block: Number(receipt.blockNumber),
    blockHash: receipt.blockHash,
    succeeded: receipt.status === "0x1",
    logs: receipt.logs,
  };
}

/** Reads one receipt; null when the transaction is in no block. */
export async function receiptOf(rpc: Rpc, hash: string): Promise<Receipt | null> {
  return readReceipt(await rpc.call<ReceiptJson | null>("eth_getTransactionReceipt", hash));
}

export interface UnsignedTransaction {
  chainId: number;
  nonce: number;
  to: string;
  data: string;
  gas: bigint;
  fees: Fees;
}

/** Who signs with a key. To derive its public key takes as long as to sign, so it is kept. */
export function signerOf(privateKey: string): PrivateKeyAccount {
  return privateKeyToAccount(privateKey as Hex);
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

/**
 * The meaning of a node's answer to a broadcast. `stale`: its nonce is used, perhaps by itself.
 * Anything that is not clearly a refusal counts as sent.
 */
export type BroadcastOutcome = "sent" | "stale" | "refused";

export function broadcastOutcome(answer: unknown): BroadcastOutcome {
  if (!(answer instanceof RpcRefusal)) return "sent";
  const { message } = answer;
  if (/nonce (is )?too (low|small)|old ?nonce/i.test(message)) return "stale";
  if (/replacement/i.test(message)) return "sent";
  return isUnfunded(answer) || REFUSED.test(message) ? "refused" : "sent";
}

const REFUSED =
  /less than block base fee|fee cap.*(too low|less)|transaction underpriced|intrinsic gas|exceeds block gas limit|invalid (sender|chain)|gas limit/i;

/** Whether a node says that the sender cannot pay for the gas. */
export function isUnfunded({ message }: RpcRefusal): boolean {
  return /insufficient funds|exceeds? (the )?(account )?balance/i.test(message);
}
