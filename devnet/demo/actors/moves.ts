/** What an action on an escrow comes to: its redeemer, its signer, and the outputs it makes. */
import { bytesToHex, randomBytes } from "@noble/hashes/utils.js";
import type { EscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import {
  encodeOwnReference,
  encodeRedeemer,
  REDEEMERS,
} from "../../../src/chain/contracts/redeemers.ts";
import type { Funds } from "../../../src/chain/network.ts";
import { COOLDOWN_MS, FEE_PERMILLE, TERMS } from "../../contracts/terms.ts";
import type { Escrow } from "./escrow.ts";
import type { PlannedOutput } from "./plan.ts";
import { settlementFields } from "./settlement.ts";
import { sumToValue, toFunds } from "./value.ts";
import { ADMIN, type Wallet } from "./wallets.ts";

interface ActionRules {
  /** Constructor number of the redeemer. */
  redeemer: number;
  signer(escrow: Escrow): Wallet;
}

const seller = (escrow: Escrow) => escrow.seller;
const buyer = (escrow: Escrow) => escrow.buyer;

const RULES = {
  withdraw: { redeemer: REDEEMERS.Withdraw, signer: seller },
  requestRefund: { redeemer: REDEEMERS.SetRefundRequested, signer: buyer },
  /** Web3ChainV1 only. */
  cancelRefund: { redeemer: REDEEMERS.UnSetRefundRequested, signer: buyer },
  /** Web3ChainV2 only, where redeemer 2 has another meaning. */
  authorizeWithdrawal: { redeemer: REDEEMERS.AuthorizeWithdrawal, signer: buyer },
  withdrawRefund: { redeemer: REDEEMERS.WithdrawRefund, signer: buyer },
  withdrawDisputed: { redeemer: REDEEMERS.WithdrawDisputed, signer: () => ADMIN },
  submitResult: { redeemer: REDEEMERS.SubmitResult, signer: seller },
  authorizeRefund: { redeemer: REDEEMERS.AuthorizeRefund, signer: seller },
} satisfies Record<string, ActionRules>;

/** What can be done to an escrow. */
export type EscrowAction = keyof typeof RULES;
export const ESCROW_ACTIONS = Object.keys(RULES) as EscrowAction[];

/** One action on one escrow; what is optional has a default. */
export interface DemoMove {
  escrow: Escrow;
  action: EscrowAction;
  /** `submitResult` only: 64 hex characters. Default: random. */
  resultHash?: string;
  /** `withdrawDisputed` only: native minor units that the buyer gets. Default: half. */
  buyerShare?: bigint;
  /** Laid over the continuing datum, for moves that are wrong. */
  datum?: Partial<EscrowDatum>;
  /** The transaction reads the script where `publishScripts` has put it, and does not hold it. */
  isScriptRead?: boolean;
}

/** Of an output with native coins alone, so that a fee is never too little to be paid out. */
const MIN_FEE = 1_435_230n;

/** Who must sign a move. */
export function signerOf({ escrow, action }: DemoMove): Wallet {
  return RULES[action].signer(escrow);
}

/** CBOR of the redeemer. Redeemer 4 of V2 carries what each side gets and the admins' signatures. */
export function redeemerOf(move: DemoMove): Uint8Array {
  const { redeemer } = RULES[move.action];
  if (move.action !== "withdrawDisputed" || move.escrow.contract.type === "Web3ChainV1") {
    return encodeRedeemer(redeemer);
  }
  const { toBuyer, toSeller } = disputeShares(move);
  const own = spentOutput(move.escrow);
  const administrators = Array.from(
    { length: TERMS.Web3ChainV2.requiredAdminSignatures },
    () => ADMIN,
  );
  return encodeRedeemer(redeemer, settlementFields(own, toBuyer, toSeller, administrators));
}

/**
 * The datum of the continuing output, as the contract's state machine has it; `null` when the
 * action ends the escrow.
 *
 * @param end Unix milliseconds at which the validity ends: the actor's cooldown starts here, the
 *   other side's is cleared.
 */
export function continuingDatum(move: DemoMove, end: number): EscrowDatum | null {
  const { escrow, action } = move;
  const { datum } = escrow;
  const isV1 = escrow.contract.type === "Web3ChainV1";
  const cooldown = BigInt(end + COOLDOWN_MS);
  const byBuyer = { buyerCooldownTime: cooldown, sellerCooldownTime: 0n, ...move.datum };
  const bySeller = { buyerCooldownTime: 0n, sellerCooldownTime: cooldown, ...move.datum };
  const hasResult = datum.resultHash !== "";
  switch (action) {
    case "requestRefund":
      return { ...datum, state: hasResult ? "Disputed" : "RefundRequested", ...byBuyer };
    case "cancelRefund":
      return { ...datum, state: hasResult ? "ResultSubmitted" : "FundsLocked", ...byBuyer };
    case "authorizeWithdrawal":
      return { ...datum, state: "WithdrawAuthorized", ...byBuyer };
    case "submitResult": {
      const refundAsked = datum.state === "RefundRequested" || datum.state === "Disputed";
      const resultHash = move.resultHash ?? bytesToHex(randomBytes(32));
      const state = refundAsked ? "Disputed" : "ResultSubmitted";
      return { ...datum, state, resultHash, ...bySeller };
    }
    case "authorizeRefund": {
      const state = isV1 ? "RefundRequested" : "RefundAuthorized";
      return { ...datum, state, resultHash: "", ...bySeller };
    }
    default:
      return null;
  }
}

/**
 * What an action that ends the escrow pays out. A payout is tagged with the output it comes from,
 * as the contracts recognise it; the seller's part on V1 is the exception.
 */
export function payouts(move: DemoMove): PlannedOutput[] {
  const { escrow, action } = move;
  const { datum } = escrow;
  const isV1 = escrow.contract.type === "Web3ChainV1";
  const buyerAddress = datum.buyerReturnAddress ?? datum.buyer;
  const sellerAddress = datum.sellerReturnAddress ?? datum.seller;
  const tagged = (address: string, funds: Funds[]) => ({ address, funds, datum: tagOf(escrow) });

  if (action === "withdrawRefund") return [tagged(buyerAddress, escrow.funds)];
  if (action === "withdrawDisputed") {
    const { toBuyer, toSeller } = disputeShares(move);
    return [tagged(buyerAddress, toBuyer), tagged(sellerAddress, toSeller)].filter(
      ({ funds }) => funds.length > 0,
    );
  }
  const collateral = [{ unit: "", amount: datum.collateralReturn }];
  const returned = datum.collateralReturn > 0n ? [tagged(buyerAddress, collateral)] : [];
  const rest = minus(escrow.funds, collateral);
  if (!isV1) return [tagged(sellerAddress, rest), ...returned];
  const fee = escrow.funds.map(feeOf).filter(({ amount }) => amount > 0n);
  return [
    { address: sellerAddress, funds: minus(rest, fee) },
    tagged(ADMIN.address, fee),
    ...returned,
  ];
}

/** Of all that is locked, the collateral counted in. */
function feeOf({ unit, amount }: Funds): Funds {
  const fee = (amount * BigInt(FEE_PERMILLE)) / 1000n;
  return { unit, amount: unit === "" && fee < MIN_FEE ? MIN_FEE : fee };
}

/** The buyer gets native coins only, the seller everything else. */
function disputeShares({ escrow, buyerShare }: DemoMove): { toBuyer: Funds[]; toSeller: Funds[] } {
  const native = escrow.funds.find(({ unit }) => unit === "")?.amount ?? 0n;
  const toBuyer = toFunds(sumToValue([{ unit: "", amount: buyerShare ?? native / 2n }]));
  return { toBuyer, toSeller: minus(escrow.funds, toBuyer) };
}

function minus(funds: Funds[], less: Funds[]): Funds[] {
  return toFunds(
    sumToValue(
      funds,
      less.map(({ unit, amount }) => ({ unit, amount: -amount })),
    ),
  );
}

function tagOf(escrow: Escrow): Uint8Array {
  const { txHash, index } = spentOutput(escrow);
  return encodeOwnReference(txHash, index);
}

/** @throws when the escrow has been paid out. */
export function spentOutput({ txHash, index }: Escrow): { txHash: string; index: number } {
  if (index === null) throw new Error(`the escrow was paid out by ${txHash}`);
  return { txHash, index };
}
