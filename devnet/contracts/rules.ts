/**
 * The rules of the contracts by their numbers in docs/escrow-contract.md. A script that refuses
 * logs the number: `rule 13`.
 */
import { trace } from "./plutus/builtins.ts";
import { text } from "./plutus/constants.ts";
import { guard, type Steps } from "./plutus/procedure.ts";
import type { Term, Text } from "./plutus/terms.ts";
import { apply, type Bool, delay, error, force, lambda, share } from "./plutus/terms.ts";

export const RULES = {
  // Every spend.
  ownDatum: 1,
  redeemer: 2,
  validTo: 3,
  noReferenceScript: 4,
  alone: 5,
  readableOutputs: 6,
  distinctSignatures: 7,
  payableDatum: 8,
  // Signers, states and times.
  signer: 9,
  state: 10,
  result: 11,
  notBefore: 12,
  notAfter: 13,
  collateralLocked: 14,
  // Actions that leave the escrow at the contract.
  continuingOutput: 15,
  valueKept: 16,
  ownCooldown: 17,
  otherCooldown: 18,
  nextState: 19,
  nextResult: 20,
  fieldsKept: 21,
  // Actions that end it.
  fee: 22,
  collateralReturned: 23,
  returnAddress: 24,
  ended: 25,
  // Disputes.
  administrators: 26,
  signatureCount: 27,
  signatureHeaders: 28,
  settledValues: 29,
  settlementPaid: 30,
  // Registry policies.
  mintRedeemer: 31,
  mintAlone: 32,
  mintQuantity: 33,
  mintName: 34,
  mintSuccessor: 35,
} as const;
export type Rule = keyof typeof RULES;

/** The log line of a script that refuses by a rule. */
export const refusalText = (rule: Rule): string => `rule ${RULES[rule]}`;

/** Logs a text and fails. */
const fail = share(lambda((message: Term<Text>) => force(trace(message, delay(error)))));

/** Ends the script, because a rule is broken. */
export const refuse = (rule: Rule): Term<never> => apply(fail, text(refusalText(rule)));

/** Refuses by a rule unless its condition holds. */
export const demand = (rule: Rule, condition: Term<Bool>): Steps<void> =>
  guard(condition, refuse(rule));
