import { shorten } from "../../../chain/provider/answer.ts";
import {
  type AdditionalOutput,
  NotEvaluated,
  type Provider,
  ProviderError,
  ScriptFailed,
} from "../../../chain/provider/provider.ts";
import { namesOutput } from "../../../chain/provider/refusal.ts";
import { type Draft, draftTransaction } from "../../../chain/transaction/build.ts";
import { outputName, type TransactionPlan } from "../../../chain/transaction/plan.ts";
import { payFrom } from "../../../chain/transaction/selection.ts";
import { log } from "../../../log.ts";
import { isWaiting } from "../life.ts";
import type { Evaluator } from "../outputs.ts";
import type { WalletTransaction } from "../transaction.ts";
import type { Composed } from "./compose.ts";
import { type Measurements, shapeOf } from "./measurements.ts";
import { BadMembers, type Member } from "./members.ts";

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
 * The plan with what its scripts use: as measured before, else as the node measures it.
 *
 * @param members - those of the transaction
 * @throws BadMembers: their scripts fail, or the node does not have what they spend; ScriptFailed when
 *   the node names none; ProviderError
 */
export async function measured(
  provider: Pick<Provider, "evaluate">,
  composed: Composed,
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
    tellWords(error, members);
    const bad = members.filter(({ part }) => {
      if (error instanceof ScriptFailed)
        return namesIn(part, plan, draft.names).some((name) => error.redeemers.includes(name));
      return (
        error instanceof NotEvaluated &&
        error.obstacle === "UnknownInput" &&
        part.scriptInputs.some((one) => namesOutput(error.detail, one))
      );
    });
    throw bad.length > 0 ? new BadMembers(bad, error) : error;
  }
}

/** Logs what a node said of scripts: what people are shown is in our own words. */
function tellWords(error: unknown, members: readonly Member[]): void {
  const isOfNode = error instanceof ScriptFailed || error instanceof ProviderError;
  if (!isOfNode) return;
  const said = error instanceof ScriptFailed || error instanceof NotEvaluated;
  const detail = shorten(said ? error.detail : String(error.cause ?? ""));
  const tasks = members.map(({ task }) => task.id);
  log("warn", "wallet.scripts_not_run", { tasks, error: String(error), detail });
}

/** How a node names the redeemers of a part. */
function namesIn(
  part: Member["part"],
  { scriptInputs, mints }: TransactionPlan,
  names: ReadonlyMap<object, string>,
): string[] {
  const spent = part.scriptInputs.map(outputName);
  const minted = part.mints.map(({ script }) => script.hash);
  return [
    ...scriptInputs.filter((run) => spent.includes(outputName(run))),
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
  const spent = new Set(inputs.map(outputName));
  const parents = open
    .filter(({ phase }) => isWaiting(phase))
    .map(({ hash, phase, made }) => ({
      outputs: made
        .map((one): AdditionalOutput => ({ ...one, txHash: hash, address }))
        .filter((one) => spent.has(outputName(one))),
      isAccepted: phase === "Sent" || accepted.has(hash),
    }))
    .filter(({ outputs }) => outputs.length > 0);
  return {
    outputs: parents.flatMap(({ outputs }) => outputs),
    areAccepted: parents.every(({ isAccepted }) => isAccepted),
  };
}

/** A node may know the parents from its mempool; it is told of them when it does not, and only then. */
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
    const wanted = isTold ? "AdditionalUtxoOverlap" : "UnknownInput";
    const isOther = error instanceof NotEvaluated && error.obstacle === wanted;
    if (!isOther || outputs.length === 0) throw error;
    const units = await provider.evaluate(cbor, isTold ? [] : outputs);
    // That it has a parent tells nothing: a block may have brought it.
    if (areAccepted && !isTold) evaluator.knowsMempool = false;
    return units;
  }
}
