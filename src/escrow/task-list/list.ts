import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { isoTime } from "../../http/envelope.ts";
import { windowOf } from "../actions/windows.ts";
import type { EscrowRecord } from "../record.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../row.ts";
import type { Want } from "../wanted.ts";
import { IS_WANTED } from "./is-wanted.ts";

export const TASK_STATUSES = ["Waiting", "UnderWay", "NeedsPerson"] as const;
type TaskStatus = (typeof TASK_STATUSES)[number];

export interface TaskQuery {
  network: Network;
  limit: number;
  cursorId?: string | undefined;
  /** Ids of the only wallets whose tasks are shown; null: all. */
  walletIds: readonly string[] | null;
}

/**
 * What was asked for of escrows, or comes by itself, and is not done: newest records first. A record has
 * one task at a time.
 *
 * @param now - epoch milliseconds
 */
export async function listTasks(ledger: Database, query: TaskQuery, now: number) {
  const rows = await ledger.all<EscrowRow>(
    `SELECT ${ESCROW_COLUMNS} FROM escrow INDEXED BY escrow_wanted
     WHERE network = ?1 AND ${IS_WANTED} AND (?2 IS NULL OR id < ?2)
       AND (?3 IS NULL OR wallet->>'id' IN (SELECT value FROM json_each(?3)))
     ORDER BY id DESC LIMIT ?4`,
    query.network,
    query.cursorId ?? null,
    query.walletIds && JSON.stringify(query.walletIds),
    query.limit,
  );
  return rows.map(recordOfRow).flatMap((record) => {
    const { want } = record.wanted;
    // A version before this one may have ended it.
    return want === null ? [] : [shownTask(record, want, now)];
  });
}

function shownTask(record: EscrowRecord, want: Want, now: number) {
  const { underWay, error } = record.wanted;
  const window = windowOf(record, want.step);
  const [notBefore, deadline] = [window?.notBefore ?? null, window?.deadline ?? null];
  const status = statusOf(record);
  return {
    id: record.id,
    kind: record.side === "payment" ? ("Payment" as const) : ("Purchase" as const),
    network: record.network,
    blockchainIdentifier: record.blockchainIdentifier,
    step: want.step,
    status,
    reason: reasonOf({ status, notBefore, isPossible: window !== null, note: error?.note }, now),
    since: isoTime(want.since),
    requestedById: want.by,
    notBefore: printed(notBefore),
    deadline: printed(deadline),
    nextTryAt: underWay || want.tryAt === undefined ? null : printed(want.tryAt),
    failedTries: want.failures ?? 0,
    txHash: underWay?.transaction.txHash ?? null,
    walletId: record.wallet?.id ?? null,
    resultHash: want.resultHash,
  };
}

function statusOf({ wanted: { underWay, error } }: EscrowRecord): TaskStatus {
  if (error?.isManual) return "NeedsPerson";
  return underWay ? "UnderWay" : "Waiting";
}

interface Standing {
  status: TaskStatus;
  notBefore: number | null;
  /** Whether the escrow's state allows the step. */
  isPossible: boolean;
  note: string | undefined;
}

/** What a task waits for, for people. */
function reasonOf({ status, notBefore, isPossible, note }: Standing, now: number): string {
  if (note !== undefined) return note;
  if (status === "UnderWay") return "its transaction is on its way";
  if (!isPossible) return "waits for the escrow's state to return, which a rollback took back";
  if (notBefore !== null && notBefore > now)
    return `the contract does not allow it before ${isoTime(notBefore)}`;
  return "waits for its wallet's turn";
}

/** `windowOf` gives no time that cannot be printed as a start, but an end may be any. */
function printed(milliseconds: number | null): string | null {
  return milliseconds === null || milliseconds > LAST_TIME ? null : isoTime(milliseconds);
}

/** The end of the year 9999. */
const LAST_TIME = Date.UTC(10_000, 0, 1) - 1;
