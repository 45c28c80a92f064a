import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { KeyScope } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import { findNextStep, type NextStep } from "../model/find-next-step.ts";
import { type Intent, isPaused, nextActionOf } from "../model/intent.ts";
import { MAX_TIMESTAMP_MS, windowOf } from "../model/windows.ts";
import { buildScopeCondition } from "../queries/scope-condition.ts";
import { BLOCKERS_SQL, type Blockers, findRecordBlocker } from "../store/blockers.ts";
import { ESCROW_COLUMNS, type EscrowRow, toEscrowRecord } from "../store/escrow-row.ts";
import { HAS_INTENT_CONDITION } from "../store/predicates.ts";

export const TASK_STATUSES = ["Waiting", "UnderWay", "NeedsPerson"] as const;
type TaskStatus = (typeof TASK_STATUSES)[number];

export interface TaskQuery {
  network: Network;
  limit: number;
  cursorId?: string | undefined;
  /** Of the caller: tasks of other wallets are not shown to it. */
  scope?: KeyScope | undefined;
}

/**
 * Lists requested and automatic steps that are not done, newest records first. A record has one task at a
 * time.
 *
 * @param now - epoch milliseconds
 */
export async function listTasks(database: Database, query: TaskQuery, now: number) {
  const { network, cursorId, limit } = query;
  const params: unknown[] = [network, cursorId ?? null];
  const permitted = buildScopeCondition(query.scope, (ids) => `?${params.push(ids)}`);
  const rows = await database.all<EscrowRow & { holds: string }>(
    `SELECT ${ESCROW_COLUMNS}, ${BLOCKERS_SQL} AS holds FROM escrow INDEXED BY escrow_intent
     WHERE network = ?1 AND ${HAS_INTENT_CONDITION} AND (?2 IS NULL OR id < ?2)
       ${permitted === null ? "" : `AND ${permitted}`}
     ORDER BY id DESC LIMIT ${limit}`,
    ...params,
  );
  // The same in every row.
  const holds = JSON.parse(rows[0]?.holds ?? "{}") as Blockers;
  return rows.flatMap(({ holds: _, ...row }) => {
    const record = toEscrowRecord(row);
    const { intent } = record.progress;
    return intent === null ? [] : [toTaskResponse(record, intent, holds, now)];
  });
}

function toTaskResponse(record: EscrowRecord, intent: Intent, holds: Blockers, now: number) {
  const { pendingTransaction } = record.progress;
  const window = windowOf(record, intent.step);
  const [notBefore, deadline] = [window?.notBefore ?? null, window?.deadline ?? null];
  const status = statusOf(record);
  const next = findNextStep(record);
  const blocker = findRecordBlocker(record, next, holds);
  const isEarly = notBefore !== null && notBefore > now;
  return {
    id: record.id,
    kind: record.side === "payment" ? ("Payment" as const) : ("Purchase" as const),
    network: record.network,
    blockchainIdentifier: record.blockchainIdentifier,
    step: intent.step,
    status,
    reasonCode: next.code ?? blocker?.code ?? (isEarly ? "chain" : "turn"),
    reason:
      nextActionOf(record).errorNote ??
      describeTaskReason(status, next, blocker?.reason ?? null, isEarly ? notBefore : null),
    since: toIsoTime(intent.since),
    requestedById: intent.by,
    notBefore: formatTime(notBefore),
    deadline: formatTime(deadline),
    nextTryAt: pendingTransaction || intent.tryAt === undefined ? null : formatTime(intent.tryAt),
    failedTries: intent.failures ?? 0,
    txHash: pendingTransaction?.transaction.txHash ?? null,
    walletId: record.wallet?.id ?? null,
    resultHash: intent.resultHash,
  };
}

function statusOf(record: EscrowRecord): TaskStatus {
  if (isPaused(record)) return "NeedsPerson";
  return record.progress.pendingTransaction ? "UnderWay" : "Waiting";
}

/**
 * Describes what a task without an error waits for.
 *
 * @param opensAt - when the contract allows the task, epoch milliseconds; null: it does now
 */
function describeTaskReason(
  status: TaskStatus,
  { isOurTurn, waitsFor }: NextStep,
  blocker: string | null,
  opensAt: number | null,
): string {
  if (status === "UnderWay") return "its transaction is on its way";
  if (!isOurTurn) return `waits for ${waitsFor}`;
  if (blocker !== null) return blocker;
  if (opensAt !== null) return `the contract does not allow it before ${toIsoTime(opensAt)}`;
  return "waits for its wallet's turn";
}

/** `windowOf` gives no time that cannot be printed as a start, but an end may be any. */
function formatTime(milliseconds: number | null): string | null {
  return milliseconds === null || milliseconds > MAX_TIMESTAMP_MS ? null : toIsoTime(milliseconds);
}
