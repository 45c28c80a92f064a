/** Lawful transactions that move escrows, before a test changes them. */
import { blake2b } from "@noble/hashes/blake2.js";
import type { Script } from "../../../devnet/contracts/scripts.ts";
import type { Metadata } from "../../../devnet/demo/actors/metadata.ts";
import type { PlannedMint, PlannedOutput, Units } from "../../../devnet/demo/actors/plan.ts";
import { buildTransaction } from "../../../devnet/demo/actors/transaction.ts";
import { toFunds as fundsOfValue, sumToValue } from "../../../devnet/demo/actors/value.ts";
import type { Wallet } from "../../../devnet/demo/actors/wallets.ts";
import { readTransaction } from "../../../devnet/ledger/transaction.ts";
import {
  type DatumState,
  type EscrowDatum,
  encodeEscrowDatum,
} from "../../../src/chain/contracts/escrow-datum.ts";
import type { Funds } from "../../../src/chain/network.ts";
import {
  type Constr,
  decodePlutusData,
  encodePlutusData,
  type PlutusData,
} from "../../../src/chain/plutus/data.ts";
import {
  ADMINISTRATORS,
  BUYER,
  COOLDOWN,
  DISPUTE,
  type Escrow,
  FEE_PERMILLE,
  FEE_RECEIVER,
  hashOf,
  SELLER,
  SUBMIT_BY,
  timeAt,
  UNLOCK,
} from "./escrows.ts";
import { referenceOf, settle } from "./settlements.ts";
import type { Stage } from "./stage.ts";

/** By the number of the redeemer. */
export const OPERATOR_ACTIONS = [
  "withdraw",
  "requestRefund",
  "redeemer2",
  "withdrawRefund",
  "withdrawDisputed",
  "submitResult",
  "authorizeRefund",
] as const;
/** `redeemer2` takes the request back on Web3ChainV1, and lets the seller withdraw on Web3ChainV2. */
export type OperatorAction = (typeof OPERATOR_ACTIONS)[number];

export interface DraftOutput extends Omit<PlannedOutput, "datum" | "datumHash"> {
  /** What the output is for. */
  role: "escrow" | "fee" | "collateral" | "seller" | "buyer" | "other";
  /** The continuing datum. */
  next?: EscrowDatum;
  /** Replaces `next`, or is other data. */
  datum?: PlutusData;
  /** The output has only the hash of the datum. */
  byHash?: boolean;
}

export interface Draft {
  /** Pays, and signs first. */
  payer: Wallet;
  coSigners: Wallet[];
  /** Default: all signers. */
  requiredSigners?: string[];
  spends: { escrow: Escrow; redeemer: Constr }[];
  outputs: DraftOutput[];
  /** Seconds after the lock. */
  from: number | null;
  to: number | null;
  /** When the ledger validates it. */
  at: number;
  scripts: Script[];
  mints?: PlannedMint[];
  /** Datums of escrows that were locked by hash. */
  datums?: PlutusData[];
  units: Units;
  metadata?: Metadata;
}

/** The free parts of a lawful move. */
export interface Plan {
  /** Seconds after the lock. */
  from?: number;
  to?: number;
  resultHash?: string;
}

/** More than any spend of the tests uses. The ledger accepts six of them. */
const UNITS: Units = { memory: 2_300_000n, steps: 1_600_000_000n };
const WINDOW = 300;
const PAUSE = 900;

/** Seconds after the lock at which a cooldown is over that began in the n-th move, from 1. */
export const cooldownAfter = (move: number): number => move * PAUSE + WINDOW + COOLDOWN / 1000;

/** The earliest time of a move after earlier moves. */
function defaultStart(act: OperatorAction, before: number): number {
  if (act === "withdraw") return UNLOCK;
  if (act === "withdrawRefund") return SUBMIT_BY;
  if (act === "withdrawDisputed") return DISPUTE;
  return (before + 1) * PAUSE;
}

/**
 * One transaction that does one act to each escrow, whatever its state.
 *
 * @param before - the number of each escrow's earlier moves
 */
export function draft(
  moves: readonly { escrow: Escrow; act: OperatorAction }[],
  before: number,
  plan: Plan = {},
): Draft {
  const from = plan.from ?? Math.max(...moves.map(({ act }) => defaultStart(act, before)));
  const to = plan.to ?? from + WINDOW;
  const signers = [...new Set(moves.flatMap(signersOf))];
  const [payer = SELLER, ...coSigners] = signers;
  return {
    payer,
    coSigners,
    spends: moves.map(({ escrow, act }) => ({ escrow, redeemer: redeemerOf(escrow, act) })),
    outputs: moves.flatMap(({ escrow, act }) => outputsOf(escrow, act, to, plan)),
    from,
    to,
    at: from,
    scripts: [...new Set(moves.map(({ escrow }) => escrow.deployment.escrow))],
    units: UNITS,
  };
}

const isV1 = ({ deployment }: Escrow) => deployment.type === "Web3ChainV1";

function signersOf({ escrow, act }: { escrow: Escrow; act: OperatorAction }): Wallet[] {
  if (act === "requestRefund" || act === "redeemer2" || act === "withdrawRefund") return [BUYER];
  if (act !== "withdrawDisputed") return [SELLER];
  // Anybody may submit a settlement that the administrators signed.
  return isV1(escrow) ? ADMINISTRATORS.slice(0, 2) : [BUYER];
}

function redeemerOf(escrow: Escrow, act: OperatorAction): Constr {
  if (act !== "withdrawDisputed" || isV1(escrow))
    return { index: OPERATOR_ACTIONS.indexOf(act), fields: [] };
  return settle(escrow, sharesOf(escrow));
}

/** Half of the native coin to the buyer, everything else to the seller. */
export function sharesOf({ funds }: Escrow): { toBuyer: Funds[]; toSeller: Funds[] } {
  const native = funds.find(({ unit }) => unit === "")?.amount ?? 0n;
  const toBuyer = [{ unit: "", amount: native / 2n }];
  return { toBuyer, toSeller: less(funds, toBuyer) };
}

export const less = (funds: readonly Funds[], taken: readonly Funds[]): Funds[] =>
  fundsOfValue(
    sumToValue(
      funds,
      taken.map(({ unit, amount }) => ({ unit, amount: -amount })),
    ),
  );

/** The continuing datum; null when the act ends the escrow. */
export function nextDatum(
  { deployment, datum }: Escrow,
  act: OperatorAction,
  to: number,
  plan: Plan,
) {
  const hasResult = datum.resultHash !== "";
  const cooldown = BigInt(timeAt(to) + COOLDOWN);
  const bySeller = { sellerCooldownTime: cooldown, buyerCooldownTime: 0n };
  const byBuyer = { sellerCooldownTime: 0n, buyerCooldownTime: cooldown };
  const next = (state: DatumState, changes: Partial<EscrowDatum>): EscrowDatum => ({
    ...datum,
    ...changes,
    state,
  });
  switch (act) {
    case "requestRefund":
      return next(hasResult ? "Disputed" : "RefundRequested", byBuyer);
    case "redeemer2":
      if (deployment.type === "Web3ChainV2") return next("WithdrawAuthorized", byBuyer);
      return next(hasResult ? "ResultSubmitted" : "FundsLocked", byBuyer);
    case "submitResult": {
      const isCalm = datum.state === "FundsLocked" || datum.state === "ResultSubmitted";
      const { resultHash = hashOf(`result after ${datum.resultHash}`) } = plan;
      return next(isCalm ? "ResultSubmitted" : "Disputed", { ...bySeller, resultHash });
    }
    case "authorizeRefund": {
      const state = deployment.type === "Web3ChainV1" ? "RefundRequested" : "RefundAuthorized";
      return next(state, { ...bySeller, resultHash: "" });
    }
    default:
      return null;
  }
}

/** The data of an escrow's datum. */
export const datumData = (datum: EscrowDatum): Constr =>
  decodePlutusData(encodeEscrowDatum(datum)) as Constr;

function outputsOf(escrow: Escrow, act: OperatorAction, to: number, plan: Plan): DraftOutput[] {
  const next = nextDatum(escrow, act, to, plan);
  if (next !== null) {
    const { address } = escrow.deployment;
    return [{ role: "escrow", address, funds: escrow.funds, next }];
  }
  return payouts(escrow, act).filter(({ funds }) => funds.some(({ amount }) => amount > 0n));
}

function payouts(escrow: Escrow, act: OperatorAction): DraftOutput[] {
  const { datum, funds } = escrow;
  const tag = referenceOf(escrow);
  const buyer = datum.buyerReturnAddress ?? datum.buyer;
  const seller = datum.sellerReturnAddress ?? datum.seller;
  if (act === "withdrawRefund") return [{ role: "buyer", address: buyer, funds, datum: tag }];
  if (act === "withdrawDisputed") {
    const { toBuyer, toSeller } = sharesOf(escrow);
    return [
      { role: "buyer", address: buyer, funds: toBuyer, datum: tag },
      { role: "seller", address: seller, funds: toSeller, datum: tag },
    ];
  }
  const collateral = [{ unit: "", amount: datum.collateralReturn }];
  const fee = isV1(escrow) ? feeOf(escrow) : [];
  return [
    { role: "seller", address: seller, funds: less(less(funds, collateral), fee), datum: tag },
    { role: "fee", address: FEE_RECEIVER.address, funds: fee, datum: tag },
    { role: "collateral", address: buyer, funds: collateral, datum: tag },
  ];
}

/** The fee on everything that is locked, the collateral included. */
export const feeOf = ({ funds }: Escrow): Funds[] =>
  funds
    .map(({ unit, amount }) => ({ unit, amount: (amount * FEE_PERMILLE) / 1000n }))
    .filter(({ amount }) => amount > 0n);

/** The signed transaction. */
export function build(stage: Stage, plan: Draft): Uint8Array {
  const { payer, coSigners, requiredSigners, spends, outputs, from, to, scripts, units } = plan;
  const time = (seconds: number | null) => (seconds === null ? null : timeAt(seconds));
  return buildTransaction(stage, {
    payer,
    coSigners,
    ...(requiredSigners && { requiredSigners }),
    spends: spends.map(({ escrow: { txHash, index, funds }, redeemer }) => ({
      txHash,
      index,
      funds,
      redeemer: encodePlutusData(redeemer),
    })),
    outputs: outputs.map(({ address, funds, next, datum, byHash, referenceScript }) => {
      const data = datum ?? (next && datumData(next));
      const cbor = data === undefined ? undefined : encodePlutusData(data);
      return {
        address,
        funds,
        ...(cbor && (byHash ? { datumHash: blake2b(cbor, { dkLen: 32 }) } : { datum: cbor })),
        ...(referenceScript !== undefined && { referenceScript }),
      };
    }),
    scripts,
    units,
    validity: { from: time(from), to: time(to) },
    ...(plan.mints && { mints: plan.mints }),
    ...(plan.datums && { datums: plan.datums.map(encodePlutusData) }),
    ...(plan.metadata && { metadata: plan.metadata }),
  });
}

/**
 * Makes a lawful move.
 *
 * @returns the ledger and the escrow after the move; an ended escrow is unchanged.
 */
export function move(
  stage: Stage,
  escrow: Escrow,
  act: OperatorAction,
  before: number,
  plan: Plan = {},
): { stage: Stage; escrow: Escrow } {
  const made = draft([{ escrow, act }], before, plan);
  const cbor = build(stage, made);
  const { hash: txHash } = readTransaction(cbor);
  const datum = nextDatum(escrow, act, made.to ?? 0, plan);
  return {
    stage: stage.after(cbor, timeAt(made.at)),
    escrow: datum === null ? escrow : { ...escrow, datum, txHash, index: 0 },
  };
}
