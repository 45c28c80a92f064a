/** Escrows for the tests of the contracts: their terms, their contracts, and how they are locked. */

import { blake2b } from "@noble/hashes/blake2.js";
import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { type Deployment, deploy } from "../../../devnet/contracts/deployment.ts";
import { buildTransaction } from "../../../devnet/demo/actors/transaction.ts";
import { ADMIN, BUYERS, SELLERS, STRANGER } from "../../../devnet/demo/actors/wallets.ts";
import { readTransaction } from "../../../devnet/ledger/transaction.ts";
import { type EscrowDatum, encodeEscrowDatum } from "../../../src/chain/escrow-datum.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import type { Funds, PaymentSourceType } from "../../../src/chain/network.ts";
import { openStage, type Stage, TOKENS } from "./stage.ts";

export const SELLER = SELLERS[0];
export const BUYER = BUYERS[0];
export { STRANGER };
/** Where parties want their money when an order sets return addresses. */
export const BUYER_RETURN = BUYERS[1];
export const SELLER_RETURN = SELLERS[1];
export const FEE_RECEIVER = SELLERS[3];
export const ADMINISTRATORS = [ADMIN, SELLERS[2], BUYERS[2]] as const;

export const COOLDOWN = 420_000;
export const FEE_PERMILLE = 50n;

/** Who settles disputes; two must. */
const BOARDS = {
  three: ADMINISTRATORS,
  /** One key in all three places. */
  one: [ADMIN, ADMIN, ADMIN],
  /** Fewer than are required. */
  tooSmall: [ADMIN],
};
export type Board = keyof typeof BOARDS;

const deployments = new Map<string, Deployment>();

export function deploymentOf(type: PaymentSourceType, board: Board = "three"): Deployment {
  const key = `${type}/${board}`;
  const known = deployments.get(key);
  if (known) return known;
  const deployment = deploy({
    type,
    requiredAdminSignatures: 2,
    adminVkeys: BOARDS[board].map(({ vkey }) => vkey),
    cooldownTime: COOLDOWN,
    fee:
      type === "Web3ChainV1"
        ? { receiver: FEE_RECEIVER.address, permille: Number(FEE_PERMILLE) }
        : null,
  });
  deployments.set(key, deployment);
  return deployment;
}

/** Seconds after the lock; windows are in slots of a second. */
export const SUBMIT_BY = 3_600;
export const UNLOCK = 7 * 3_600;
export const DISPUTE = 13 * 3_600;

/** When every escrow of the tests is locked: any whole second after Preprod began. */
const LOCKED_AT = Date.UTC(2026, 0, 1);

/** Unix milliseconds of a moment, which is given in seconds after the lock. */
export const timeAt = (seconds: number): number => LOCKED_AT + seconds * 1000;

/** What is special about an escrow. */
export interface Order {
  price?: bigint;
  /** Native minor units on top of the price. */
  collateral?: bigint;
  /** How much of the first token is locked too. */
  tokens?: bigint;
  /** Web3ChainV2: the parties have return addresses. */
  returns?: boolean;
  /** Laid over the datum. */
  datum?: Partial<EscrowDatum>;
  /** The output has the hash of the datum only. */
  byHash?: boolean;
  /** The output has this for a datum, hex. */
  raw?: string;
  /** Escrows of one number have the same reference signature. Default: the position among orders. */
  number?: number;
}

export interface Escrow {
  deployment: Deployment;
  datum: EscrowDatum;
  funds: Funds[];
  txHash: string;
  index: number;
}

export const hashOf = (text: string) => bytesToHex(sha256(utf8ToBytes(text)));

/** The datum with which an order is locked. */
export function datumOf(type: PaymentSourceType, order: Order, position = 0): EscrowDatum {
  const number = order.number ?? position;
  const returns = type === "Web3ChainV2" && order.returns;
  return {
    version: type,
    buyer: BUYER.address,
    buyerVkey: BUYER.vkey,
    seller: SELLER.address,
    sellerVkey: SELLER.vkey,
    buyerReturnAddress: returns ? BUYER_RETURN.address : null,
    sellerReturnAddress: returns ? SELLER_RETURN.address : null,
    referenceKey: "a401010327200621",
    referenceSignature: bytesToHex(sha512(utf8ToBytes(`escrow ${number}`))),
    sellerNonce: hashOf(`seller nonce ${number}`),
    buyerNonce: hashOf(`buyer nonce ${number}`).slice(0, 20),
    agentIdentifier: `${"cc".repeat(28)}${hashOf("agent")}`,
    collateralReturn: order.collateral ?? 0n,
    inputHash: hashOf("input"),
    resultHash: "",
    payByTime: BigInt(timeAt(1_800)),
    submitResultTime: BigInt(timeAt(SUBMIT_BY)),
    unlockTime: BigInt(timeAt(UNLOCK)),
    externalDisputeUnlockTime: BigInt(timeAt(DISPUTE)),
    sellerCooldownTime: 0n,
    buyerCooldownTime: 0n,
    state: "FundsLocked",
    ...order.datum,
  };
}

export function fundsOf({ price = 100_000_000n, collateral = 0n, tokens = 0n }: Order): Funds[] {
  const native = { unit: "", amount: price + (collateral > 0n ? collateral : 0n) };
  return tokens > 0n ? [native, { unit: TOKENS[0], amount: tokens }] : [native];
}

let empty: Stage | undefined;

/** Locks orders in one transaction, on a ledger where nothing else has happened. */
export function lockAll(
  deployment: Deployment,
  orders: readonly Order[],
): { stage: Stage; escrows: Escrow[] } {
  empty ??= openStage();
  const locked = orders.map((order, position) => {
    const datum = datumOf(deployment.type, order, position);
    return { order, datum, funds: fundsOf(order) };
  });
  const outputs = locked.map(({ order, datum, funds }) => {
    const cbor = order.raw === undefined ? encodeEscrowDatum(datum) : Buffer.from(order.raw, "hex");
    const carried = order.byHash ? { datumHash: blake2b(cbor, { dkLen: 32 }) } : { datum: cbor };
    return { address: deployment.address, funds, ...carried };
  });
  const cbor = buildTransaction(empty, { payer: BUYER, outputs });
  const { hash: txHash } = readTransaction(cbor);
  return {
    stage: empty.after(cbor, timeAt(0)),
    escrows: locked.map(({ datum, funds }, index) => ({ deployment, datum, funds, txHash, index })),
  };
}
