import {
  type AdditionalOutput,
  EvaluationUnavailableError,
  type Provider,
  ProviderError,
  ScriptFailedError,
} from "../../../chain/provider/provider.ts";
import { mentionsOutput } from "../../../chain/provider/rejection.ts";
import { truncateMessage } from "../../../chain/provider/request.ts";
import {
  draftTransaction,
  type TransactionDraft,
} from "../../../chain/transaction/build-transaction.ts";
import { createInputSelector } from "../../../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type TransactionPlan,
} from "../../../chain/transaction/transaction-plan.ts";
import { log } from "../../../log.ts";
import { isPending } from "../../model/phases.ts";
import type { WalletTransaction } from "../../model/wallet-transaction.ts";
import { computeShape, type Measurements } from "../context/measurements.ts";
import type { Evaluator } from "../context/output-view.ts";
import type { ComposedTransaction } from "./compose-transaction.ts";
import { BadMembersError, type TransactionMember } from "./exclude-bad-members.ts";

/** What is known of the wallet's transactions. */
interface MeasurementContext {
  /** All that are not final. */
  openTransactions: readonly WalletTransaction[];
  /** Hashes of those that a node has accepted just now. */
  acceptedHashes: ReadonlySet<string>;
  evaluator: Evaluator;
  measurements: Measurements;
}

/**
 * Completes a plan with the units that its scripts use, as measured before or by the node.
 *
 * @param members - the members of the transaction.
 * @throws BadMembersError: their scripts fail, or the node does not have their inputs.
 * @throws ScriptFailedError if the node names no script; ProviderError.
 */
export async function measureScripts(
  provider: Pick<Provider, "evaluate">,
  composed: ComposedTransaction,
  members: readonly TransactionMember[],
  known: MeasurementContext,
): Promise<TransactionPlan> {
  const { plan, wallet, isMeasured } = composed;
  if (isMeasured && !members.some(({ task }) => task.isAlone)) return plan;
  const draft = draftTransaction(plan, createInputSelector(wallet, plan), 1);
  const shape = members.some(({ task }) => task.isAlone)
    ? null
    : computeShape(plan, draft.selection);
  const before = shape === null ? null : known.measurements.find(shape, plan.parameters);
  if (before !== null) return draft.withMeasuredUnits(before);
  try {
    const parents = findParents(draft, wallet.address, known);
    const used = await evaluateScripts(provider, draft, parents, known.evaluator);
    if (shape !== null) known.measurements.save(shape, used);
    return draft.withMeasuredUnits(used);
  } catch (error) {
    logNodeMessage(error, members);
    const bad = members.filter(({ part }) => {
      if (error instanceof ScriptFailedError)
        return listRedeemerNames(part, plan, draft.redeemerNames).some((name) =>
          error.redeemers.includes(name),
        );
      return (
        error instanceof EvaluationUnavailableError &&
        error.obstacle === "UnknownInput" &&
        part.scriptInputs.some((one) => mentionsOutput(error.detail, one))
      );
    });
    throw bad.length > 0 ? new BadMembersError(bad, error) : error;
  }
}

/** Logs what a node said of scripts: what people are shown is in our own words. */
function logNodeMessage(error: unknown, members: readonly TransactionMember[]): void {
  const isOfNode = error instanceof ScriptFailedError || error instanceof ProviderError;
  if (!isOfNode) return;
  const said = error instanceof ScriptFailedError || error instanceof EvaluationUnavailableError;
  const detail = truncateMessage(said ? error.detail : String(error.cause ?? ""));
  const tasks = members.map(({ task }) => task.id);
  log("warn", "wallet.scripts_not_run", { tasks, error: String(error), detail });
}

/** How a node names the redeemers of a part. */
function listRedeemerNames(
  part: TransactionMember["part"],
  { scriptInputs, mints }: TransactionPlan,
  names: ReadonlyMap<object, string>,
): string[] {
  const spent = part.scriptInputs.map(formatOutputReference);
  const minted = part.mints.map(({ script }) => script.hash);
  return [
    ...scriptInputs.filter((run) => spent.includes(formatOutputReference(run))),
    ...mints.filter(({ script }) => minted.includes(script.hash)),
  ].flatMap((run) => names.get(run) ?? []);
}

interface PendingParents {
  outputs: AdditionalOutput[];
  /** Whether a node is known to have them all. */
  areAccepted: boolean;
}

/** Outputs of the wallet that a transaction spends, and no block has yet. */
function findParents(
  { inputs }: TransactionDraft,
  address: string,
  { openTransactions: open, acceptedHashes: accepted }: MeasurementContext,
): PendingParents {
  const spent = new Set(inputs.map(formatOutputReference));
  const parents = open
    .filter(({ phase }) => isPending(phase))
    .map(({ hash, phase, made }) => ({
      outputs: made
        .map((one): AdditionalOutput => ({ ...one, txHash: hash, address }))
        .filter((one) => spent.has(formatOutputReference(one))),
      isAccepted: phase === "Sent" || accepted.has(hash),
    }))
    .filter(({ outputs }) => outputs.length > 0);
  return {
    outputs: parents.flatMap(({ outputs }) => outputs),
    areAccepted: parents.every(({ isAccepted }) => isAccepted),
  };
}

/** Evaluates scripts. Unless the node has the parents in its mempool, the call contains their outputs. */
async function evaluateScripts(
  provider: Pick<Provider, "evaluate">,
  { cbor }: TransactionDraft,
  { outputs, areAccepted }: PendingParents,
  evaluator: Evaluator,
) {
  const isTold = outputs.length > 0 && !(areAccepted && evaluator.knowsMempool);
  try {
    return await provider.evaluate(cbor, isTold ? outputs : []);
  } catch (error) {
    const requested = isTold ? "AdditionalUtxoOverlap" : "UnknownInput";
    const isOther = error instanceof EvaluationUnavailableError && error.obstacle === requested;
    if (!isOther || outputs.length === 0) throw error;
    const units = await provider.evaluate(cbor, isTold ? [] : outputs);
    // That it has a parent tells nothing: a block may have brought it.
    if (areAccepted && !isTold) evaluator.knowsMempool = false;
    return units;
  }
}
