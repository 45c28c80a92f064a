import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { KeyScope } from "../../http/context.ts";
import { isoTime } from "../../http/envelope.ts";
import { windowOf } from "../actions/windows.ts";
import { HOLDS, type Holds, waitsFor, withHolds } from "../reads/holds.ts";
import { nextOf } from "../reads/next.ts";
import { withinScope } from "../reads/scope.ts";
import type { EscrowRecord } from "../record.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../row.ts";
import { nextActionOf, standsStill, type Want } from "../wanted.ts";
import { IS_WANTED } from "./is-wanted.ts";

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
 * What was asked for of escrows, or comes by itself, and is not done: newest records first. A record has
 * one task at a time.
 *
 * @param now - epoch milliseconds
 */
export async function listTasks(ledger: Database, query: TaskQuery, now: number) {
  const { network, cursorId, limit } = query;
  const params: unknown[] = [limit, network, cursorId ?? null];
  const permitted = withinScope(query.scope, (ids) => `?${params.push(ids)}`);
  const rows = await ledger.all<EscrowRow & { holds: string }>(
    `SELECT ${ESCROW_COLUMNS}, ${HOLDS} AS holds FROM escrow INDEXED BY escrow_wanted
     WHERE network = ?2 AND ${IS_WANTED} AND (?3 IS NULL OR id < ?3)
       ${permitted === null ? "" : `AND ${permitted}`}
     ORDER BY id DESC LIMIT ?1`,
    ...params,
  );
  // The same in every row.
  const holds = JSON.parse(rows[0]?.holds ?? "{}") as Holds;
  return rows.map(recordOfRow).flatMap((record) => {
    const { want } = record.wanted;
    // A version before this one may have ended it.
    return want === null ? [] : [shownTask(record, want, holds, now)];
  });
}

function shownTask(record: EscrowRecord, want: Want, holds: Holds, now: number) {
  const { underWay } = record.wanted;
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
    reason: nextActionOf(record).errorNote ?? reasonOf(record, status, notBefore, holds, now),
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

function statusOf(record: EscrowRecord): TaskStatus {
  if (standsStill(record)) return "NeedsPerson";
  return record.wanted.underWay ? "UnderWay" : "Waiting";
}

/** What a task waits for that has no note, for people. */
function reasonOf(
  record: EscrowRecord,
  status: TaskStatus,
  notBefore: number | null,
  holds: Holds,
  now: number,
): string {
  if (status === "UnderWay") return "its transaction is on its way";
  const next = nextOf(record);
  if (!next.isOurTurn) return `waits for ${next.waitsFor}`;
  const hold = JSON.parse(withHolds(waitsFor(record, next), holds)) as string | null;
  if (hold !== null) return hold;
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
