/** An escrow of the local chain, and how an order becomes one. */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, randomBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import {
  signIdentifier,
  toBlockchainIdentifier,
} from "../../../src/chain/contracts/blockchain-identifier.ts";
import type { EscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import type { Funds, PaymentSourceType } from "../../../src/chain/network.ts";
import type { Deployment } from "../../contracts/deployment.ts";
import { contractOf } from "../../contracts/index.ts";
import { addAmount, sumToValue, toFunds } from "./value.ts";
import type { Wallet } from "./wallets.ts";

/** An escrow as one transaction left it. Never changed in place: a later state is a new one. */
export interface Escrow {
  contract: Deployment;
  seller: Wallet;
  buyer: Wallet;
  /** The `blockchainIdentifier` of its record. */
  identifier: string;
  datum: EscrowDatum;
  /** All that is locked, the collateral counted in. */
  funds: Funds[];
  /** The transaction that brought it here, and its output that holds it (`null`: paid out). */
  txHash: string;
  index: number | null;
}

/** What to lock. Everything but the parties has a default that makes a valid lock. */
export interface LockOrder {
  version: PaymentSourceType;
  /** Those of the contract of that version, or none. */
  rules?: "open";
  /** Where to lock, bech32. Default: at the contract of that version; only there can it be spent. */
  contractAddress?: string;
  seller: Wallet;
  buyer: Wallet;
  /** The price. Default: 10 whole native coins. */
  funds?: readonly Funds[];
  /** Native minor units locked on top of the price. Default 0. */
  collateral?: bigint;
  /** What the seller signed as requested. Default `null`, as for a fixed price. */
  requestedFunds?: Funds[] | null;
  /** Hex: policy id and asset name. Default: the seller's agent under this contract's policy. */
  agentIdentifier?: string;
  /** Hex. */
  inputHash?: string;
  /** Hex of 14 to 26 characters. Default: random. */
  buyerNonce?: string;
  /** Unix milliseconds. Defaults: half an hour, 1 h, 7 h and 13 h after the chain's now. */
  payByTime?: bigint;
  submitResultTime?: bigint;
  unlockTime?: bigint;
  externalDisputeUnlockTime?: bigint;
  /** bech32; Web3ChainV2 only. Default `null`. */
  buyerReturnAddress?: string | null;
  sellerReturnAddress?: string | null;
  /** Laid over the datum after the seller has signed: for locks that are wrong or forged. */
  datum?: Partial<EscrowDatum>;
  /** The output has only the hash of the datum. */
  isByHash?: boolean;
}

const MINUTE = 60_000n;
const HOUR = 60n * MINUTE;
const TEN_COINS = [{ unit: "", amount: 10_000_000n }];

/**
 * Drafts the escrow of an order, with the seller's signature. It is not on the chain yet.
 *
 * @param now Unix milliseconds, from which the default deadlines are counted.
 */
export function draftEscrow(order: LockOrder, now: number): Omit<Escrow, "txHash" | "index"> {
  const { version, seller, buyer, collateral = 0n } = order;
  const known = contractOf(version, order.rules);
  const contract = { ...known, address: order.contractAddress ?? known.address };
  const unsigned = {
    version,
    buyer: buyer.address,
    buyerVkey: buyer.vkey,
    seller: seller.address,
    sellerVkey: seller.vkey,
    buyerReturnAddress: order.buyerReturnAddress ?? null,
    sellerReturnAddress: order.sellerReturnAddress ?? null,
    sellerNonce: bytesToHex(randomBytes(32)),
    buyerNonce: order.buyerNonce ?? bytesToHex(randomBytes(10)),
    agentIdentifier: order.agentIdentifier ?? agentOf(seller, contract),
    collateralReturn: collateral,
    inputHash: order.inputHash ?? hashOf("input"),
    resultHash: "",
    payByTime: order.payByTime ?? BigInt(now) + 30n * MINUTE,
    submitResultTime: order.submitResultTime ?? BigInt(now) + HOUR,
    unlockTime: order.unlockTime ?? BigInt(now) + 7n * HOUR,
    externalDisputeUnlockTime: order.externalDisputeUnlockTime ?? BigInt(now) + 13n * HOUR,
    sellerCooldownTime: 0n,
    buyerCooldownTime: 0n,
    state: "FundsLocked" as const,
  };
  const { referenceKey, referenceSignature } = signIdentifier(
    unsigned,
    { contractAddress: contract.address, requestedFunds: order.requestedFunds ?? null },
    seller.keys,
  );
  const datum = { ...unsigned, referenceKey, referenceSignature, ...order.datum };
  const locked = sumToValue(order.funds ?? TEN_COINS);
  addAmount(locked, "", collateral);
  return {
    contract,
    seller,
    buyer,
    identifier: toBlockchainIdentifier(datum, contract.address),
    datum,
    funds: toFunds(locked),
  };
}

/** Identifier of the agent that a seller runs, hex; a token of that name need not exist. */
export function agentOf(seller: Wallet, contract: Deployment): string {
  return contract.policy.hash + hashOf(`agent of ${seller.name}`);
}

const hashOf = (text: string) => bytesToHex(sha256(utf8ToBytes(text)));
