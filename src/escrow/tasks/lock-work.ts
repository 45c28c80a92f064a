import { type ProtocolParameters, ProviderError } from "../../chain/provider/provider.ts";
import { addAll, type Value } from "../../chain/transaction/value.ts";
import { actOnEach, type ItemError, mapEach } from "../../wallets/isolate.ts";
import type { Failure } from "../../wallets/work.ts";
import { StepImpossible } from "../actions/escrow.ts";
import { lockedFunds, lockPart } from "../actions/lock-part.ts";
import type { EscrowRecord, WalletName } from "../record.ts";
import { changeRecords, recordsById } from "./change.ts";
import { type Bid, type Dealt, deal, mayUse, type Purser, shortageNote } from "./deal.ts";
import { afterFailure } from "./failure.ts";
import { chosenFor, dueLocks, everTried, nextDue, withoutWallet } from "./open.ts";
import type { LockPorts } from "./ports.ts";
import { LOCK_WORK, partsOf, taskIdOf } from "./task.ts";
import { type EscrowWork, telling } from "./told.ts";
import { problem } from "./tries.ts";

/** Locks that a transaction makes: about what it has room for. */
const MAX_LOCKS = 20;
/** Purchases that are dealt at once. */
const MAX_ASSIGNED = 100;
/** A purchase waits so long for others to share its transaction: after the newest, and at the most. */
const QUIET_MS = 250;
const MAX_QUIET_MS = 1_000;
/** How long before its pay-by time a purchase is not locked any more. */
const LAST_START_MS = 120_000;
/** How often it is looked whether a wallet has got what a purchase needs. */
const SHORT_MS = 30_000;

/**
 * What a purchasing wallet does for the purchases of a payment source: it locks their funds. Whichever
 * wallet of the source comes first deals those for which none was chosen yet.
 */
export function lockWork(ports: LockPorts): EscrowWork {
  const { ledger, source, wallet, drives } = ports;
  const { network } = source;
  const mine = { network, vkey: wallet.vkey, sourceId: source.id };
  /** As they were last read. */
  const records = new Map<string, EscrowRecord>();
  const { told, ...tells } = telling(ports, records);

  return {
    ...tells,
    name: LOCK_WORK,
    stands: "line",
    most: MAX_LOCKS,

    takenOver: async () => [],

    async due(now, limit) {
      if (drives !== "all") return { tasks: [], next: null };
      const { hasEvents, failures } = await dealPurchases(ports, now);
      if (hasEvents) told();
      const due = await dueLocks(ledger, mine, now, limit);
      const quietUntil = endOfQuiet(due, limit);
      if (quietUntil > now) return { tasks: [], next: quietUntil, failures };
      for (const record of due) records.set(record.id, record);
      return {
        tasks: due.flatMap((record) => {
          const { want } = record.wanted;
          const deadline = Number(record.terms.payByTime);
          if (want === null) return [];
          const isAlone = (want.failures ?? 0) > 0;
          const lastStart = deadline - LAST_START_MS;
          return [{ id: taskIdOf(record, want), deadline, lastStart, isAlone }];
        }),
        next: await nextDue(ledger, mine, "lock", now),
        failures,
      };
    },

    async part({ id }, { parameters }) {
      const record = records.get(partsOf(id).recordId);
      if (record === undefined) throw new Error(`purchase ${id} was not read`);
      return lockPart(record, wallet, parameters);
    },

    async notBuilt(tasks, error, now) {
      await tells.notBuilt(tasks, error, now);
      if (ports.buyers.length > 1)
        await handBack(
          ports,
          tasks.map(({ id }) => partsOf(id).recordId),
          now,
        );
    },
  };
}

/** When those that wait need not wait for others any more, epoch milliseconds. */
function endOfQuiet(due: readonly EscrowRecord[], limit: number): number {
  const asked = due.flatMap(({ wanted: { want } }) => (want === null ? [] : [want.since]));
  if (asked.length === 0 || asked.length >= limit) return 0;
  return Math.min(Math.max(...asked) + QUIET_MS, Math.min(...asked) + MAX_QUIET_MS);
}

/** @returns whether there are events to be sent, and the purchases for which it throws */
async function dealPurchases(
  ports: LockPorts,
  now: number,
): Promise<{ hasEvents: boolean; failures: Failure[] }> {
  const { ledger, source, buyers } = ports;
  const { network } = source;
  const waiting = await withoutWallet(ledger, { network, sourceId: source.id }, now, MAX_ASSIGNED);
  if (waiting.length === 0 || buyers.length === 0) return { hasEvents: false, failures: [] };
  const { all, errors } = await dealtOf(ports, waiting);
  const dealt = new Map(all.map((one) => [one.record.id, one]));
  let hasEvents = false;
  const unwritten = await actOnEach([...dealt.keys()], async (ids) => {
    const changed = await changeRecords(ledger, network, ids, now, (record) => {
      const one = dealt.get(record.id);
      const { wanted } = record;
      if (!one || record.wallet !== null || wanted.want === null) return null;
      if ("wallet" in one) return { wanted, wallet: one.wallet };
      if ("error" in one) return { wanted: afterFailure(record, ports.wallet, one.error, now) };
      return { wanted: waitingForFunds(record, one.short, now) };
    });
    hasEvents ||= changed.hasEvents;
  });
  const others = new Set(
    [...dealt.values()].flatMap((one) => ("wallet" in one ? one.wallet.vkey : [])),
  );
  others.delete(ports.wallet.vkey);
  for (const vkey of others) await ports.wake(vkey);
  const failed = [
    ...errors.map(({ item, error }) => ({ id: item.id, error })),
    ...unwritten.map(({ item, error }) => ({ id: item, error })),
  ];
  const failures = failed.flatMap(({ id, error }) => {
    const record = waiting.find((one) => one.id === id);
    const want = record?.wanted.want;
    return record && want ? [{ task: { id: taskIdOf(record, want) }, error }] : [];
  });
  return { hasEvents, failures };
}

/** The provider did not say what the wallets hold. */
interface Undealt {
  record: EscrowRecord;
  error: ProviderError;
}

/** Without a choice nobody has to be asked what the wallets hold. */
async function dealtOf(
  ports: LockPorts,
  waiting: readonly EscrowRecord[],
): Promise<{ all: (Dealt | Undealt)[]; errors: ItemError<EscrowRecord>[] }> {
  const { buyers } = ports;
  const withChoice = waiting.filter((record) => allowed(record, buyers).length > 1);
  const simple = waiting
    .filter((record) => !withChoice.includes(record))
    .map((record): Dealt => {
      const [only] = allowed(record, buyers);
      return only ? { record, wallet: only } : { record, short: null };
    });
  if (withChoice.length === 0) return { all: simple, errors: [] };
  try {
    const { bids, errors } = await bidsOf(ports, withChoice);
    return { all: [...simple, ...deal(bids, await pursersOf(ports))], errors };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return { all: [...simple, ...withChoice.map((record) => ({ record, error }))], errors: [] };
  }
}

const allowed = (record: EscrowRecord, buyers: readonly WalletName[]) =>
  buyers.filter((one) => mayUse(record, one));

async function bidsOf(
  ports: LockPorts,
  waiting: readonly EscrowRecord[],
): Promise<{ bids: Bid[]; errors: ItemError<EscrowRecord>[] }> {
  const parameters = await ports.parameters();
  const { results, errors } = mapEach(waiting, (record) =>
    takenBy(record, ports.wallet, parameters),
  );
  return { bids: results.map(({ item, result }) => ({ record: item, takes: result })), errors };
}

/** It is the same for each wallet: their addresses are of one kind. */
function takenBy(record: EscrowRecord, wallet: WalletName, parameters: ProtocolParameters): Value {
  try {
    return lockedFunds(record, wallet, parameters).value;
  } catch (error) {
    // The wallet that it is dealt to ends it.
    if (error instanceof StepImpossible) return new Map();
    throw error;
  }
}

/** What the wallets hold, less what was dealt to them and is in no transaction yet. */
async function pursersOf(ports: LockPorts): Promise<Purser[]> {
  const { ledger, source, buyers } = ports;
  const vkeys = buyers.map(({ vkey }) => vkey);
  // One that throws is never locked: its wallet takes it out.
  const { bids: before } = await bidsOf(ports, await chosenFor(ledger, source.network, vkeys));
  return Promise.all(
    buyers.map(async (wallet): Promise<Purser> => {
      const free: Value = new Map();
      for (const { value } of await ports.outputsOf(wallet)) addAll(free, value);
      for (const { record, takes } of before)
        if (record.wallet?.vkey === wallet.vkey) addAll(free, takes, -1n);
      return { wallet, free };
    }),
  );
}

function waitingForFunds(
  { wanted }: EscrowRecord,
  short: Extract<Dealt, { short: unknown }>["short"],
  now: number,
) {
  const { want } = wanted;
  const note = short ? shortageNote(short, "the lock") : "no purchasing wallet may lock it";
  return {
    ...wanted,
    want: want && { ...want, tryAt: now + SHORT_MS },
    error: problem(note, "InsufficientFunds"),
  };
}

/**
 * Takes purchases that a wallet is too short for back to be dealt again. From its first transaction on a
 * purchase stays with its wallet, which alone can keep it from being locked twice.
 */
async function handBack(
  { ledger, source }: LockPorts,
  ids: readonly string[],
  now: number,
): Promise<void> {
  const short = (await recordsById(ledger, ids)).filter(
    ({ wanted }) => wanted.error?.type === "InsufficientFunds",
  );
  const tried = await everTried(
    ledger,
    short.map(({ id }) => id),
  );
  const free = short.filter(({ id }) => !tried.has(id)).map(({ id }) => id);
  const release = ({ wanted }: EscrowRecord) => ({ wanted, wallet: null });
  // One that cannot be written stays with its wallet.
  await actOnEach(free, async (some) => {
    await changeRecords(ledger, source.network, some, now, release);
  });
}
