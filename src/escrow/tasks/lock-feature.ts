import { type ProtocolParameters, ProviderError } from "../../chain/provider/provider.ts";
import { addValue, type Value } from "../../chain/transaction/value.ts";
import { readTip } from "../../indexer/chain-tip.ts";
import type { TaskFailure, WalletFeature } from "../../wallets/queue/feature.ts";
import {
  forEachIsolated,
  type ItemError,
  mapIsolated,
} from "../../wallets/queue/isolate-failures.ts";
import { computeDueAt } from "../model/compute-due-at.ts";
import type { EscrowRecord, WalletReference } from "../model/escrow-record.ts";
import { StepImpossibleError } from "../model/read-escrow.ts";
import { buildLockPart, computeLockedFunds } from "../terms/build-lock-part.ts";
import {
  assignWallets,
  describeShortage,
  type FundingNeed,
  isEligibleWallet,
  type WalletAssignment,
  type WalletFunds,
} from "./assign-wallets.ts";
import { changeLoadedRecords, changeRecords, loadRecordsById } from "./change-records.ts";
import {
  filterAttemptedRecords,
  findNextDueTime,
  listAssignedPurchases,
  listDueLocks,
  listUnassignedPurchases,
} from "./due-records.ts";
import type { LockPorts } from "./feature-ports.ts";
import { computeProgressAfterFailure } from "./progress-after-failure.ts";
import { createRecordUpdates } from "./record-updates.ts";
import { toRecordError } from "./retry-intent.ts";
import { LOCK_FEATURE, parseTaskId, taskIdOf } from "./task-id.ts";

/** Locks that a transaction makes: about what it has room for. */
const MAX_LOCKS = 20;
/** Purchases that are dealt at once. */
const MAX_ASSIGNED_PURCHASES = 100;
/** A purchase waits so long for others to share its transaction: after the newest, and at the most. */
const BATCH_DELAY_MS = 250;
const MAX_BATCH_DELAY_MS = 1_000;
/** How long before its pay-by time a purchase is not locked any more. */
const MIN_LEAD_TIME_MS = 120_000;
/** How often it is looked whether a wallet has got what a purchase needs. */
const FUNDS_RECHECK_INTERVAL_MS = 30_000;

/**
 * What a purchasing wallet does for the purchases of a payment source: it locks their funds. Whichever
 * wallet of the source comes first deals those for which none was chosen yet.
 */
export function createLockFeature(ports: LockPorts): WalletFeature {
  const { database, source, wallet, drives, read } = ports;
  const { network } = source;
  const mine = { network, vkey: wallet.vkey, sourceId: source.id };
  const { onEvents, ...recordUpdates } = createRecordUpdates(ports);

  return {
    ...recordUpdates,
    name: LOCK_FEATURE,
    placement: "chained",
    maxTasks: MAX_LOCKS,

    async listDue(now, limit) {
      if (drives !== "all") return { tasks: [], nextDueAt: null };
      const [unassigned, ready, nextDueAt, tip] = await Promise.all([
        listUnassignedPurchases(database, mine, now, MAX_ASSIGNED_PURCHASES),
        listDueLocks(database, mine, now, limit),
        findNextDueTime(database, mine, "lock", now),
        readTip(database, network),
      ]);
      read.tipHeight = tip ?? 0;
      const { assigned, hasEvents, failures } = await assignPurchases(ports, unassigned, now);
      if (hasEvents) onEvents();
      const due = [...ready, ...assigned].toSorted(compareByDueTime).slice(0, limit);
      const quietUntil = computeBatchStart(due, limit);
      if (quietUntil > now) return { tasks: [], nextDueAt: quietUntil, failures };
      for (const record of due) read.byId.set(record.id, record);
      return {
        tasks: due.flatMap((record) => {
          const { intent } = record.progress;
          const deadline = Number(record.terms.payByTime);
          if (intent === null) return [];
          const isAlone = (intent.failures ?? 0) > 0;
          const lastStart = deadline - MIN_LEAD_TIME_MS;
          return [{ id: taskIdOf(record, intent), deadline, lastStart, isAlone }];
        }),
        nextDueAt,
        failures,
      };
    },

    async buildPart({ id }, { parameters }) {
      const record = read.byId.get(parseTaskId(id).recordId);
      if (record === undefined) throw new Error(`purchase ${id} was not read`);
      return buildLockPart(record, wallet, parameters);
    },

    async onFailure(tasks, error, now) {
      await recordUpdates.onFailure(tasks, error, now);
      if (ports.buyers.length > 1)
        await releaseUnfundedPurchases(
          ports,
          tasks.map(({ id }) => parseTaskId(id).recordId),
          now,
        );
    },
  };
}

/** When those that wait need not wait for others any more, epoch milliseconds. */
function computeBatchStart(due: readonly EscrowRecord[], limit: number): number {
  const asked = due.flatMap(({ progress: { intent } }) => (intent === null ? [] : [intent.since]));
  if (asked.length === 0 || asked.length >= limit) return 0;
  return Math.min(Math.max(...asked) + BATCH_DELAY_MS, Math.min(...asked) + MAX_BATCH_DELAY_MS);
}

/** In the order of `listDueLocks`. */
function compareByDueTime(a: EscrowRecord, b: EscrowRecord): number {
  return (computeDueAt(a) ?? 0) - (computeDueAt(b) ?? 0) || (a.id < b.id ? -1 : 1);
}

interface Assigned {
  /** The purchases that this wallet is to lock, as they are stored. */
  assigned: EscrowRecord[];
  /** Whether there are events to be sent. */
  hasEvents: boolean;
  /** The purchases for which it throws. */
  failures: TaskFailure[];
}

async function assignPurchases(
  ports: LockPorts,
  waiting: readonly EscrowRecord[],
  now: number,
): Promise<Assigned> {
  const { database, source, buyers, read } = ports;
  const { network } = source;
  const assigned: EscrowRecord[] = [];
  if (waiting.length === 0 || buyers.length === 0)
    return { assigned, hasEvents: false, failures: [] };
  const { assignments: all, errors } = await decideAssignments(ports, waiting);
  const dealt = new Map(all.map((one) => [one.record.id, one]));
  let hasEvents = false;
  const unwritten = await forEachIsolated([...dealt.keys()], async (ids) => {
    const records = waiting.filter(({ id }) => ids.includes(id)).map((record) => ({ ...record }));
    const loaded = { network, records, tipHeight: read.tipHeight };
    const changed = await changeLoadedRecords(database, loaded, now, (record) => {
      const one = dealt.get(record.id);
      const { progress } = record;
      if (!one || progress.intent === null) return null;
      if ("wallet" in one) return { progress, wallet: one.wallet };
      if ("error" in one)
        return { progress: computeProgressAfterFailure(record, ports.wallet, one.error, now) };
      return { progress: delayForFunds(record, one.short, now) };
    });
    hasEvents ||= changed.hasEvents;
    assigned.push(...records.filter(({ wallet }) => wallet?.vkey === ports.wallet.vkey));
  });
  const others = new Set(
    [...dealt.values()].flatMap((one) => ("wallet" in one ? one.wallet.vkey : [])),
  );
  others.delete(ports.wallet.vkey);
  for (const vkey of others) await ports.wakeWallet(vkey);
  const failed = [
    ...errors.map(({ item, error }) => ({ id: item.id, error })),
    ...unwritten.map(({ item, error }) => ({ id: item, error })),
  ];
  const failures = failed.flatMap(({ id, error }) => {
    const record = waiting.find((one) => one.id === id);
    const intent = record?.progress.intent;
    return record && intent ? [{ task: { id: taskIdOf(record, intent) }, error }] : [];
  });
  return { assigned, hasEvents, failures };
}

/** The provider did not say what the wallets hold. */
interface FailedAssignment {
  record: EscrowRecord;
  error: ProviderError;
}

/** Without a choice nobody has to be asked what the wallets hold. */
async function decideAssignments(
  ports: LockPorts,
  waiting: readonly EscrowRecord[],
): Promise<{
  assignments: (WalletAssignment | FailedAssignment)[];
  errors: ItemError<EscrowRecord>[];
}> {
  const { buyers } = ports;
  const withChoice = waiting.filter((record) => eligibleWalletsOf(record, buyers).length > 1);
  const simple = waiting
    .filter((record) => !withChoice.includes(record))
    .map((record): WalletAssignment => {
      const [only] = eligibleWalletsOf(record, buyers);
      return only ? { record, wallet: only } : { record, short: null };
    });
  if (withChoice.length === 0) return { assignments: simple, errors: [] };
  try {
    const { needs, errors } = await computeFundingNeeds(ports, withChoice);
    return {
      assignments: [...simple, ...assignWallets(needs, await readWalletFunds(ports))],
      errors,
    };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return {
      assignments: [...simple, ...withChoice.map((record) => ({ record, error }))],
      errors: [],
    };
  }
}

const eligibleWalletsOf = (record: EscrowRecord, buyers: readonly WalletReference[]) =>
  buyers.filter((one) => isEligibleWallet(record, one));

async function computeFundingNeeds(
  ports: LockPorts,
  waiting: readonly EscrowRecord[],
): Promise<{ needs: FundingNeed[]; errors: ItemError<EscrowRecord>[] }> {
  const parameters = await ports.loadParameters();
  const { results, errors } = mapIsolated(waiting, (record) =>
    computeNeededFunds(record, ports.wallet, parameters),
  );
  return { needs: results.map(({ item, result }) => ({ record: item, amounts: result })), errors };
}

/** It is the same for each wallet: their addresses are of one kind. */
function computeNeededFunds(
  record: EscrowRecord,
  wallet: WalletReference,
  parameters: ProtocolParameters,
): Value {
  try {
    return computeLockedFunds(record, wallet, parameters).value;
  } catch (error) {
    // The wallet that it is dealt to ends it.
    if (error instanceof StepImpossibleError) return new Map();
    throw error;
  }
}

/** What the wallets hold, less what was dealt to them and is in no transaction yet. */
async function readWalletFunds(ports: LockPorts): Promise<WalletFunds[]> {
  const { database, source, buyers } = ports;
  const vkeys = buyers.map(({ vkey }) => vkey);
  // One that throws is never locked: its wallet takes it out.
  const { needs: before } = await computeFundingNeeds(
    ports,
    await listAssignedPurchases(database, source.network, vkeys),
  );
  return Promise.all(
    buyers.map(async (wallet): Promise<WalletFunds> => {
      const free: Value = new Map();
      for (const { value } of await ports.loadSpendableOutputs(wallet)) addValue(free, value);
      for (const { record, amounts: takes } of before)
        if (record.wallet?.vkey === wallet.vkey) addValue(free, takes, -1n);
      return { wallet, availableFunds: free };
    }),
  );
}

function delayForFunds(
  { progress }: EscrowRecord,
  short: Extract<WalletAssignment, { short: unknown }>["short"],
  now: number,
) {
  const { intent } = progress;
  const note = short
    ? describeShortage(short, "the lock")
    : "no purchasing wallet may lock the funds";
  return {
    ...progress,
    intent: intent && {
      ...intent,
      tryAt: now + FUNDS_RECHECK_INTERVAL_MS,
      reasonCode: "funds" as const,
    },
    error: toRecordError(note, "InsufficientFunds"),
  };
}

/**
 * Takes purchases that a wallet is too short for back to be dealt again. From its first transaction on a
 * purchase stays with its wallet, which alone can keep it from being locked twice.
 */
async function releaseUnfundedPurchases(
  { database, source }: LockPorts,
  ids: readonly string[],
  now: number,
): Promise<void> {
  const short = (await loadRecordsById(database, ids)).filter(
    ({ progress }) => progress.error?.type === "InsufficientFunds",
  );
  const tried = await filterAttemptedRecords(
    database,
    short.map(({ id }) => id),
  );
  const free = short.filter(({ id }) => !tried.has(id)).map(({ id }) => id);
  const release = ({ progress }: EscrowRecord) => ({ progress, wallet: null });
  // One that cannot be written stays with its wallet.
  await forEachIsolated(free, async (some) => {
    await changeRecords(database, source.network, some, now, release);
  });
}
