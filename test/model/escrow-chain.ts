/** One escrow on a chain in memory, moved by the service's transactions and by strangers'. */

import { signIdentifier } from "../../src/chain/contracts/blockchain-identifier.ts";
import {
  DATUM_STATES,
  type DatumState,
  type EscrowDatum,
  encodeEscrowDatum,
} from "../../src/chain/contracts/escrow-datum.ts";
import { REDEEMERS } from "../../src/chain/contracts/redeemers.ts";
import { bytesToHex } from "../../src/chain/hex.ts";
import type { Funds, OnChainState } from "../../src/chain/network.ts";
import { deriveWalletKeys } from "../../src/chain/wallet-keys.ts";
import type { Step } from "../../src/escrow/model/intent.ts";
import { identifyEscrow } from "../../src/escrow/sync/escrow-outputs.ts";
import type { ContractTransaction, EscrowSource } from "../../src/escrow/sync/escrow-source.ts";
import { datumOf } from "../chain/check-vectors.ts";
import VECTORS from "../vectors/chain.json" with { type: "json" };

const SELLER = await deriveWalletKeys(`${"test ".repeat(23)}sauce`, "Preprod");
const CONTRACT = VECTORS.contracts.V2;
const FUNDS: Funds[] = [{ unit: "", amount: 10_000_000n }];
/** The same as a provider shows it. */

/** The datum of a lock. @param changed - what another escrow has otherwise */
export function signLock(changed: Partial<EscrowDatum> = {}): EscrowDatum {
  const vector = VECTORS.datums.find(({ name }) => name === "v2-locked-returns");
  if (!vector) throw new Error("there is no such vector");
  const unsigned = {
    ...datumOf(vector),
    seller: SELLER.address,
    sellerVkey: SELLER.vkey,
    collateralReturn: 0n,
    ...changed,
  };
  const terms = { contractAddress: CONTRACT, requestedFunds: null };
  return { ...unsigned, ...signIdentifier(unsigned, terms, SELLER) };
}

const LOCKED = signLock();

export const SOURCE: EscrowSource = {
  id: "source-a",
  network: "Preprod",
  type: "Web3ChainV2",
  contractAddress: CONTRACT,
  policyId: "00".repeat(28),
  feeReceiverAddress: null,
  feeRatePermille: 0,
  wallets: [
    {
      id: "seller",
      role: "Selling",
      vkey: LOCKED.sellerVkey,
      address: LOCKED.seller,
      createdById: "key-a",
    },
    {
      id: "buyer",
      role: "Purchasing",
      vkey: LOCKED.buyerVkey,
      address: LOCKED.buyer,
      createdById: "key-a",
    },
  ],
};

/** What the records of the escrow agree on. */
export const ESCROW = { datum: LOCKED, funds: FUNDS, ...identifyEscrow(SOURCE, LOCKED) };

/** What the contract lets a step do in a state; null: it ends the escrow. */
const CONTRACT_RULES: Partial<Record<Step, Partial<Record<DatumState, DatumState | null>>>> = {
  SubmitResult: {
    FundsLocked: "ResultSubmitted",
    ResultSubmitted: "ResultSubmitted",
    RefundRequested: "Disputed",
    Disputed: "Disputed",
  },
  SetRefundRequested: { FundsLocked: "RefundRequested", ResultSubmitted: "Disputed" },
  AuthorizeWithdrawal: { Disputed: "WithdrawAuthorized" },
  AuthorizeRefund: {
    FundsLocked: "RefundAuthorized",
    ResultSubmitted: "RefundAuthorized",
    RefundRequested: "RefundAuthorized",
    Disputed: "RefundAuthorized",
  },
  Withdraw: { ResultSubmitted: null, WithdrawAuthorized: null },
  WithdrawRefund: { FundsLocked: null, RefundRequested: null, RefundAuthorized: null },
};
const REDEEMER_OF: Partial<Record<Step, number>> = {
  SubmitResult: REDEEMERS.SubmitResult,
  SetRefundRequested: REDEEMERS.SetRefundRequested,
  AuthorizeWithdrawal: REDEEMERS.UnSetRefundRequested,
  AuthorizeRefund: REDEEMERS.AuthorizeRefund,
  Withdraw: REDEEMERS.Withdraw,
  WithdrawRefund: REDEEMERS.WithdrawRefund,
};

/** A transaction, in a block or not. */
export interface EscrowTransaction {
  hash: string;
  step: Step;
  /** The escrow's output that it spends; null of a lock. */
  spends: string | null;
  /** Of the output that it makes; null when it ends the escrow. */
  datum: EscrowDatum | null;
}

interface Block {
  height: number;
  hash: string;
  transaction: EscrowTransaction;
}

/** Whether the contract allows a step in a state. */
export function isAllowed(step: Step, state: OnChainState | null): boolean {
  if (step === "FundsLocking") return state === null;
  const name = DATUM_STATES.find((one) => one === state);
  return name !== undefined && CONTRACT_RULES[step]?.[name] !== undefined;
}

export class EscrowChain {
  readonly blocks: Block[] = [];
  readonly #known = new Map<string, EscrowTransaction>();
  readonly #lock: EscrowDatum;
  #made: number;

  /**
   * @param lock - the datum of its first transaction
   * @param first - from which number on its transactions and blocks are named
   */
  constructor(lock = LOCKED, first = 0) {
    this.#lock = lock;
    this.#made = first;
  }

  get height(): number {
    return 100 + this.blocks.length;
  }

  /** A transaction that spends an output, on the chain or not; null when the contract forbids it. */
  make(step: Step, spends: string | null): EscrowTransaction | null {
    const before = spends === null ? null : this.#known.get(spends.split("#")[0] ?? "");
    if (!isAllowed(step, before?.datum?.state ?? null)) return null;
    const hash = (++this.#made).toString(16).padStart(64, "0");
    const datum = before?.datum ? after(before.datum, step, hash) : this.#lock;
    const transaction = { hash, step, spends, datum };
    this.#known.set(hash, transaction);
    return transaction;
  }

  /** The output that holds the funds. */
  live(): string | null {
    const last = this.blocks.at(-1)?.transaction;
    return last?.datum ? `${last.hash}#0` : null;
  }

  /** Whether a block could take a transaction now. */
  takes({ spends, hash }: EscrowTransaction): boolean {
    if (this.blocks.some(({ transaction }) => transaction.hash === hash)) return false;
    return spends === null ? this.blocks.length === 0 : spends === this.live();
  }

  mine(transaction: EscrowTransaction): void {
    const hash = `${transaction.hash}@${this.height}@${++this.#made}`;
    this.blocks.push({ height: this.height, hash, transaction });
  }

  /** Transactions that no block has any more, or has yet. */
  loose(): EscrowTransaction[] {
    return [...this.#known.values()].filter((one) => this.takes(one));
  }

  /** A block's transaction as the sync reads it. */
  read({ height, transaction: { hash, step, spends, datum } }: Block): ContractTransaction {
    const output = {
      address: CONTRACT,
      funds: FUNDS,
      datum: datum && bytesToHex(encodeEscrowDatum(datum)),
      datumHash: null,
      hasReferenceScript: false,
    };
    const [txHash = ""] = (spends ?? "").split("#");
    const redeemer = {
      inputIndex: 0,
      constructor: REDEEMER_OF[step] ?? null,
      data: new Uint8Array(),
    };
    return {
      at: { txHash: hash, blockHeight: height, txIndex: 0, blockTime: 1_700_000_000 + height },
      tx: {
        hash,
        inputs: spends === null ? [] : [{ txHash, index: 0 }],
        outputs: datum === null ? [] : [output],
        collateralReturn: null,
        fee: 200_000n,
        validFrom: null,
        validTo: null,
        spendRedeemers: spends === null ? [] : [redeemer],
        redeemerCount: spends === null ? 0 : 1,
        mint: [],
        metadata: new Map(),
        signers: [LOCKED.buyerVkey],
        isValid: true,
      },
      outputs:
        datum === null ? [] : [{ index: 0, datum, output, ...identifyEscrow(SOURCE, datum) }],
      spent: async () => ({
        address: LOCKED.buyer,
        funds: spends === null ? [] : FUNDS,
        datum: null,
      }),
      loadSpentDatums: async () => new Map(),
      loadEarlier: () => Promise.reject(new Error("nothing was skipped")),
    };
  }
}

function after(datum: EscrowDatum, step: Step, hash: string): EscrowDatum | null {
  const state = CONTRACT_RULES[step]?.[datum.state];
  if (!state) return null;
  const results: Partial<Record<Step, string>> = { SubmitResult: hash, AuthorizeRefund: "" };
  return { ...datum, state, resultHash: results[step] ?? datum.resultHash };
}
