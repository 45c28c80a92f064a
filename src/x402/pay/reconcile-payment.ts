/** Reconciles payments that another facilitator settles. */
import type { z } from "zod";
import { type Rpc, RpcRefusal, RpcUnavailableError, readResult } from "../evm/rpc.ts";
import * as results from "../evm/rpc-results.ts";
import {
  type AuthorizedPayment,
  encodeAuthorizationStateCall,
  isAuthorizationUsed,
  reconcileAuthorization,
} from "../facilitator-wallet/reconcile-authorization.ts";
import { parseChainId } from "../model/schemas.ts";
import { type ChargeFinding, findCharge } from "./reconcile-upto.ts";

/** A chain and the block range of possible settlements. */
export interface PaymentChain {
  rpc: Rpc;
  latestBlock: z.output<typeof results.block>;
  /** Height of a block from before the oldest payment. */
  fromHeight: number;
}

/** Steps back from the latest block, each twice as far as the one before: 8 million blocks in all. */
const MAX_SEARCH_STEPS = 23;
/** Tolerance for differing clocks. */
const CLOCK_MARGIN_SECONDS = 120;

/**
 * Reads where a chain stands.
 *
 * @param since - epoch milliseconds at which the oldest payment was signed
 * @throws RpcUnavailableError, also when the node is on another chain
 */
export async function openPaymentChain(
  rpc: Rpc,
  caip2Id: string,
  since: number,
): Promise<PaymentChain> {
  const [chainId, block] = await rpc.callBatch([
    { method: "eth_chainId", params: [] },
    { method: "eth_getBlockByNumber", params: ["latest", false] },
  ]);
  requireChain(chainId, caip2Id);
  const latest = readResult(results.block, block);
  return {
    rpc,
    latestBlock: latest,
    fromHeight: await findHeightBefore(rpc, latest.number, since),
  };
}

/** Height of a block that is older than a time, and not much older than need be. */
async function findHeightBefore(rpc: Rpc, latest: number, since: number): Promise<number> {
  const heights = Array.from({ length: MAX_SEARCH_STEPS }, (_, k) => latest - 2 ** k).filter(
    (n) => n > 0,
  );
  const blocks = await rpc.callBatch(
    heights.map((height) => ({
      method: "eth_getBlockByNumber",
      params: [`0x${height.toString(16)}`, false],
    })),
  );
  const before = since / 1000 - CLOCK_MARGIN_SECONDS;
  for (const answer of blocks) {
    const block = readResult(results.block.nullable(), answer);
    if (block && block.timestamp < before) return block.number;
  }
  return heights.length < MAX_SEARCH_STEPS ? 0 : (heights.at(-1) ?? 0);
}

/** A payment, with `claim` as `toAuthorizationKey` of authorization.ts writes it. */
export interface SignedPayment {
  id: string;
  claim: string;
  asset: string;
  payer: string;
  payTo: string;
  amount: string;
  /** Of `upto`: what was signed at most. Omitted or null: `exact`. */
  maxAmount?: string | null;
}

/** The payment as the chain knows it. */
function toAuthorizedPayment({
  claim,
  asset,
  payer,
  payTo,
  amount,
}: SignedPayment): AuthorizedPayment {
  const parts = claim.split(":");
  const nonce = parts.at(-1) ?? "";
  const kind = parts[0] === "permit2" ? "permit2" : "eip3009";
  return { kind, asset, from: payer.toLowerCase(), payTo, amount, nonce };
}

/**
 * Whether a payment's authorization is used, with the latest block. It takes three calls.
 *
 * @throws RpcUnavailableError, also when the node is on another chain
 */
export async function readAuthorizationUse(
  rpc: Rpc,
  caip2Id: string,
  payment: SignedPayment,
): Promise<{ isUsed: boolean; latestBlock: z.output<typeof results.block> }> {
  const [state, chainId, block] = await rpc.callBatch([
    encodeAuthorizationStateCall(toAuthorizedPayment(payment)),
    { method: "eth_chainId", params: [] },
    { method: "eth_getBlockByNumber", params: ["latest", false] },
  ]);
  requireChain(chainId, caip2Id);
  const isUsed = isAuthorizationUsed(toAuthorizedPayment(payment), state);
  return { isUsed, latestBlock: readResult(results.block, block) };
}

/** @throws RpcUnavailableError when the node is on another chain */
function requireChain(chainId: unknown, caip2Id: string): void {
  const chain = readResult(results.smallQuantity, chainId);
  if (chain !== parseChainId(caip2Id))
    throw new RpcUnavailableError(`the RPC node is on chain ${chain}, not ${caip2Id}`);
}

/**
 * Whether the chain has the payment.
 *
 * @param isOld - whether every node has had time to catch up
 * @throws RpcUnavailableError
 */
export async function reconcilePayment(
  { rpc, latestBlock: latest, fromHeight: from }: PaymentChain,
  payment: SignedPayment,
  isOld: boolean,
): Promise<ChargeFinding> {
  const span = { from, to: latest.number, toHash: latest.hash, isOld };
  const authorized = toAuthorizedPayment(payment);
  try {
    if (typeof payment.maxAmount === "string") return await findCharge(rpc, authorized, span);
    const finding = await reconcileAuthorization(rpc, authorized, span);
    return finding.state === "settled" ? { ...finding, amount: payment.amount } : finding;
  } catch (error) {
    // A refusal concerns only one payment.
    if (!(error instanceof RpcRefusal)) throw error;
    return { state: "unclear" };
  }
}
