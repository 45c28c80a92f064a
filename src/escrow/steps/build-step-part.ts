/** The part of a transaction that takes a step, as the contract wants it: `docs/escrow-contract.md`. */
import { type EscrowDatum, encodeEscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import { encodeRedeemer } from "../../chain/contracts/redeemers.ts";
import type { PaymentSourceType } from "../../chain/network.ts";
import type { ProtocolParameters } from "../../chain/provider/provider.ts";
import type { PlannedOutput, ScriptSource } from "../../chain/transaction/transaction-plan.ts";
import type { TransactionPart } from "../../wallets/queue/feature.ts";
import { countWords } from "../../wallets/spending/context/measurements.ts";
import { buildPayouts, type ContractSettings, raiseToMinimumCoin } from "../model/build-payouts.ts";
import type { Step } from "../model/intent.ts";
import { type Escrow, StepImpossibleError } from "../model/read-escrow.ts";
import { ruleOf, type StepRule, transitionOf } from "../model/step-rules.ts";

/** A step to take. */
export interface RequestedStep {
  step: Step;
  /** The result that `SubmitResult` carries, 64 hex characters; null of other steps. */
  resultHash: string | null;
}

/** With what a step is taken. */
export interface StepContext {
  contract: ContractSettings;
  script: ScriptSource;
  /** The wallet that takes it. */
  wallet: { address: string; vkey: string };
  /** Where the wallet's money goes if the datum does not say; null: to the wallet. */
  payoutAddress: string | null;
  /** The end of the transaction's validity, Unix milliseconds. */
  validTo: number;
  parameters: ProtocolParameters;
}

/**
 * How many steps share a transaction. The contract of Web3ChainV1 accepts one. In Web3ChainV2 each
 * step needs more memory the more steps there are. Above this number a second transaction is
 * cheaper.
 */
const MAX_STEPS_PER_TRANSACTION: Record<PaymentSourceType, number> = {
  Web3ChainV1: 1,
  Web3ChainV2: 5,
};

/**
 * Takes a step of an escrow that is on the chain.
 *
 * @throws StepImpossibleError when the contract would refuse it whenever it is tried
 */
export function buildStepPart(
  escrow: Escrow,
  taken: RequestedStep,
  means: StepContext,
): TransactionPart {
  const { datum, value, txHash, index } = escrow;
  const { script, contract } = means;
  const rule = ruleOf(taken.step, datum.version);
  const transition = transitionOf(rule, datum.state);
  if (!rule || rule.redeemer === null || !transition)
    throw new StepImpossibleError(
      `${taken.step} is not possible while the escrow is ${datum.state}`,
    );
  requireSigner(datum, rule, means.wallet.vkey);
  requireCollateral(escrow, taken.step);
  const outputs =
    transition.to === null
      ? buildPayouts(escrow, rule.signer, means)
      : [buildContinuingOutput(escrow, rule, transition.to, taken, means)];
  return {
    scriptInputs: [
      {
        ...{ txHash, index, value, script },
        redeemer: encodeRedeemer(rule.redeemer),
        shape: shapeOf(datum, taken),
      },
    ],
    mints: [],
    spends: [],
    outputs,
    metadata: new Map(),
    maxParts: MAX_STEPS_PER_TRANSACTION[contract.type],
    // The contract of Web3ChainV2 knows its escrows by their signatures.
    exclusiveNames: [`reference signature ${datum.referenceSignature}`],
    detail: { step: taken.step },
  };
}

/** The sizes of all that a datum holds, and of what a step puts into the next. */
function shapeOf(datum: EscrowDatum, { step, resultHash }: RequestedStep): string {
  const sizes = Object.entries(datum).map(([field, value]) => {
    const size = typeof value === "bigint" ? countWords(value) : value && String(value).length;
    // An amount or a time of zero is told from others.
    return [field, value === 0n ? 0 : size];
  });
  return JSON.stringify([step, resultHash?.length, datum.state, sizes]);
}

/**
 * The output with which an escrow goes on. All funds stay; where the new datum needs a larger deposit, the wallet
 * adds to it. The cooldown of who acts is counted from the validity's end.
 */
function buildContinuingOutput(
  { datum, value }: Escrow,
  rule: StepRule,
  state: EscrowDatum["state"],
  taken: RequestedStep,
  { contract, validTo, parameters }: StepContext,
): PlannedOutput {
  const cooldown = BigInt(validTo + contract.cooldownTime);
  const next: EscrowDatum = {
    ...datum,
    state,
    resultHash: computeResultHash(datum, rule, taken),
    sellerCooldownTime: rule.signer === "seller" ? cooldown : 0n,
    buyerCooldownTime: rule.signer === "buyer" ? cooldown : 0n,
  };
  const output = { address: contract.address, value, datum: encodeEscrowDatum(next) };
  return raiseToMinimumCoin(output, parameters);
}

function computeResultHash(
  { resultHash }: EscrowDatum,
  { result }: StepRule,
  { resultHash: given }: RequestedStep,
): string {
  if (result === "cleared") return "";
  if (result !== "given") return resultHash;
  if (!given) throw new StepImpossibleError("there is no result to submit");
  return given;
}

function requireSigner(datum: EscrowDatum, { signer: by }: StepRule, vkey: string): void {
  const party = by === "seller" ? datum.sellerVkey : datum.buyerVkey;
  if (party !== vkey)
    throw new StepImpossibleError(`the escrow's ${by} has another key than the wallet: ${party}`);
}

/** With less than its collateral an escrow of Web3ChainV2 can only be refunded. */
function requireCollateral({ datum, value }: Escrow, step: Step): void {
  const isChecked = step === "SubmitResult" || step === "Withdraw";
  const coin = value.get("") ?? 0n;
  if (datum.version === "Web3ChainV2" && isChecked && coin < datum.collateralReturn)
    throw new StepImpossibleError(
      `the escrow holds ${coin} minor units of the native coin, less than its collateral of ${datum.collateralReturn}: the contract only refunds it`,
    );
}
