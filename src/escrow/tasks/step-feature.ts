import { readContractScript } from "../../chain/contracts/contract-script.ts";
import { timeOfSlot } from "../../chain/slots.ts";
import { outputAt } from "../../chain/transaction/decode-transaction.ts";
import {
  parseOutputReference,
  type ScriptSource,
} from "../../chain/transaction/transaction-plan.ts";
import { readTip } from "../../indexer/chain-tip.ts";
import { decodeWithFallback } from "../../indexer/decode-provider-transaction.ts";
import { findEarliestTime } from "../../wallets/queue/backoff.ts";
import { PriorTransactionPendingError } from "../../wallets/queue/errors.ts";
import type { BuildContext, Task, WalletFeature } from "../../wallets/queue/feature.ts";
import { forEachIsolated, mapIsolated } from "../../wallets/queue/isolate-failures.ts";
import { computeDueAt, computeIntentExpiry, findAutomaticStep } from "../model/compute-due-at.ts";
import type { EscrowRecord, LiveOutput } from "../model/escrow-record.ts";
import { AUTOMATIC_REQUESTER, type Intent, isPaused } from "../model/intent.ts";
import { isWorthWithdrawing, NOT_WORTH_WITHDRAWING_NOTE } from "../model/is-worth-withdrawing.ts";
import { readEscrow, StepImpossibleError, toLiveOutput } from "../model/read-escrow.ts";
import { ruleOf } from "../model/step-rules.ts";
import { canBeSpentByOthers, isStepPossible, windowOf } from "../model/windows.ts";
import { buildStepPart } from "../steps/build-step-part.ts";
import { createIntent } from "../store/create-intent.ts";
import { changeLoadedRecords, loadRecordsById } from "./change-records.ts";
import { findNextDueTime, listDueSteps } from "./due-records.ts";
import type { StepPorts } from "./feature-ports.ts";
import { createRecordUpdates } from "./record-updates.ts";
import { endIntent, toRecordError } from "./retry-intent.ts";
import { NO_INTENT, parseTaskId, STEP_FEATURE, taskIdOf } from "./task-id.ts";

/** Records that are considered at once. */
const MAX_DUE_RECORDS = 60;
/** Steps that are considered for one transaction: as many as go together on Web3ChainV2. */
const MAX_STEPS_PER_TRANSACTION = 5;
/** How long before its deadline a step is not begun any more. */
const MIN_LEAD_TIME_MS = 60_000;
/** For how long a transaction may wait for a block, and be overtaken. */
const VALIDITY_MS = 330_000;
/** How urgent a step without a deadline is: as if it had one so far ahead. */
const DEFAULT_DEADLINE_MS = 10 * 60_000;

/**
 * Creates the feature that takes requested and automatic steps of a payment source's locked escrows.
 */
export function createStepFeature(ports: StepPorts): WalletFeature {
  const { database, source, wallet, drives, read } = ports;
  const { network } = source;
  const mine = { network, vkey: wallet.vkey, sourceId: source.id };
  const { onEvents, ...recordUpdates } = createRecordUpdates(ports);
  let script: ScriptSource | null = null;

  return {
    ...recordUpdates,
    name: STEP_FEATURE,
    placement: "parallel",
    maxTasks: MAX_STEPS_PER_TRANSACTION,

    async listDue(now, limit) {
      if (drives === "nothing") return { tasks: [], nextDueAt: null };
      const chain = await ports.chainTime(now);
      // What is due by the chain, and what was put off by the wall clock.
      const latest = Math.max(now, chain);
      const times = { now, latest, urgentBefore: chain + DEFAULT_DEADLINE_MS };
      const [due, next, tip] = await Promise.all([
        listDueSteps(database, mine, times, MAX_DUE_RECORDS, ports.automaticSteps),
        findNextDueTime(database, mine, "step", latest),
        readTip(database, network),
      ]);
      read.tipHeight = tip ?? 0;
      const toReadyTasks = (some: readonly EscrowRecord[]) =>
        mapIsolated(some, (record) => (canBegin(record) ? toTask(record, chain) : null));
      const first = toReadyTasks(due);
      const undecided = first.results.flatMap(({ item, result }) => (result ? [] : [item]));
      const unwritten = await forEachIsolated(undecided, async (some) => {
        const loaded = { network, records: some.map(copy), tipHeight: read.tipHeight };
        const { hasEvents } = await changeLoadedRecords(database, loaded, now, (record) =>
          decideChange(record, ports, chain),
        );
        if (hasEvents) onEvents();
      });
      const ids = undecided.map(({ id }) => id);
      const second = toReadyTasks(await loadRecordsById(database, ids));
      const ready = [...first.results, ...second.results];
      for (const { item, result } of ready) if (result) read.byId.set(item.id, item);
      const tasks = ready.flatMap(({ result }) => result ?? []);
      const errors = [...[...first.errors, ...second.errors], ...unwritten];
      const later = second.results
        .map(({ item }) => computeDueAt(item))
        .filter((at) => at !== null && at > latest);
      const nextDueAt = findEarliestTime([next, ...later]);
      return {
        tasks: tasks
          .toSorted((a, b) => a.urgency - b.urgency || a.since - b.since)
          .slice(0, limit)
          .map(({ urgency: _, since: __, ...task }) => task),
        // A chain that is ahead gets there as much earlier.
        nextDueAt: nextDueAt && nextDueAt - (latest - now),
        failures: errors.map(({ item, error }) => ({
          task: { id: taskIdOf(item, item.progress.intent ?? NO_INTENT) },
          error,
        })),
      };
    },

    async buildPart({ id }, context) {
      const record = read.byId.get(parseTaskId(id).recordId);
      const intent = record?.progress.intent;
      if (!record || !intent) throw new Error(`the record of ${id} was not read`);
      script ??= await readContractScript(source.contractAddress, context.provider);
      const output = record.output ?? (await loadLiveOutput(record, context.provider));
      const { parameters, validity } = context;
      const part = buildStepPart(readEscrow(output, record), intent, {
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
    async selectForeignSpent(tasks, outputs) {
      const rows = await database.all<{ output: string }>(
        `SELECT DISTINCT data->>'$.state.utxo' AS output FROM escrow_transaction AS made
         JOIN escrow_undo AS undo ON source_id = ? AND undo.block_height = made.block_height
           AND undo.record_id = made.record_id AND undo.tx_hash = made.tx_hash
         WHERE made.record_id IN (SELECT value FROM json_each(?))
           AND status = 'Confirmed' AND intent IS NULL
           AND output IN (SELECT value FROM json_each(?))`,
        source.id,
        JSON.stringify(tasks.map((id) => parseTaskId(id).recordId)),
        JSON.stringify(outputs),
      );
      return rows.map(({ output }) => output);
    },
  };
}

/** A change that fails leaves the record as it was read. */
const copy = (record: EscrowRecord): EscrowRecord => ({ ...record });

/** Whether what is wanted of a record can be put into a transaction. */
function canBegin(record: EscrowRecord): boolean {
  const { intent, pendingTransaction } = record.progress;
  return (
    intent !== null &&
    pendingTransaction === null &&
    !isPaused(record) &&
    record.state.utxo !== null &&
    windowOf(record, intent.step) !== null
  );
}

/** @param now - on the chain, epoch milliseconds */
function toTask(record: EscrowRecord, now: number): Task & { urgency: number; since: number } {
  const intent = record.progress.intent as Intent;
  const { notBefore, deadline } = windowOf(record, intent.step) ?? {
    notBefore: null,
    deadline: null,
  };
  const by = ruleOf(intent.step, record.sourceType)?.signer ?? "seller";
  return {
    id: taskIdOf(record, intent),
    ...(notBefore !== null && { notBefore }),
    ...(deadline !== null && { deadline, lastStart: deadline - MIN_LEAD_TIME_MS }),
    isReplaceable: canBeSpentByOthers(record, by, { from: now, to: now + VALIDITY_MS }),
    isAlone: (intent.failures ?? 0) > 0,
    ...(intent.by === AUTOMATIC_REQUESTER && { isAutomatic: true }),
    urgency: deadline ?? now + DEFAULT_DEADLINE_MS,
    since: intent.since,
  };
}

/**
 * Decides what happens to a due record without a step to begin: an automatic step starts, or an impossible
 * step ends.
 *
 * @param now - on the chain, epoch milliseconds
 */
function decideChange(record: EscrowRecord, { automaticSteps, source }: StepPorts, now: number) {
  const { progress, side, state, sourceType } = record;
  const { intent, pendingTransaction } = progress;
  if (pendingTransaction !== null || isPaused(record)) return null;
  if (intent !== null) {
    const waits = !isStepPossible(intent.step, state.onChainState, sourceType);
    if (waits && computeIntentExpiry(record, intent) > now) return null;
    if (waits && intent.by === AUTOMATIC_REQUESTER)
      return { progress: { ...progress, intent: null } };
    return {
      progress: endIntent(progress, `${intent.step} is no longer possible: its deadline is over`),
    };
  }
  const step = findAutomaticStep(record);
  const isOn = side === "payment" ? automaticSteps.payments : automaticSteps.refunds;
  const window = step && windowOf(record, step);
  if (!step || !isOn || !window || (window.notBefore ?? 0) > now) return null;
  const collateral = BigInt(state.lock?.collateralReturn ?? 0);
  const value = record.output?.value;
  if (step === "Withdraw" && value && !isWorthWithdrawing({ value, collateral }, source)) {
    return { progress: { ...progress, error: toRecordError(NOT_WORTH_WITHDRAWING_NOTE) } };
  }
  const asked = createIntent(step, AUTOMATIC_REQUESTER, Date.now());
  return { progress: { ...progress, intent: asked } };
}

/** Where the record says that its wallet's money goes; Web3ChainV1 has no field for it in the datum. */
function payoutAddressOf({ side, terms }: EscrowRecord): string | null {
  return side === "payment" ? terms.sellerReturnAddress : terms.buyerReturnAddress;
}

/** After a rollback the record does not know what the output holds, and the chain is asked. */
async function loadLiveOutput(
  { sourceId, state: { utxo } }: EscrowRecord,
  provider: BuildContext["provider"],
): Promise<LiveOutput> {
  const { txHash: hash, index } = parseOutputReference(utxo ?? "");
  const cbor = await provider.transactionCbor(hash);
  const made = cbor && (await decodeWithFallback(provider, sourceId, hash, cbor));
  const output = made && outputAt(made, index);
  if (!output)
    throw new PriorTransactionPendingError("the provider does not show the escrow's output");
  const live = toLiveOutput(hash, { index, output });
  if (live === null) throw new StepImpossibleError("the escrow has no datum");
  return live;
}
