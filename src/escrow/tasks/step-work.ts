import { timeOfSlot } from "../../chain/slots.ts";
import { outputAt } from "../../chain/transaction/decode.ts";
import type { ScriptSource } from "../../chain/transaction/plan.ts";
import { newId } from "../../db/id.ts";
import { decodeOrList } from "../../indexer/decode.ts";
import { actOnEach, mapEach } from "../../wallets/isolate.ts";
import { FormerMayLand, type Stand, type Task } from "../../wallets/work.ts";
import { scriptOf } from "../actions/contract-script.ts";
import { type Escrow, readEscrow, StepImpossible } from "../actions/escrow.ts";
import { ruleOf } from "../actions/rules.ts";
import { stepPart } from "../actions/step-part.ts";
import { canBeOvertaken, isStepPossible, windowOf } from "../actions/windows.ts";
import { isWorth, NOT_WORTH } from "../actions/worth.ts";
import { stepByItself, waitsUntil } from "../fold/due-at.ts";
import { liveOutput } from "../fold/escrow-outputs.ts";
import type { EscrowRecord, LiveOutput } from "../record.ts";
import { AUTOMATIC, standsStill, type Want } from "../wanted.ts";
import { changeRecords, recordsById } from "./change.ts";
import { dueSteps, nextDue } from "./open.ts";
import type { StepPorts } from "./ports.ts";
import { NOT_ASKED, partsOf, STEP_WORK, taskIdOf } from "./task.ts";
import { type EscrowWork, telling } from "./told.ts";
import { ended, problem } from "./tries.ts";

/** Records that are considered at once. */
const MAX_DUE = 60;
/** Steps that are considered for one transaction: as many as go together on Web3ChainV2. */
const MAX_STEPS_TOGETHER = 5;
/** How long before its deadline a step is not begun any more. */
const LAST_START_MS = 60_000;
/** For how long a transaction may wait for a block, and be overtaken. */
const VALID_MS = 330_000;
/** How urgent a step without a deadline is: as if it had one so far ahead. */
const PATIENCE_MS = 10 * 60_000;

/**
 * What a wallet does for the escrows of its payment source once they are locked: the steps that were asked
 * for, and those that come by themselves.
 */
export function stepWork(ports: StepPorts): EscrowWork {
  const { ledger, source, wallet, drives } = ports;
  const { network } = source;
  const mine = { network, vkey: wallet.vkey, sourceId: source.id };
  /** As they were last read. */
  const records = new Map<string, EscrowRecord>();
  const { told, ...tells } = telling(ports, records);
  let script: ScriptSource | null = null;

  return {
    ...tells,
    name: STEP_WORK,
    stands: "lanes",
    most: MAX_STEPS_TOGETHER,

    takenOver: async () => [],

    async due(now, limit) {
      if (drives === "nothing") return { tasks: [], next: null };
      const chain = await ports.chainTime(now);
      // What is due by the chain, and what was put off by the wall clock.
      const latest = Math.max(now, chain);
      const times = { now, latest, urgentBefore: chain + PATIENCE_MS };
      const due = await dueSteps(ledger, mine, times, MAX_DUE, ports.automatic);
      const readyOf = (some: readonly EscrowRecord[]) =>
        mapEach(some, (record) => (canBegin(record) ? taskOf(record, chain) : null));
      const first = readyOf(due);
      const undecided = first.results.flatMap(({ item, result }) => (result ? [] : [item]));
      const ids = undecided.map(({ id }) => id);
      const unwritten = await actOnEach(ids, async (some) => {
        const { hasEvents } = await changeRecords(ledger, network, some, now, (record) =>
          decide(record, ports, chain),
        );
        if (hasEvents) told();
      });
      const second = readyOf(await recordsById(ledger, ids));
      const ready = [...first.results, ...second.results];
      for (const { item, result } of ready) if (result) records.set(item.id, item);
      const tasks = ready.flatMap(({ result }) => result ?? []);
      const errors = [
        ...[...first.errors, ...second.errors],
        ...unwritten.flatMap(({ item, error }) =>
          undecided.filter(({ id }) => id === item).map((record) => ({ item: record, error })),
        ),
      ];
      const next = await nextDue(ledger, mine, "step", latest);
      return {
        tasks: tasks
          .toSorted((a, b) => a.urgency - b.urgency || a.since - b.since)
          .slice(0, limit)
          .map(({ urgency: _, since: __, ...task }) => task),
        // A chain that is ahead gets there as much earlier.
        next: next && next - (latest - now),
        failures: errors.map(({ item, error }) => ({
          task: { id: taskIdOf(item, item.wanted.want ?? NOT_ASKED) },
          error,
        })),
      };
    },

    async part({ id }, stand) {
      const record = records.get(partsOf(id).recordId);
      const want = record?.wanted.want;
      if (!record || !want) throw new Error(`the record of ${id} was not read`);
      script ??= await scriptOf(source.contractAddress, stand.provider);
      const escrow = await liveEscrow(record, stand.provider);
      const { parameters, validity } = stand;
      const part = stepPart(escrow, want, {
        contract: { ...source, address: source.contractAddress },
        script,
        wallet,
        payoutAddress: payoutAddressOf(record) ?? ports.collectionAddress,
        validTo: timeOfSlot(network, validity.to),
        parameters,
      });
      return { ...part, detail: { ...part.detail, spends: record.state.utxo } };
    },

    // The records say no more that something is under way: the sync has seen before that it is displaced.
    async spentByOthers(tasks, outputs) {
      const rows = await ledger.all<{ output: string }>(
        `SELECT DISTINCT before->>'utxo' AS output FROM escrow_transaction
         WHERE record_id IN (SELECT value FROM json_each(?))
           AND status = 'Confirmed' AND want IS NULL
           AND before->>'utxo' IN (SELECT value FROM json_each(?))`,
        JSON.stringify(tasks.map((id) => partsOf(id).recordId)),
        JSON.stringify(outputs),
      );
      return rows.map(({ output }) => output);
    },
  };
}

/** Whether what is wanted of a record can be put into a transaction. */
function canBegin(record: EscrowRecord): boolean {
  const { want, underWay } = record.wanted;
  return (
    want !== null &&
    underWay === null &&
    !standsStill(record) &&
    record.state.utxo !== null &&
    windowOf(record, want.step) !== null
  );
}

/** @param now - on the chain, epoch milliseconds */
function taskOf(record: EscrowRecord, now: number): Task & { urgency: number; since: number } {
  const want = record.wanted.want as Want;
  const { notBefore, deadline } = windowOf(record, want.step) ?? {
    notBefore: null,
    deadline: null,
  };
  const by = ruleOf(want.step, record.sourceType)?.by ?? "seller";
  return {
    id: taskIdOf(record, want),
    ...(notBefore !== null && { begins: notBefore }),
    ...(deadline !== null && { deadline, lastStart: deadline - LAST_START_MS }),
    canBeOvertaken: canBeOvertaken(record, by, { from: now, to: now + VALID_MS }),
    isAlone: (want.failures ?? 0) > 0,
    ...(want.by === AUTOMATIC && { isAutomatic: true }),
    urgency: deadline ?? now + PATIENCE_MS,
    since: want.since,
  };
}

/**
 * What becomes of a record that is due and has nothing that could be begun: a step that comes by itself,
 * or the end of one that never can be done.
 *
 * @param now - on the chain, epoch milliseconds
 */
function decide(record: EscrowRecord, { automatic, source }: StepPorts, now: number) {
  const { wanted, side, state, sourceType } = record;
  const { want, underWay } = wanted;
  if (underWay !== null || standsStill(record)) return null;
  if (want !== null) {
    const waits = !isStepPossible(want.step, state.onChainState, sourceType);
    if (waits && waitsUntil(record, want) > now) return null;
    if (waits && want.by === AUTOMATIC) return { wanted: { ...wanted, want: null } };
    return {
      wanted: ended(wanted, `${want.step} cannot be done any more: its window has closed`),
    };
  }
  const step = stepByItself(record);
  const isOn = side === "payment" ? automatic.payments : automatic.refunds;
  const window = step && windowOf(record, step);
  if (!step || !isOn || !window || (window.notBefore ?? 0) > now) return null;
  const collateral = BigInt(state.lock?.collateralReturn ?? 0);
  const value = record.output?.value;
  if (step === "Withdraw" && value && !isWorth({ value, collateral }, source)) {
    return { wanted: { ...wanted, error: problem(NOT_WORTH) } };
  }
  const at = Date.now();
  const asked: Want = { id: newId(at), step, resultHash: null, by: AUTOMATIC, since: at };
  return { wanted: { ...wanted, want: asked } };
}

/** Where the record says that its wallet's money goes; Web3ChainV1 has no field for it in the datum. */
function payoutAddressOf({ side, terms }: EscrowRecord): string | null {
  return side === "payment" ? terms.sellerReturnAddress : terms.buyerReturnAddress;
}

/** After a rollback the record does not know what the output holds, and the chain is asked. */
async function liveEscrow(record: EscrowRecord, provider: Stand["provider"]): Promise<Escrow> {
  return readEscrow(record.output ?? (await outputOf(record, provider)), record);
}

async function outputOf(
  { sourceId, state: { utxo } }: EscrowRecord,
  provider: Stand["provider"],
): Promise<LiveOutput> {
  const [hash = "", index = ""] = utxo?.split("#") ?? [];
  const cbor = await provider.transactionCbor(hash);
  const made = cbor && (await decodeOrList(provider, sourceId, hash, cbor));
  const output = made && outputAt(made, Number(index));
  if (!output) throw new FormerMayLand("the provider does not show the escrow's output");
  const live = liveOutput(hash, { index: Number(index), output });
  if (live === null) throw new StepImpossible("the escrow has no datum");
  return live;
}
