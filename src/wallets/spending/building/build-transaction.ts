import { type ChainTime, computeChainTime } from "../../../chain/chain-time.ts";
import {
  type Block,
  EvaluationUnavailableError,
  type ProtocolParameters,
  ProviderError,
} from "../../../chain/provider/provider.ts";
import { findMentionedOutputs } from "../../../chain/provider/rejection.ts";
import { computeNextEpochStart } from "../../../chain/slots.ts";
import { buildTransaction } from "../../../chain/transaction/build-transaction.ts";
import { sumExecutionUnits } from "../../../chain/transaction/minimum-fee.ts";
import { selectMergeableOutputs } from "../../../chain/transaction/order-outputs.ts";
import {
  createInputSelector,
  InsufficientFundsError,
  MissingCollateralError,
} from "../../../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type ScriptSource,
  type TransactionPlan,
  type WalletOutput,
} from "../../../chain/transaction/transaction-plan.ts";
import type { WalletKeys } from "../../../chain/wallet-keys.ts";
import { isActive, isPending } from "../../model/phases.ts";
import {
  toTaskKey,
  UNSEEN_FIELDS,
  type WalletTransaction,
} from "../../model/wallet-transaction.ts";
import {
  DeadlinePassedError,
  PriorTransactionPendingError,
  RetryLaterError,
} from "../../queue/errors.ts";
import {
  EMPTY_PART,
  type Task,
  type TaskFailure,
  type TransactionPart,
  type WalletFeature,
} from "../../queue/feature.ts";
import { isTransientError } from "../../queue/isolate-failures.ts";
import { deriveOwnOutputs } from "../context/output-view.ts";
import type { WalletPorts, WalletRun } from "../context/wallet-ports.ts";
import { findOutwardPosition } from "../model/outward-chain.ts";
import { composeMembers } from "./compose-members.ts";
import { toStoredFields } from "./compose-transaction.ts";
import { excludeBadMembers, type TransactionMember } from "./exclude-bad-members.ts";
import { measureScripts } from "./measure-scripts.ts";
import { placeChained, placeParallel, type TransactionPlacement } from "./place-transaction.ts";
import { listScriptReferences, usePublishedScripts } from "./use-published-scripts.ts";
import { computeValidityWindow } from "./validity-window.ts";

/**
 * Native minor units. Twice what the largest transaction with the longest script costs: a higher
 * fee means wrong protocol parameters, and an overpaid fee is lost.
 */
export const MAX_FEE = 5_000_000n;

/** What the database knows of outputs of the chain, read once per run. */
export interface StoredContext {
  /** Scripts that transactions can read instead of holding them, by hash. */
  publishedScripts: ReadonlyMap<string, ScriptSource>;
  /** Names of outputs of which nothing is built. */
  reservedOutputs: ReadonlySet<string>;
}

export async function readStoredContext({
  features,
  listPublishedScripts,
}: Pick<WalletPorts, "features" | "listPublishedScripts">): Promise<StoredContext> {
  const [publishedScripts, ...reserved] = await Promise.all([
    listPublishedScripts(),
    ...features.map((feature) => feature.listReservedOutputs?.() ?? []),
  ]);
  return { publishedScripts, reservedOutputs: new Set(reserved.flat()) };
}

/** What a run needs to know of the chain to build transactions, read once. */
export interface ChainContext extends StoredContext {
  keys: WalletKeys;
  providerOutputs: readonly WalletOutput[];
  parameters: ProtocolParameters;
  time: ChainTime;
  /** Hashes of transactions that a node has accepted since. */
  acceptedHashes: Set<string>;
}

export async function readChainContext(
  ports: WalletPorts,
  tip: Block,
  storedContext: StoredContext,
): Promise<ChainContext> {
  const keys = await ports.openKeys();
  const [shown, parameters] = await Promise.all([
    ports.view.read(ports.provider, keys.address, ports.now()),
    ports.view.loadParameters(
      ports.provider,
      computeNextEpochStart(ports.network, tip.slot),
      ports.now(),
    ),
  ]);
  const time = computeChainTime(ports.clock, tip.time, ports.now());
  return {
    ...storedContext,
    keys,
    providerOutputs: shown,
    parameters,
    time,
    acceptedHashes: new Set(),
  };
}

/** A signed transaction, and where it leaves the wallet. */
export interface SignedTransaction {
  transaction: WalletTransaction;
  cbor: Uint8Array;
  walletChange: { chainRoot: string | null; collateral: string | null };
  members: readonly TransactionMember[];
}

/** What came of some tasks: a transaction of as many as go together, and those that cannot be done. */
export interface BuildResult {
  signedTransaction: SignedTransaction | null;
  failures: readonly TaskFailure[];
}

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
 * @param tasks - of one kind; see `selectTasksForTransaction`
 * @throws RetryLaterError; transient errors
 */
export async function buildSignedTransaction(
  ports: WalletPorts,
  run: WalletRun,
  chainContext: ChainContext,
  feature: WalletFeature,
  tasks: readonly Task[],
): Promise<BuildResult> {
  let window: ReturnType<typeof computeValidityWindow>;
  try {
    window = computeValidityWindow(ports.network, tasks, chainContext.time);
  } catch (error) {
    if (!(error instanceof DeadlinePassedError)) throw error;
    return toFailedResult(tasks.slice(0, 1), error);
  }
  if (feature.loadPrebuilt) return usePrebuiltTransaction(ports, run, chainContext, feature, tasks);
  const outputs = deriveOwnOutputs(
    chainContext.providerOutputs,
    run.openTransactions,
    run.wallet.spentElsewhere,
    chainContext.reservedOutputs,
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
  const placements = {
    chained: () => placeChained(run, outputs, address, ports.now()),
    parallel: () => placeParallel(run, job.tasks, outputs, address, ports.now()),
  };
  let result = await buildAtPlacement(job, placements[feature.placement]);
  const hasFailedFor = (isLacking: (error: unknown) => boolean) =>
    result.signedTransaction === null && result.failures.some(({ error }) => isLacking(error));
  // A parallel output holds little: a transaction that needs more is chained.
  if (
    feature.placement === "parallel" &&
    hasFailedFor((error) => error instanceof InsufficientFundsError)
  )
    result = await buildAtPlacement(job, placements.chained);
  if (!hasFailedFor((error) => error instanceof MissingCollateralError && error.isScattered))
    return result;
  try {
    return { signedTransaction: await mergeOutputs(job, placements.chained()), failures: [] };
  } catch (error) {
    if (error instanceof RetryLaterError || isTransientError(error)) throw error;
    return result;
  }
}

/** The transaction of the first task, as it was built before. */
async function usePrebuiltTransaction(
  ports: WalletPorts,
  run: WalletRun,
  { keys }: ChainContext,
  { loadPrebuilt }: WalletFeature,
  [task]: readonly Task[],
): Promise<BuildResult> {
  if (!task || !loadPrebuilt) return { signedTransaction: null, failures: [] };
  try {
    const { cbor, transaction } = await loadPrebuilt(task, keys);
    const { chainRoot, collateral, sequence } = run.wallet;
    const stored = { sequence: sequence + 1, sourceId: ports.sourceId, movedAt: ports.now() };
    return {
      signedTransaction: {
        transaction: { ...transaction, ...stored },
        cbor,
        walletChange: { chainRoot, collateral },
        members: [{ task, part: { ...EMPTY_PART, detail: {} } }],
      },
      failures: [],
    };
  } catch (error) {
    if (isTransientError(error)) throw error;
    return toFailedResult([task], error);
  }
}

async function buildAtPlacement(
  job: BuildJob,
  findPlace: () => TransactionPlacement,
): Promise<BuildResult> {
  let place: TransactionPlacement;
  try {
    place = findPlace();
  } catch (error) {
    if (error instanceof RetryLaterError) throw error;
    return toFailedResult(job.tasks, error);
  }
  const { members, failures } = await collectMembers(job, place);
  const settled = await excludeBadMembers(members, (some) => buildFromMembers(job, place, some));
  return { signedTransaction: settled.built, failures: [...failures, ...settled.failures] };
}

const toFailedResult = (tasks: readonly Task[], error: unknown): BuildResult => ({
  signedTransaction: null,
  failures: tasks.map((task) => ({ task, error })),
});

/** The parts of those tasks that may be done. */
async function collectMembers(
  { run, chainContext, feature, tasks, validity, outputs, ports }: BuildJob,
  place: TransactionPlacement,
) {
  const { keys, parameters } = chainContext;
  const { provider } = ports;
  const { placementOutput } = place.funding;
  const members: TransactionMember[] = [];
  const failures: TaskFailure[] = [];
  for (const task of tasks) {
    try {
      requireNoPriorTransaction(
        toTaskKey({ feature: feature.name, id: task.id }),
        run,
        feature,
        place,
      );
      const context = { keys, placementOutput, outputs, validity, parameters, provider };
      members.push({ task, part: await feature.buildPart(task, context) });
    } catch (error) {
      if (isTransientError(error)) throw error;
      failures.push({ task, error });
    }
    // A transaction mints one token of a policy, so the next part need not be asked for yet; nor beyond what
    // goes together.
    const most = Math.min(...members.map(({ part }) => part.maxParts ?? tasks.length));
    if (members.length >= most || members.some(({ part }) => part.mints.length > 0)) break;
  }
  return { members, failures };
}

/** @throws PriorTransactionPendingError when a former transaction of the task stands in the way */
function requireNoPriorTransaction(
  key: string,
  { openTransactions: open, unsettledTransactions: late }: WalletRun,
  { placement }: WalletFeature,
  { chainRoot }: TransactionPlacement,
): void {
  // Its record may ask for it only since that does not say yet that it was done.
  const isBehind = [...open, ...late].some(({ failedUpdates = [] }) =>
    failedUpdates.some((update) => toTaskKey(update) === key),
  );
  if (isBehind)
    throw new PriorTransactionPendingError(
      "the record does not show the result of an earlier transaction yet",
    );
  const isFree =
    placement === "chained" && chainRoot !== null
      ? "output" in findOutwardPosition([key], chainRoot, open)
      : open.every(
          ({ phase, tasks }) => !isActive(phase) || !tasks.some((one) => toTaskKey(one) === key),
        );
  if (!isFree)
    throw new PriorTransactionPendingError("an earlier transaction of the task may still land");
}

/** A transaction without tasks that makes one output of many, of which the next has its collateral. */
function mergeOutputs(job: BuildJob, place: TransactionPlacement): Promise<SignedTransaction> {
  const atStake = job.run.openTransactions.flatMap(({ phase, collateral }) =>
    isPending(phase) && collateral !== null ? collateral.inputs : [],
  );
  const free = place.funding.outputs.filter((one) => !atStake.includes(formatOutputReference(one)));
  const part = { ...EMPTY_PART, spends: selectMergeableOutputs(free), detail: {} };
  return buildFromMembers(job, place, [], [part]);
}

/** A transaction of as many members, from the first, as it holds. @param parts - what it does */
async function buildFromMembers(
  job: BuildJob,
  place: TransactionPlacement,
  members: readonly TransactionMember[],
  parts: readonly TransactionPart[] = members.map(({ part }) =>
    usePublishedScripts(part, job.chainContext.publishedScripts),
  ),
): Promise<SignedTransaction> {
  const { ports, run, chainContext, feature, validity } = job;
  const { keys, parameters } = chainContext;
  const frame = { validity, parameters, signer: ports.vkey };
  const composed = composeMembers(members, parts, place.funding, frame);
  const selected = members.slice(0, composed.partCount);
  const known = {
    openTransactions: run.openTransactions,
    acceptedHashes: chainContext.acceptedHashes,
    evaluator: ports.view.evaluator,
    measurements: ports.view.measurements,
  };
  const plan = await measureScripts(ports.provider, composed, selected, known).catch(
    async (error) => {
      if (error instanceof EvaluationUnavailableError)
        await ports.onMissingScripts(
          findMentionedOutputs(error.detail, listScriptReferences(composed.plan)),
        );
      throw error;
    },
  );
  const built = buildTransaction(plan, createInputSelector(composed.wallet, plan), [keys]);
  if (built.fee > MAX_FEE)
    throw new ProviderError(
      `provider: its protocol parameters lead to a fee of ${built.fee} minor units of the native coin`,
      { permanent: true },
    );
  if (run.openTransactions.some(({ hash }) => hash === built.hash))
    throw new PriorTransactionPendingError("the same transaction was refused at this time");
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
    chainedInput: place.chainedInput,
    isReplaceable: selected.some(({ task }) => task.isReplaceable),
    reads: listScriptReferences(plan),
    memory: Number(sumExecutionUnits(plan).memory),
    validFrom: validity.from,
    validTo: validity.to,
    ...UNSEEN_FIELDS,
    movedAt: ports.now(),
  };
  const { collateral } = composed.wallet;
  return {
    transaction,
    cbor: built.cbor,
    walletChange: {
      chainRoot: place.chainRoot,
      collateral: collateral && formatOutputReference(collateral),
    },
    members: selected,
  };
}
