import { type ChainTime, chainTime } from "../../../chain/chain-time.ts";
import {
  type Block,
  NotEvaluated,
  type ProtocolParameters,
  ProviderError,
} from "../../../chain/provider/provider.ts";
import { findMentionedOutputs } from "../../../chain/provider/rejection.ts";
import { epochEnd } from "../../../chain/slots.ts";
import { buildTransaction } from "../../../chain/transaction/build-transaction.ts";
import { totalUnits } from "../../../chain/transaction/minimum-fee.ts";
import { mergeableOutputs } from "../../../chain/transaction/order-outputs.ts";
import {
  InsufficientFundsError,
  MissingCollateralError,
  payFrom,
} from "../../../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type ScriptSource,
  type TransactionPlan,
  type WalletOutput,
} from "../../../chain/transaction/transaction-plan.ts";
import type { WalletKeys } from "../../../chain/wallet-keys.ts";
import { isLiving, isWaiting } from "../../model/phases.ts";
import { taskKey, type WalletTransaction } from "../../model/wallet-transaction.ts";
import { DeadlinePassedError, EarlierMayLandError, NotYetError } from "../../queue/errors.ts";
import type { Task, TaskFailure, TransactionPart, WalletFeature } from "../../queue/feature.ts";
import { isTransient } from "../../queue/isolate.ts";
import { ownOutputs } from "../context/output-view.ts";
import type { WalletPorts, WalletRun } from "../context/wallet-ports.ts";
import { findPosition } from "../model/outward-line.ts";
import { toStoredFields } from "./compose.ts";
import { composeMembers } from "./compose-members.ts";
import { measureScripts } from "./measure.ts";
import { excludeBad, type Member } from "./members.ts";
import { placeOnLane, placeOnLine, type TransactionPlace } from "./place-transaction.ts";
import { listReferences, usePublishedScripts } from "./read-scripts.ts";
import { computeWindow } from "./validity-window.ts";

/**
 * Native minor units. Twice what the largest transaction with the longest script costs: a higher
 * fee means wrong protocol parameters, and an overpaid fee is lost.
 */
export const MAX_FEE = 5_000_000n;

/** What a run needs to know of the chain to build transactions, read once. */
export interface ChainContext {
  keys: WalletKeys;
  shown: readonly WalletOutput[];
  parameters: ProtocolParameters;
  time: ChainTime;
  /** Hashes of transactions that a node has accepted since. */
  accepted: Set<string>;
  /** Scripts that transactions can read instead of holding them, by hash. */
  published: ReadonlyMap<string, ScriptSource>;
  /** Names of outputs of which nothing is built. */
  reservedOutputs: ReadonlySet<string>;
}

export async function readChainContext(ports: WalletPorts, tip: Block): Promise<ChainContext> {
  const keys = await ports.keys();
  const [shown, parameters, published, kept] = await Promise.all([
    ports.view.read(ports.provider, keys.address, ports.now()),
    ports.view.parameters(ports.provider, epochEnd(ports.network, tip.slot), ports.now()),
    ports.publishedScripts(),
    Promise.all(ports.features.map((feature) => feature.reservedOutputs?.() ?? [])),
  ]);
  const time = chainTime(ports.clock, tip.time, ports.now());
  const reserved = new Set(kept.flat());
  return {
    keys,
    shown,
    parameters,
    time,
    accepted: new Set(),
    published,
    reservedOutputs: reserved,
  };
}

/** A signed transaction, and where it leaves the wallet. */
export interface SignedTransaction {
  transaction: WalletTransaction;
  cbor: Uint8Array;
  place: { lineRoot: string | null; collateral: string | null };
  members: readonly Member[];
}

/** What came of some tasks: a transaction of as many as go together, and those that cannot be done. */
export interface BuildResult {
  signed: SignedTransaction | null;
  failures: readonly TaskFailure[];
}

/** Names of the wallet's outputs that foreign transactions have spent. */
const namesOf = ({ wallet }: WalletRun) =>
  new Set(wallet.spentElsewhere.map(({ output }) => output));

interface BuildJob {
  ports: WalletPorts;
  run: WalletRun;
  chainContext: ChainContext;
  feature: WalletFeature;
  tasks: readonly Task[];
  validity: TransactionPlan["validity"];
  outputs: readonly WalletOutput[];
}

/**
 * Builds and signs the next transaction of a feature's tasks.
 *
 * @param tasks - of one kind; see `selectForOne`
 * @throws NotYetError; transient errors
 */
export async function buildSigned(
  ports: WalletPorts,
  run: WalletRun,
  chainContext: ChainContext,
  feature: WalletFeature,
  tasks: readonly Task[],
): Promise<BuildResult> {
  let window: ReturnType<typeof computeWindow>;
  try {
    window = computeWindow(ports.network, tasks, chainContext.time);
  } catch (error) {
    if (!(error instanceof DeadlinePassedError)) throw error;
    return failed(tasks.slice(0, 1), error);
  }
  if (feature.prebuilt) return makePrepared(ports, run, chainContext, feature, tasks);
  const own = ownOutputs(chainContext.shown, run.open, namesOf(run));
  const outputs = own.filter(
    (one) => !chainContext.reservedOutputs.has(formatOutputReference(one)),
  );
  const { validity, count } = window;
  const job = {
    ports,
    run,
    chainContext,
    feature,
    tasks: tasks.slice(0, count),
    validity,
    outputs,
  };
  const { address } = chainContext.keys;
  const onLine = () => placeOnLine(run, outputs, address, ports.now());
  const onLane = () => placeOnLane(run, job.tasks, outputs, address, ports.now());
  let result = await makeAt(job, feature.placement === "line" ? onLine : onLane);
  const lacks = (isLacking: (error: unknown) => boolean) =>
    result.signed === null && result.failures.some(({ error }) => isLacking(error));
  // A lane holds little: what needs more stands on the line.
  if (feature.placement !== "line" && lacks((error) => error instanceof InsufficientFundsError))
    result = await makeAt(job, onLine);
  if (!lacks((error) => error instanceof MissingCollateralError && error.isScattered))
    return result;
  try {
    return { signed: await mergeOutputs(job, onLine()), failures: [] };
  } catch (error) {
    if (error instanceof NotYetError || isTransient(error)) throw error;
    return result;
  }
}

/** The transaction of the first task, as it was built before. */
async function makePrepared(
  ports: WalletPorts,
  run: WalletRun,
  { keys }: ChainContext,
  { prebuilt }: WalletFeature,
  [task]: readonly Task[],
): Promise<BuildResult> {
  if (!task || !prebuilt) return { signed: null, failures: [] };
  try {
    const { cbor, transaction } = await prebuilt(task, keys);
    const { lineRoot, collateral, sequence } = run.wallet;
    const stored = { sequence: sequence + 1, sourceId: ports.sourceId, movedAt: ports.now() };
    return {
      signed: {
        transaction: { ...transaction, ...stored },
        cbor,
        place: { lineRoot, collateral },
        members: [{ task, part: NOTHING }],
      },
      failures: [],
    };
  } catch (error) {
    if (isTransient(error)) throw error;
    return failed([task], error);
  }
}

/** What is left to build of a transaction that was built before. */
const NOTHING: TransactionPart = {
  ...{ scriptInputs: [], mints: [], spends: [], outputs: [] },
  ...{ metadata: new Map(), detail: {} },
};

async function makeAt(job: BuildJob, findPlace: () => TransactionPlace): Promise<BuildResult> {
  let place: TransactionPlace;
  try {
    place = findPlace();
  } catch (error) {
    if (error instanceof NotYetError) throw error;
    return failed(job.tasks, error);
  }
  const { members, failures } = await gather(job, place);
  const settled = await excludeBad(members, (some) => build(job, place, some));
  return { signed: settled.built, failures: [...failures, ...settled.failures] };
}

const failed = (tasks: readonly Task[], error: unknown): BuildResult => ({
  signed: null,
  failures: tasks.map((task) => ({ task, error })),
});

/** The parts of those tasks that may be done. */
async function gather(
  { run, chainContext, feature, tasks, validity, outputs, ports }: BuildJob,
  place: TransactionPlace,
) {
  const { keys, parameters } = chainContext;
  const { provider } = ports;
  const { baseOutput } = place.funding;
  const members: Member[] = [];
  const failures: TaskFailure[] = [];
  for (const task of tasks) {
    try {
      requireFree(taskKey({ feature: feature.name, id: task.id }), run, feature, place);
      const context = { keys, baseOutput, outputs, validity, parameters, provider };
      members.push({ task, part: await feature.buildPart(task, context) });
    } catch (error) {
      if (isTransient(error)) throw error;
      failures.push({ task, error });
    }
    // A transaction mints one token of a policy, so the next part need not be asked for yet; nor beyond what
    // goes together.
    const most = Math.min(...members.map(({ part }) => part.maxParts ?? tasks.length));
    if (members.length >= most || members.some(({ part }) => part.mints.length > 0)) break;
  }
  return { members, failures };
}

/** @throws EarlierMayLandError when a former transaction of the task stands in the way */
function requireFree(
  key: string,
  { open, late }: WalletRun,
  { placement }: WalletFeature,
  { lineRoot }: TransactionPlace,
): void {
  // Its record may ask for it only since that does not say yet that it was done.
  const isBehind = [...open, ...late].some(({ failedUpdates = [] }) =>
    failedUpdates.some((update) => taskKey(update) === key),
  );
  if (isBehind)
    throw new EarlierMayLandError(
      "the record does not show the result of an earlier transaction yet",
    );
  const isFree =
    placement === "line" && lineRoot !== null
      ? "output" in findPosition([key], lineRoot, open)
      : open.every(
          ({ phase, tasks }) => !isLiving(phase) || !tasks.some((one) => taskKey(one) === key),
        );
  if (!isFree) throw new EarlierMayLandError("an earlier transaction of the task may still land");
}

/** A transaction without tasks that makes one output of many, of which the next has its collateral. */
function mergeOutputs(job: BuildJob, place: TransactionPlace): Promise<SignedTransaction> {
  const atStake = job.run.open.flatMap(({ phase, collateral }) =>
    isWaiting(phase) && collateral !== null ? collateral.inputs : [],
  );
  const free = place.funding.outputs.filter((one) => !atStake.includes(formatOutputReference(one)));
  const part = { ...NOTHING, spends: mergeableOutputs(free) };
  return build(job, place, [], [part]);
}

/** A transaction of as many members, from the first, as it holds. @param parts - what it does */
async function build(
  job: BuildJob,
  place: TransactionPlace,
  members: readonly Member[],
  parts: readonly TransactionPart[] = members.map(({ part }) =>
    usePublishedScripts(part, job.chainContext.published),
  ),
): Promise<SignedTransaction> {
  const { ports, run, chainContext, feature, validity } = job;
  const { keys, parameters } = chainContext;
  const frame = { validity, parameters, signer: ports.vkey };
  const composed = composeMembers(members, parts, place.funding, frame);
  const selected = members.slice(0, composed.count);
  const known = {
    open: run.open,
    accepted: chainContext.accepted,
    evaluator: ports.view.evaluator,
    measurements: ports.view.measurements,
  };
  const plan = await measureScripts(ports.provider, composed, selected, known).catch(
    async (error) => {
      if (error instanceof NotEvaluated)
        await ports.onMissingScripts(
          findMentionedOutputs(error.detail, listReferences(composed.plan)),
        );
      throw error;
    },
  );
  const built = buildTransaction(plan, payFrom(composed.wallet, plan), [keys]);
  if (built.fee > MAX_FEE)
    throw new ProviderError(
      `provider: its protocol parameters lead to a fee of ${built.fee} minor units of the native coin`,
      { permanent: true },
    );
  if (run.open.some(({ hash }) => hash === built.hash))
    throw new EarlierMayLandError("the same transaction was refused at this time");
  const transaction: WalletTransaction = {
    ...toStoredFields(built, composed.wallet),
    phase: "Stored",
    sequence: run.wallet.sequence + 1,
    sourceId: ports.sourceId,
    tasks: selected.map(({ task: { id }, part: { detail } }) => ({
      feature: feature.name,
      id,
      detail,
    })),
    lineIn: place.lineIn,
    isReplaceable: selected.some(({ task }) => task.isReplaceable),
    reads: listReferences(plan),
    memory: Number(totalUnits(plan).memory),
    validFrom: validity.from,
    validTo: validity.to,
    blockHeight: null,
    blockHash: null,
    blockTime: null,
    overHeight: null,
    error: null,
    movedAt: ports.now(),
  };
  const { collateral } = composed.wallet;
  return {
    transaction,
    cbor: built.cbor,
    place: {
      lineRoot: place.lineRoot,
      collateral: collateral && formatOutputReference(collateral),
    },
    members: selected,
  };
}
