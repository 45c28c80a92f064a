import {
  type AdditionalOutput,
  NotEvaluated,
  type Provider,
  ProviderError,
  ScriptFailed,
} from "../../../chain/provider/provider.ts";
import { mentionsOutput } from "../../../chain/provider/rejection.ts";
import { truncateMessage } from "../../../chain/provider/request.ts";
import { type Draft, draftTransaction } from "../../../chain/transaction/build-transaction.ts";
import { payFrom } from "../../../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type TransactionPlan,
} from "../../../chain/transaction/transaction-plan.ts";
import { log } from "../../../log.ts";
import { isWaiting } from "../../model/phases.ts";
import type { WalletTransaction } from "../../model/wallet-transaction.ts";
import { type Measurements, shapeOf } from "../context/measurements.ts";
import type { Evaluator } from "../context/output-view.ts";
import type { ComposedTransaction } from "./compose.ts";
import { BadMembersError, type Member } from "./members.ts";

/** What is known of the wallet's transactions. */
interface Known {
  /** All that are not final. */
  open: readonly WalletTransaction[];
  /** Hashes of those that a node has accepted just now. */
  accepted: ReadonlySet<string>;
  evaluator: Evaluator;
  measurements: Measurements;
}

/**
 * Completes a plan with the units that its scripts use, as measured before or by the node.
 *
 * @param members - the members of the transaction.
 * @throws BadMembersError: their scripts fail, or the node does not have their inputs.
 * @throws ScriptFailed if the node names no script; ProviderError.
 */
export async function measureScripts(
  provider: Pick<Provider, "evaluate">,
  composed: ComposedTransaction,
  members: readonly Member[],
  known: Known,
): Promise<TransactionPlan> {
  const { plan, wallet, isMeasured } = composed;
  if (isMeasured && !members.some(({ task }) => task.isAlone)) return plan;
  const draft = draftTransaction(plan, payFrom(wallet, plan), 1);
  const shape = members.some(({ task }) => task.isAlone) ? null : shapeOf(plan, draft.payment);
  const before = shape === null ? null : known.measurements.find(shape, plan.parameters);
  if (before !== null) return draft.measured(before);
  try {
    const parents = parentsOf(draft, wallet.address, known);
    const used = await evaluated(provider, draft, parents, known.evaluator);
    if (shape !== null) known.measurements.keep(shape, used);
    return draft.measured(used);
  } catch (error) {
    logNodeMessage(error, members);
    const bad = members.filter(({ part }) => {
      if (error instanceof ScriptFailed)
        return namesIn(part, plan, draft.names).some((name) => error.redeemers.includes(name));
      return (
        error instanceof NotEvaluated &&
        error.obstacle === "UnknownInput" &&
        part.scriptInputs.some((one) => mentionsOutput(error.detail, one))
      );
    });
    throw bad.length > 0 ? new BadMembersError(bad, error) : error;
  }
}

/** Logs what a node said of scripts: what people are shown is in our own words. */
function logNodeMessage(error: unknown, members: readonly Member[]): void {
  const isOfNode = error instanceof ScriptFailed || error instanceof ProviderError;
  if (!isOfNode) return;
  const said = error instanceof ScriptFailed || error instanceof NotEvaluated;
  const detail = truncateMessage(said ? error.detail : String(error.cause ?? ""));
  const tasks = members.map(({ task }) => task.id);
  log("warn", "wallet.scripts_not_run", { tasks, error: String(error), detail });
}

/** How a node names the redeemers of a part. */
function namesIn(
  part: Member["part"],
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

interface Parents {
  outputs: AdditionalOutput[];
  /** Whether a node is known to have them all. */
  areAccepted: boolean;
}

/** Outputs of the wallet that a transaction spends, and no block has yet. */
function parentsOf({ inputs }: Draft, address: string, { open, accepted }: Known): Parents {
  const spent = new Set(inputs.map(formatOutputReference));
  const parents = open
    .filter(({ phase }) => isWaiting(phase))
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
async function evaluated(
  provider: Pick<Provider, "evaluate">,
  { cbor }: Draft,
  { outputs, areAccepted }: Parents,
  evaluator: Evaluator,
) {
  const isTold = outputs.length > 0 && !(areAccepted && evaluator.knowsMempool);
  try {
    return await provider.evaluate(cbor, isTold ? outputs : []);
  } catch (error) {
    const requested = isTold ? "AdditionalUtxoOverlap" : "UnknownInput";
    const isOther = error instanceof NotEvaluated && error.obstacle === requested;
    if (!isOther || outputs.length === 0) throw error;
    const units = await provider.evaluate(cbor, isTold ? [] : outputs);
    // That it has a parent tells nothing: a block may have brought it.
    if (areAccepted && !isTold) evaluator.knowsMempool = false;
    return units;
  }
}
