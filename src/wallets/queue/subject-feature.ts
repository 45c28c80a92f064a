import { type Database, type Statement, violates } from "../../db/client.ts";
import type { TaskUpdate } from "../model/wallet-transaction.ts";
import { findEarliestTime } from "./backoff.ts";
import { RecordChangedError } from "./errors.ts";
import type { DueTasks, WalletFeature } from "./feature.ts";
import { decideAttemptOutcome } from "./outcome.ts";
import {
  createTask,
  deleteTasks,
  listOpenTasks,
  type SourceWallet,
  subjectIdOf,
  type TaskState,
  updateTaskReasons,
  updateTaskStates,
  upsertTasks,
} from "./store.ts";
import type { WalletTask } from "./tables.ts";

/** A record for which a wallet has one task at a time. */
export interface Subject extends Pick<WalletTask, "network" | "sourceId" | "walletVkey"> {
  id: string;
  task: WalletTask | null;
}

/** What becomes of a subject and of its task. */
export interface SubjectOutcome<Change> {
  change?: Change;
  /** Null: the task ends. Undefined: it stays as it is. */
  task?: TaskState | null;
}

/** A subject that changes, and why. */
export interface ChangedSubject<Row, Change> {
  row: Row;
  change: Change;
  /** The state of its task afterwards; null: the task has ended. */
  task: TaskState | null;
  /** The progress of its transaction; null: there is none. */
  update: TaskUpdate | null;
  /** Why no transaction is built for it any more; null: it was not given up. */
  givenUp: string | null;
}

/** What a feature knows of its subjects. */
export interface SubjectPort<Row extends Subject, Change> {
  /** Names the feature in stored transactions. */
  name: string;
  /** See `WalletFeature`. */
  revision: `${string}.${string}`;
  read(ids: readonly string[]): Promise<Row[]>;
  /** Builds statements that change subjects as they were read. Each aborts its batch if its subject has changed. */
  update(changed: readonly ChangedSubject<Row, Change>[], now: number): Statement[];
  /** What follows from the progress of a transaction; null: nothing new. */
  decideAfterUpdate(row: Row, update: TaskUpdate, now: number): SubjectOutcome<Change> | null;
  /** What follows from an error that only this feature knows; null: `decideAttemptOutcome` decides. */
  decideAfterFailure?(row: Row, error: unknown, now: number): SubjectOutcome<Change> | null;
  /**
   * What becomes of a subject whose task is given up.
   *
   * @param hasSource - whether its payment source can still follow what was sent
   */
  giveUp(row: Row, reason: string, now: number, hasSource: boolean): SubjectOutcome<Change>;
  /** Whether a transaction was sent for a subject, now or before. */
  hasSent(row: Row): boolean;
  /** Whether a subject still asks for the transaction that was built for it. */
  isSame?(row: Row, built: Row): boolean;
}

/** The queue's half of a feature. The feature adds how a transaction is built. */
export type SubjectFeature<Row> = Omit<WalletFeature, "buildPart" | "placement"> & {
  /** The subject of a task, as it was last read. */
  requireRow(taskId: string): Row;
  /** Reads the subjects whose tasks have no transaction, the next first. */
  readOpen(limit: number): Promise<(Row & { task: WalletTask })[]>;
};

/**
 * Creates the part of a feature that reads tasks from the queue and writes outcomes to it.
 *
 * @param db - with `writes: "idempotent"`
 */
export function createSubjectFeature<Row extends Subject, Change>(
  db: Database,
  port: SubjectPort<Row, Change>,
  wallet: SourceWallet,
): SubjectFeature<Row> {
  /** As they were last read. */
  const rows = new Map<string, Row>();
  const rowOf = (taskId: string): Row => {
    const row = rows.get(subjectIdOf(taskId));
    if (row === undefined) throw new Error(`${port.name} ${taskId} was not read`);
    return row;
  };
  const readOpen = async (limit: number) => {
    const open = await readOpenSubjects(db, port, wallet, limit);
    for (const row of open) rows.set(row.id, row);
    return open;
  };
  return {
    name: port.name,
    revision: port.revision,
    requireRow: rowOf,
    readOpen,

    async listDue(now, limit) {
      return splitDueTasks(await readOpen(limit), now);
    },

    ...(port.isSame && {
      async filterCurrent(tasks) {
        const found = await port.read(tasks.map(({ id }) => subjectIdOf(id)));
        const same = found.filter((row) => {
          const built = rows.get(row.id);
          return built !== undefined && port.isSame?.(row, built);
        });
        for (const row of same) rows.set(row.id, row);
        return tasks.filter(({ id }) => same.some((row) => row.id === subjectIdOf(id)));
      },
    }),

    async onTransaction(updates, now) {
      // A subject that has changed since its part was built must not be paid for: its revision aborts the batch.
      const findBuilt = ({ task, transaction }: TaskUpdate) =>
        transaction.phase === "Stored" ? rows.get(subjectIdOf(task.id)) : undefined;
      const others = updates.filter((update) => !findBuilt(update));
      const ids = others.map(({ task }) => subjectIdOf(task.id));
      const found = ids.length > 0 ? await port.read(ids) : [];
      const changed = updates.flatMap((update) => {
        const id = subjectIdOf(update.task.id);
        const row = findBuilt(update) ?? found.find((one) => one.id === id);
        const outcome = row && port.decideAfterUpdate(row, update, now);
        if (!row || !outcome) return [];
        const isFinal = update.transaction.phase === "Final";
        return [{ row, ...outcome, ...(isFinal && { task: null }), update }];
      });
      return buildOutcomeStatements(port, changed, now, upsertTasks);
    },

    async onFailure(tasks, error, now) {
      const changed = tasks.map(({ id }) => {
        const row = rowOf(id);
        const special = port.decideAfterFailure?.(row, error, now);
        if (special) return { row, ...special };
        const outcome = decideAttemptOutcome(row.task?.attempts ?? 0, error, now);
        if ("task" in outcome) return { row, task: outcome.task };
        const { givenUp } = outcome;
        return { row, ...port.giveUp(row, givenUp, now, true), givenUp };
      });
      await commitOutcomes(db, port, changed, now);
    },

    onUpdateFailure(tasks, message, now) {
      const ids = tasks.map(({ id }) => id);
      return updateTaskReasons(db, port.name, ids, message, now);
    },
  };
}

/** Subjects whose tasks are given up in one batch. */
const MAX_ENDED_SUBJECTS = 100;
const SOURCE_REMOVED_REASON = "the wallet's payment source was removed";
const MAY_CONFIRM_SUFFIX = "; an earlier transaction may still land";

/**
 * Gives up the tasks of a wallet for a payment source that was removed: there is no provider left to ask.
 *
 * @param db - with `writes: "idempotent"`
 * @throws StaleWalletError
 */
export async function endWithoutSource<Row extends Subject, Change>(
  db: Database,
  port: SubjectPort<Row, Change>,
  wallet: SourceWallet,
  now: number,
): Promise<void> {
  const open = await readOpenSubjects(db, port, wallet, MAX_ENDED_SUBJECTS);
  const changed = open.map((row) => {
    const givenUp = port.hasSent(row)
      ? SOURCE_REMOVED_REASON + MAY_CONFIRM_SUFFIX
      : SOURCE_REMOVED_REASON;
    return { row, ...port.giveUp(row, givenUp, now, false), givenUp };
  });
  await commitOutcomes(db, port, changed, now);
}

/** Splits open tasks into those that are due and the time of the next one. */
export function splitDueTasks(open: readonly { task: WalletTask }[], now: number): DueTasks {
  const tasks = open.map(({ task }) => task);
  const isDue = ({ dueAt }: WalletTask) => dueAt !== null && dueAt <= now;
  const later = tasks.filter((task) => !isDue(task));
  return {
    tasks: tasks.filter(isDue).map(({ id }) => ({ id })),
    nextDueAt: findEarliestTime(later.map(({ dueAt }) => dueAt)),
  };
}

async function readOpenSubjects<Row extends Subject, Change>(
  db: Database,
  port: SubjectPort<Row, Change>,
  wallet: SourceWallet,
  limit: number,
): Promise<(Row & { task: WalletTask })[]> {
  const tasks = await listOpenTasks(db, port.name, wallet, limit);
  if (tasks.length === 0) return [];
  const found = await port.read(tasks.map(({ subjectId }) => subjectId));
  return tasks.flatMap((task) => {
    const row = found.find(({ id }) => id === task.subjectId);
    return row ? [{ ...row, task }] : [];
  });
}

type PlannedChange<Row, Change> = SubjectOutcome<Change> & {
  row: Row;
  update?: TaskUpdate;
  givenUp?: string;
};

/** Builds the statements for outcomes: subjects first, then their tasks. */
function buildOutcomeStatements<Row extends Subject, Change>(
  port: SubjectPort<Row, Change>,
  planned: readonly PlannedChange<Row, Change>[],
  now: number,
  writeTasks: (tasks: readonly WalletTask[]) => Statement[],
): Statement[] {
  const changed = planned.flatMap(
    ({ row, change, task = row.task, update = null, givenUp = null }) =>
      change === undefined ? [] : [{ row, change, task, update, givenUp }],
  );
  const ended = planned.filter(({ task }) => task === null).map(({ row }) => row.id);
  // A late transaction opens the task again after its end.
  const tasks = planned.flatMap(({ row, task, update }) => {
    if (!task) return [];
    const id = update?.task.id ?? row.task?.id ?? row.id;
    const requestedAt = row.task?.requestedAt ?? now;
    return [{ ...createTask(port.name, row, id, now), requestedAt, ...task, updatedAt: now }];
  });
  return [
    ...(changed.length > 0 ? port.update(changed, now) : []),
    ...writeTasks(tasks),
    ...deleteTasks(port.name, ended),
  ];
}

/** @throws RecordChangedError if a subject was changed since it was read */
async function commitOutcomes<Row extends Subject, Change>(
  db: Database,
  port: SubjectPort<Row, Change>,
  planned: readonly PlannedChange<Row, Change>[],
  now: number,
): Promise<void> {
  const statements = buildOutcomeStatements(port, planned, now, updateTaskStates);
  if (statements.length === 0) return;
  try {
    await db.batch(statements);
  } catch (error) {
    if (!violates(error, port.revision)) throw error;
    throw new RecordChangedError(`a ${port.name} was changed meanwhile`);
  }
}
