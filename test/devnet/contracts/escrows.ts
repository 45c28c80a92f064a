/** Escrows for the tests of the contracts: their terms, contracts and locks. */

import { blake2b } from "@noble/hashes/blake2.js";
import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { type Deployment, deploy, readyContracts } from "../../../devnet/contracts/deployment.ts";
import type { ReadyContracts } from "../../../devnet/contracts/ready.ts";
import { buildTransaction } from "../../../devnet/demo/actors/transaction.ts";
import { ADMIN, BUYERS, SELLERS, STRANGER } from "../../../devnet/demo/actors/wallets.ts";
import { readTransaction } from "../../../devnet/ledger/transaction.ts";
import { formatAddress, parseAddress } from "../../../src/chain/address.ts";
import { type EscrowDatum, encodeEscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import type { Funds, PaymentSourceType } from "../../../src/chain/network.ts";
import type { EscrowParameters } from "../../../src/chain/plutus/contract-parameters.ts";
import { openStage, type Stage, TOKENS } from "./stage.ts";

export const SELLER = SELLERS[0];
export const BUYER = BUYERS[0];
export { STRANGER };
/** The return addresses of orders that have them. */
export const BUYER_RETURN = BUYERS[1];
export const SELLER_RETURN = SELLERS[1];
export const FEE_RECEIVER = SELLERS[3];
export const ADMINISTRATORS = [ADMIN, SELLERS[2], BUYERS[2]] as const;

export const COOLDOWN = 420_000;
export const FEE_PERMILLE = 50n;

/** The administrators, of whom two settle a dispute. */
export const BOARDS = {
  three: ADMINISTRATORS,
  /** One key in all three places. */
  one: [ADMIN, ADMIN, ADMIN],
  /** Fewer administrators than required. */
  tooSmall: [ADMIN],
};
export type Board = keyof typeof BOARDS;

/** Our own scripts. */
export const OWN: ReadyContracts = {};

const deployments = new Map<ReadyContracts, Map<string, Deployment>>();

/** @param instead - scripts that replace ours. Default: the scripts that `ESCROW_CONTRACTS` names. */
export function deploymentOf(
  type: PaymentSourceType,
  board: Board = "three",
  instead: ReadyContracts = readyContracts(),
): Deployment {
  const known = deployments.get(instead) ?? new Map<string, Deployment>();
  deployments.set(instead, known);
  const key = `${type}/${board}`;
  const deployment = known.get(key) ?? deploy(termsOf(type, board), instead);
  known.set(key, deployment);
  return deployment;
}

function termsOf(type: PaymentSourceType, board: Board): EscrowParameters {
  return {
    type,
    requiredAdminSignatures: 2,
    adminVkeys: BOARDS[board].map(({ vkey }) => vkey),
    cooldownTime: COOLDOWN,
    fee:
      type === "Web3ChainV1"
        ? { receiver: FEE_RECEIVER.address, permille: Number(FEE_PERMILLE) }
        : null,
  };
}

/** Seconds after the lock; windows are in slots of a second. */
export const SUBMIT_BY = 3_600;
export const UNLOCK = 7 * 3_600;
export const DISPUTE = 13 * 3_600;

/** The time of every lock in the tests: any whole second after Preprod began. */
const LOCKED_AT = Date.UTC(2026, 0, 1);

/** Converts seconds after the lock to Unix milliseconds. */
export const timeAt = (seconds: number): number => LOCKED_AT + seconds * 1000;

/** The peculiarities of an escrow. */
export interface Order {
  price?: bigint;
  /** Native minor units on top of the price. */
  collateral?: bigint;
  /** The locked amount of the first token. */
  tokens?: bigint;
  /** Web3ChainV2: the parties have return addresses. */
  returns?: boolean;
  /** Replaces fields of the datum. */
  datum?: Partial<EscrowDatum>;
  /** The output has the hash of the datum only. */
  byHash?: boolean;
  /** The contract's address has a stake part, the buyer's. */
  isStaked?: boolean;
  /** Replaces the datum, CBOR in hex. */
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

/** The datum of an order's lock. */
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

/** A contract at its address with the buyer's stake part. */
export function withStake(deployment: Deployment): Deployment {
  const parsed = parseAddress(deployment.address);
  if (!parsed) throw new Error("no address");
  const stake = parseAddress(BUYER.address)?.stake ?? null;
  return { ...deployment, address: formatAddress({ ...parsed, stake }) };
}

let empty: Stage | undefined;

/** Locks orders in one transaction, on a new ledger. */
export function lockAll(
  deployment: Deployment,
  orders: readonly Order[],
): { stage: Stage; escrows: Escrow[] } {
  empty ??= openStage();
  const locked = orders.map((order, position) => {
    const datum = datumOf(deployment.type, order, position);
    const at = order.isStaked ? withStake(deployment) : deployment;
    return { order, datum, funds: fundsOf(order), deployment: at };
  });
  const outputs = locked.map(({ order, datum, funds, deployment: { address } }) => {
    const cbor = order.raw === undefined ? encodeEscrowDatum(datum) : Buffer.from(order.raw, "hex");
    const carried = order.byHash ? { datumHash: blake2b(cbor, { dkLen: 32 }) } : { datum: cbor };
    return { address, funds, ...carried };
  });
  const cbor = buildTransaction(empty, { payer: BUYER, outputs });
  const { hash: txHash } = readTransaction(cbor);
  return {
    stage: empty.after(cbor, timeAt(0)),
    escrows: locked.map(({ order: _, ...escrow }, index) => ({ ...escrow, txHash, index })),
  };
}
