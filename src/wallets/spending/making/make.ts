import { type ChainTime, chainTime } from "../../../chain/chain-time.ts";
import type { WalletKeys } from "../../../chain/keys.ts";
import {
  type Block,
  NotEvaluated,
  type ProtocolParameters,
  ProviderError,
} from "../../../chain/provider/provider.ts";
import { namedIn } from "../../../chain/provider/refusal.ts";
import { epochEnd } from "../../../chain/slots.ts";
import { buildTransaction } from "../../../chain/transaction/build.ts";
import { mergeableOutputs } from "../../../chain/transaction/by-use.ts";
import { unitsOf } from "../../../chain/transaction/fee.ts";
import {
  outputName,
  type ScriptSource,
  type TransactionPlan,
  type WalletOutput,
} from "../../../chain/transaction/plan.ts";
import { CollateralMissing, payFrom, WalletShort } from "../../../chain/transaction/selection.ts";
import { isTransient } from "../../isolate.ts";
import {
  type Failure,
  FormerMayLand,
  type Task,
  type TransactionPart,
  type WalletWork,
} from "../../work.ts";
import { isLiving, isWaiting } from "../life.ts";
import { standFor } from "../line.ts";
import { ownOutputs } from "../outputs.ts";
import type { Run, WalletPorts } from "../ports.ts";
import { taskKey, type WalletTransaction } from "../transaction.ts";
import { keptOf } from "./compose.ts";
import { composeMembers } from "./compose-members.ts";
import { measured } from "./measure.ts";
import { type Member, withoutBad } from "./members.ts";
import { type Place, placeOnLane, placeOnLine } from "./place.ts";
import { readPublished, readsOf } from "./read-scripts.ts";
import { DeadlinePassed, NotYet, windowFor } from "./window.ts";

/**
 * Native minor units. Twice what the largest transaction with the longest script costs: a higher
 * fee means wrong protocol parameters, and an overpaid fee is lost.
 */
export const MAX_FEE = 5_000_000n;

/** What a run needs to know of the chain to build transactions, read once. */
export interface Surroundings {
  keys: WalletKeys;
  shown: readonly WalletOutput[];
  parameters: ProtocolParameters;
  time: ChainTime;
  /** Hashes of transactions that a node has accepted since. */
  accepted: Set<string>;
  /** Scripts that transactions can read instead of holding them, by hash. */
  published: ReadonlyMap<string, ScriptSource>;
  /** Names of outputs of which nothing is built. */
  setAside: ReadonlySet<string>;
}

export async function surroundings(ports: WalletPorts, tip: Block): Promise<Surroundings> {
  const keys = await ports.keys();
  const [shown, parameters, published, kept] = await Promise.all([
    ports.view.read(ports.provider, keys.address, ports.now()),
    ports.view.parameters(ports.provider, epochEnd(ports.network, tip.slot), ports.now()),
    ports.published(),
    Promise.all(ports.works.map((work) => work.setAside?.() ?? [])),
  ]);
  const time = chainTime(ports.clock, tip.time, ports.now());
  const setAside = new Set(kept.flat());
  return { keys, shown, parameters, time, accepted: new Set(), published, setAside };
}

/** A signed transaction, and where it leaves the wallet. */
export interface Made {
  transaction: WalletTransaction;
  cbor: Uint8Array;
  place: { lineRoot: string | null; collateral: string | null };
  members: readonly Member[];
}

/** What came of some tasks: a transaction of as many as go together, and those that cannot be done. */
export interface Making {
  made: Made | null;
  failures: readonly Failure[];
}

/** Names of outputs of the wallet that somebody else has spent. */
const namesOf = ({ wallet }: Run) => new Set(wallet.spentElsewhere.map(({ output }) => output));

interface Job {
  ports: WalletPorts;
  run: Run;
  around: Surroundings;
  work: WalletWork;
  tasks: readonly Task[];
  validity: TransactionPlan["validity"];
  outputs: readonly WalletOutput[];
}

/**
 * Builds and signs the next transaction of a feature's tasks.
 *
 * @param tasks - of one kind; see `together`
 * @throws NotYet; transient errors
 */
export async function make(
  ports: WalletPorts,
  run: Run,
  around: Surroundings,
  work: WalletWork,
  tasks: readonly Task[],
): Promise<Making> {
  let window: ReturnType<typeof windowFor>;
  try {
    window = windowFor(ports.network, tasks, around.time);
  } catch (error) {
    if (!(error instanceof DeadlinePassed)) throw error;
    return failed(tasks.slice(0, 1), error);
  }
  if (work.prepared) return makePrepared(ports, run, around, work, tasks);
  const own = ownOutputs(around.shown, run.open, namesOf(run));
  const outputs = own.filter((one) => !around.setAside.has(outputName(one)));
  const { validity, count } = window;
  const job = { ports, run, around, work, tasks: tasks.slice(0, count), validity, outputs };
  const { address } = around.keys;
  const onLine = () => placeOnLine(run, outputs, address, ports.now());
  const onLane = () => placeOnLane(run, job.tasks, outputs, address, ports.now());
  let making = await makeAt(job, work.stands === "line" ? onLine : onLane);
  const lacks = (isLacking: (error: unknown) => boolean) =>
    making.made === null && making.failures.some(({ error }) => isLacking(error));
  // A lane holds little: what needs more stands on the line.
  if (work.stands !== "line" && lacks((error) => error instanceof WalletShort))
    making = await makeAt(job, onLine);
  if (!lacks((error) => error instanceof CollateralMissing && error.isScattered)) return making;
  try {
    return { made: await mergeOutputs(job, onLine()), failures: [] };
  } catch (error) {
    if (error instanceof NotYet || isTransient(error)) throw error;
    return making;
  }
}

/** The transaction of the first task, as it was built before. */
async function makePrepared(
  ports: WalletPorts,
  run: Run,
  { keys }: Surroundings,
  { prepared }: WalletWork,
  [task]: readonly Task[],
): Promise<Making> {
  if (!task || !prepared) return { made: null, failures: [] };
  try {
    const { cbor, transaction } = await prepared(task, keys);
    const { lineRoot, collateral, sequence } = run.wallet;
    const stored = { sequence: sequence + 1, sourceId: ports.sourceId, movedAt: ports.now() };
    return {
      made: {
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

async function makeAt(job: Job, findPlace: () => Place): Promise<Making> {
  let place: Place;
  try {
    place = findPlace();
  } catch (error) {
    if (error instanceof NotYet) throw error;
    return failed(job.tasks, error);
  }
  const { members, failures } = await gather(job, place);
  const settled = await withoutBad(members, (some) => build(job, place, some));
  return { made: settled.built, failures: [...failures, ...settled.failures] };
}

const failed = (tasks: readonly Task[], error: unknown): Making => ({
  made: null,
  failures: tasks.map((task) => ({ task, error })),
});

/** The parts of those tasks that may be done. */
async function gather({ run, around, work, tasks, validity, outputs, ports }: Job, place: Place) {
  const { keys, parameters } = around;
  const { provider } = ports;
  const { line } = place.purse;
  const members: Member[] = [];
  const failures: Failure[] = [];
  for (const task of tasks) {
    try {
      requireFree(taskKey({ work: work.name, id: task.id }), run, work, place);
      const stand = { keys, line, outputs, validity, parameters, provider };
      members.push({ task, part: await work.part(task, stand) });
    } catch (error) {
      if (isTransient(error)) throw error;
      failures.push({ task, error });
    }
    // A transaction mints one token of a policy, so the next part need not be asked for yet; nor beyond what
    // goes together.
    const most = Math.min(...members.map(({ part }) => part.most ?? tasks.length));
    if (members.length >= most || members.some(({ part }) => part.mints.length > 0)) break;
  }
  return { members, failures };
}

/** @throws FormerMayLand when a former transaction of the task stands in the way */
function requireFree(
  key: string,
  { open, late }: Run,
  { stands }: WalletWork,
  { lineRoot }: Place,
): void {
  // Its record may ask for it only since that does not say yet that it was done.
  const isBehind = [...open, ...late].some(({ failedUpdates = [] }) =>
    failedUpdates.some((update) => taskKey(update) === key),
  );
  if (isBehind)
    throw new FormerMayLand("its record does not show yet what became of an earlier transaction");
  const isFree =
    stands === "line" && lineRoot !== null
      ? "on" in standFor([key], lineRoot, open)
      : open.every(
          ({ phase, tasks }) => !isLiving(phase) || !tasks.some((one) => taskKey(one) === key),
        );
  if (!isFree) throw new FormerMayLand("an earlier transaction of it may still be in a block");
}

/** A transaction without tasks that makes one output of many, of which the next has its collateral. */
function mergeOutputs(job: Job, place: Place): Promise<Made> {
  const atStake = job.run.open.flatMap(({ phase, collateral }) =>
    isWaiting(phase) && collateral !== null ? collateral.inputs : [],
  );
  const free = place.purse.outputs.filter((one) => !atStake.includes(outputName(one)));
  const part = { ...NOTHING, spends: mergeableOutputs(free) };
  return build(job, place, [], [part]);
}

/** A transaction of as many members, from the first, as it holds. @param parts - what it does */
async function build(
  job: Job,
  place: Place,
  members: readonly Member[],
  parts: readonly TransactionPart[] = members.map(({ part }) =>
    readPublished(part, job.around.published),
  ),
): Promise<Made> {
  const { ports, run, around, work, validity } = job;
  const { keys, parameters } = around;
  const frame = { validity, parameters, signer: ports.vkey };
  const composed = composeMembers(members, parts, place.purse, frame);
  const chosen = members.slice(0, composed.count);
  const known = {
    open: run.open,
    accepted: around.accepted,
    evaluator: ports.view.evaluator,
    measurements: ports.view.measurements,
  };
  const plan = await measured(ports.provider, composed, chosen, known).catch(async (error) => {
    if (error instanceof NotEvaluated)
      await ports.scriptsMissed(namedIn(error.detail, readsOf(composed.plan)));
    throw error;
  });
  const built = buildTransaction(plan, payFrom(composed.wallet, plan), [keys]);
  if (built.fee > MAX_FEE)
    throw new ProviderError(
      `provider: by its protocol parameters the fee would be ${built.fee} minor units of the native coin`,
      { permanent: true },
    );
  if (run.open.some(({ hash }) => hash === built.hash))
    throw new FormerMayLand("the same transaction was refused at this time");
  const transaction: WalletTransaction = {
    ...keptOf(built, composed.wallet),
    phase: "Stored",
    sequence: run.wallet.sequence + 1,
    sourceId: ports.sourceId,
    tasks: chosen.map(({ task: { id }, part: { detail } }) => ({ work: work.name, id, detail })),
    lineIn: place.lineIn,
    canBeOvertaken: chosen.some(({ task }) => task.canBeOvertaken),
    reads: readsOf(plan),
    memory: Number(unitsOf(plan).memory),
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
    place: { lineRoot: place.lineRoot, collateral: collateral && outputName(collateral) },
    members: chosen,
  };
}
