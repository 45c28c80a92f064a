/** The rules on signers, states and times as a table. */
import type { Rule } from "../../../devnet/contracts/rules.ts";
import type { DatumState, EscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import type { OperatorAction } from "./drafts.ts";

interface Conditions {
  by: "seller" | "buyer" | null;
  from: readonly DatumState[];
  /** Whether a result must exist, or must not. */
  result?: boolean;
  /** Milliseconds; null for any time. */
  notBefore?: (datum: EscrowDatum) => bigint | null;
  notAfter?: (datum: EscrowDatum) => bigint;
}

const SUBMIT: Conditions = {
  by: "seller",
  from: ["FundsLocked", "ResultSubmitted", "RefundRequested", "Disputed"],
  notBefore: (datum) => datum.sellerCooldownTime,
  notAfter: ({ resultHash, submitResultTime, externalDisputeUnlockTime }) =>
    resultHash !== "" && externalDisputeUnlockTime > submitResultTime
      ? externalDisputeUnlockTime
      : submitResultTime,
};
const REQUEST: Conditions = {
  by: "buyer",
  from: ["FundsLocked", "ResultSubmitted", "Disputed"],
  notBefore: (datum) => datum.buyerCooldownTime,
  notAfter: (datum) => datum.unlockTime,
};
const SETTLE: Conditions = {
  by: null,
  from: ["Disputed"],
  result: true,
  notBefore: (datum) => datum.externalDisputeUnlockTime,
};

export const CONDITIONS: Record<PaymentSourceType, Record<OperatorAction, Conditions>> = {
  Web3ChainV1: {
    submitResult: SUBMIT,
    requestRefund: REQUEST,
    withdrawDisputed: SETTLE,
    redeemer2: {
      by: "buyer",
      from: ["RefundRequested", "Disputed"],
      notBefore: (datum) => datum.buyerCooldownTime,
    },
    authorizeRefund: {
      by: "seller",
      from: ["Disputed"],
      notBefore: (datum) => datum.sellerCooldownTime,
    },
    withdraw: {
      by: "seller",
      from: ["ResultSubmitted"],
      result: true,
      notBefore: (datum) => datum.unlockTime,
    },
    withdrawRefund: {
      by: "buyer",
      from: ["FundsLocked", "RefundRequested"],
      result: false,
      notBefore: (datum) => datum.submitResultTime,
    },
  },
  Web3ChainV2: {
    submitResult: SUBMIT,
    requestRefund: REQUEST,
    withdrawDisputed: SETTLE,
    redeemer2: {
      by: "buyer",
      from: ["Disputed"],
      result: true,
      notBefore: (datum) => datum.buyerCooldownTime,
    },
    authorizeRefund: {
      by: "seller",
      from: ["FundsLocked", "ResultSubmitted", "RefundRequested", "Disputed"],
      notBefore: (datum) => datum.sellerCooldownTime,
    },
    withdraw: {
      by: "seller",
      from: ["ResultSubmitted", "WithdrawAuthorized"],
      result: true,
      notBefore: ({ state, unlockTime }) => (state === "WithdrawAuthorized" ? null : unlockTime),
    },
    withdrawRefund: {
      by: "buyer",
      from: ["FundsLocked", "RefundRequested", "RefundAuthorized"],
      result: false,
      notBefore: ({ state, submitResultTime }) =>
        state === "RefundAuthorized" ? null : submitResultTime,
    },
  },
};

/** The parts of a transaction that these rules check. Unix milliseconds. */
export interface Attempt {
  signer: "seller" | "buyer" | "stranger";
  from: number | null;
  to: number;
}

/** The first rule that an attempt breaks, or null. */
export function brokenRule(datum: EscrowDatum, act: OperatorAction, attempt: Attempt): Rule | null {
  const { by, from, result, notBefore, notAfter } = CONDITIONS[datum.version][act];
  if (by !== null && by !== attempt.signer) return "signer";
  if (!from.includes(datum.state)) return "state";
  if (result !== undefined && result !== (datum.resultHash !== "")) return "result";
  const earliest = notBefore?.(datum) ?? null;
  if (earliest !== null && (attempt.from === null || BigInt(attempt.from) < earliest))
    return "notBefore";
  if (notAfter && BigInt(attempt.to) >= notAfter(datum)) return "notAfter";
  return null;
}

/**
 * The rule that one field of the continuing datum breaks, or null.
 *
 * @param lawful - the datum of a lawful act with the shortest cooldown
 */
export function brokenByField(
  act: OperatorAction,
  lawful: EscrowDatum,
  field: keyof EscrowDatum,
  value: EscrowDatum[keyof EscrowDatum],
): Rule | null {
  const { version } = lawful;
  if (value === lawful[field]) return null;
  const own = CONDITIONS[version][act].by === "seller" ? "sellerCooldownTime" : "buyerCooldownTime";
  switch (field) {
    case "sellerCooldownTime":
    case "buyerCooldownTime":
      if (field !== own) return "otherCooldown";
      return typeof value === "bigint" && value > lawful[own] ? null : "ownCooldown";
    case "state":
      return "nextState";
    case "resultHash":
      return act === "submitResult" && value !== "" ? null : "nextResult";
    case "referenceSignature":
      // A contract of Web3ChainV2 recognizes its escrow by this field.
      return version === "Web3ChainV2" ? "continuingOutput" : "fieldsKept";
    default:
      return "fieldsKept";
  }
}
