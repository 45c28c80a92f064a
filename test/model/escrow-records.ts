/** The records of one escrow, in a separate database with the service's tables. */

import { expect } from "vitest";
import { type Database, type Statement, violates } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";
import {
  type EscrowRecord,
  mapTimes,
  type Side,
  toStoredFunds,
} from "../../src/escrow/model/escrow-record.ts";
import { type Intent, nextActionOf, type Step } from "../../src/escrow/model/intent.ts";
import type { TransactionRecord } from "../../src/escrow/model/transaction-record.ts";
import type { UndoData } from "../../src/escrow/model/undo-data.ts";
import { ChangeSet } from "../../src/escrow/store/change-set.ts";
import { TRANSACTION_SQL } from "../../src/escrow/store/escrow-row.ts";
import { loadRecords } from "../../src/escrow/store/load-records.ts";
import {
  DOC_OR_ROW_SQL,
  ESCROW_DOCUMENTS,
  readDocument,
  type StoredDocument,
} from "../../src/escrow/store/outdated-documents.ts";
import { withConfirmations } from "../../src/escrow/store/render-record.ts";
import { writeChanges } from "../../src/escrow/store/write-changes.ts";
import { applyTransaction, loadKnownRecords } from "../../src/escrow/sync/follower.ts";
import { deleteFinalUndoData, undoSteps } from "../../src/escrow/sync/undo-steps.ts";
import { applyTaskUpdates } from "../../src/escrow/tasks/apply-task-updates.ts";
import { LOCK_FEATURE, taskIdOf } from "../../src/escrow/tasks/task-id.ts";
import { writeCheckpoint } from "../../src/indexer/checkpoints.ts";
import type { TransactionPhase } from "../../src/wallets/model/phases.ts";
import { makeRecord } from "../support/sources/records.ts";
import type { ModelDatabase } from "./database.ts";
import { ESCROW, type EscrowChain, SOURCE } from "./escrow-chain.ts";

const PLACE = { sourceId: SOURCE.id, network: SOURCE.network };
const WALLET = { id: "wallet-a", vkey: "11".repeat(28), address: "addr_test1wallet" };
/** Tables that a story fills. */
export const TABLES = [
  "escrow",
  "escrow_identity",
  "escrow_transaction",
  "escrow_open",
  "escrow_undo",
  "escrow_action",
  "checkpoint",
  "event",
  "clock",
];

interface Row {
  txHash: string;
  status: string;
  id: string;
  createdAt: number;
  blockHeight: number | null;
  undoData: string | null;
  intent: Intent | null;
  /** Height of its block, also once the undo data is deleted; 0: it is in none. */
  minedAt: number;
}

export class EscrowRecords {
  readonly #model: ModelDatabase;
  readonly #db: Pick<Database, "all" | "batch">;
  readonly #applied: { height: number; hash: string }[] = [];
  /** No rollback reaches this block. */
  #finalHeight = 0;
  /** Ids of the intents that ended up to there. */
  readonly #endedIntents = new Set<string>();
  /** What was asked for last, by side. */
  readonly #asked = new Map<Side, Intent>();
  /** Ids and times of rows when they were first seen. */
  readonly #born = new Map<string, string>();
  #now = Date.now();

  constructor(model: ModelDatabase) {
    this.#model = model;
    this.#db = {
      all: async (sql, ...params) => model.all(sql, ...params),
      batch: (statements) => model.seenBy(async (run) => run(), false).batch(statements),
    };
    model.empty();
  }

  /** A quote and the purchase of it, as requests make them. */
  async begin(): Promise<void> {
    const { datum, funds, identifier, identifierHash } = ESCROW;
    const changes = this.#changes([]);
    for (const side of ["payment", "purchase"] as const) {
      const base = makeRecord(side, { sourceType: SOURCE.type, wallet: null });
      const { contractAddress } = SOURCE;
      const isQuote = side === "payment";
      const record: EscrowRecord = {
        ...base,
        contractAddress,
        blockchainIdentifier: identifier,
        identifierHash,
        terms: {
          ...base.terms,
          isRequested: true,
          collateralReturn: null,
          buyer: isQuote ? null : datum.buyer,
          buyerVkey: isQuote ? null : datum.buyerVkey,
          seller: datum.seller,
          sellerVkey: datum.sellerVkey,
          agentIdentifier: datum.agentIdentifier ?? "",
          inputHash: datum.inputHash,
          ...mapTimes(datum, String),
          sellerReturnAddress: datum.sellerReturnAddress,
          buyerReturnAddress: isQuote ? null : datum.buyerReturnAddress,
          funds: funds.map(toStoredFunds),
        },
      };
      changes.setProgress(record, record.progress);
    }
    await this.#db.batch(writeChanges(changes, PLACE));
  }

  async record(side: Side): Promise<EscrowRecord> {
    const { records } = await loadRecords(
      this.#db,
      [],
      "SELECT id FROM escrow WHERE side = ?2",
      side,
    );
    const [record] = records;
    if (record === undefined) throw new Error(`there is no ${side}`);
    return record;
  }

  /** Asks for a step, as a request does: not while another is under way. */
  async ask(side: Side, step: Step): Promise<void> {
    const record = await this.record(side);
    if (record.progress.pendingTransaction !== null) return;
    const intent = { id: newId(this.#now), step, resultHash: null, by: "key-a", since: this.#now };
    const changes = this.#changes([record]);
    changes.setProgress(record, { ...record.progress, intent, error: null });
    this.#asked.set(side, intent);
    await this.#write(writeChanges(changes, PLACE), true);
  }

  /** Whether the batch was written that stores a transaction for what is wanted. */
  async store(side: Side, intent: Intent, hash: string): Promise<boolean> {
    return this.#tell(await this.record(side), intent, hash, "Stored");
  }

  /** Applies the phase of the service's transaction to its record. */
  async tell(hash: string, phase: TransactionPhase): Promise<void> {
    for (const side of ["payment", "purchase"] as const) {
      const record = await this.record(side);
      const row = this.#rows(record).find((one) => one.txHash === hash);
      if (row?.intent) expect(await this.#tell(record, row.intent, hash, phase)).toBe(true);
    }
  }

  async #tell(
    record: EscrowRecord,
    intent: Intent,
    hash: string,
    phase: TransactionPhase,
  ): Promise<boolean> {
    const task = { feature: LOCK_FEATURE, id: taskIdOf(record, intent), detail: {} };
    const transaction = {
      ...{ hash, phase, sequence: 1, sourceId: SOURCE.id, tasks: [task], inputs: [], made: [] },
      ...{
        chainedInput: null,
        changeOutput: null,
        collateral: null,
        validFrom: 0,
        validTo: 1,
        fee: 0n,
      },
      ...{
        size: 0,
        memory: 0,
        isReplaceable: false,
        blockHeight: null,
        blockHash: null,
        blockTime: null,
        overHeight: null,
      },
      ...{ error: null, movedAt: this.#now },
    };
    const moves = [{ task, transaction }];
    const told = await applyTaskUpdates(this.#db, SOURCE.network, WALLET, moves, ++this.#now);
    try {
      await this.#write(told, true);
      return true;
    } catch (error) {
      if (violates(error, "escrow.revision")) return false;
      throw error;
    }
  }

  /** Undoes what the chain no longer has, and applies what it has by now. */
  async sync(chain: EscrowChain): Promise<void> {
    const standing = this.#applied.findIndex(({ hash }, i) => chain.blocks[i]?.hash !== hash);
    if (standing >= 0) {
      const above = (this.#applied[standing]?.height ?? 0) - 1;
      for (let isLast = false; !isLast; ) {
        const undone = await undoSteps(this.#db, SOURCE.id, above, chain.height, ++this.#now);
        isLast = undone.isLast;
        const statements = [...writeChanges(undone.changes, PLACE), ...undone.statements];
        await this.#write(statements, false);
      }
      this.#applied.length = standing;
    }
    for (const block of chain.blocks.slice(this.#applied.length)) {
      const read = chain.read(block);
      const { records, storedTransactions: stored } = await loadKnownRecords(
        { db: this.#db, source: SOURCE, archives: [] },
        [read],
        true,
      );
      const changes = new ChangeSet(records, ++this.#now, chain.height, { stored });
      await applyTransaction(changes, SOURCE, read, null);
      await this.#write(writeChanges(changes, PLACE), true);
      this.#applied.push(block);
    }
  }

  /** Deletes the undo data up to a block, as if the chain had grown beyond each rollback. */
  async deleteFinalUndoData(upTo: number): Promise<void> {
    const height = Math.max(upTo, this.#finalHeight);
    const checkpoint = { blockHeight: height, blockHash: "", txIndex: 0, hash: "" };
    const tip = { height: height + 2_161, hash: "", time: 0, slot: 0 };
    const statements = [
      ...writeCheckpoint(SOURCE.id, checkpoint, tip),
      ...deleteFinalUndoData(SOURCE.id, tip),
    ];
    const ended = this.#model.all<{ id: string | null }>(
      `SELECT intent->>'id' AS id FROM escrow_transaction JOIN escrow_undo USING (record_id, tx_hash)
         WHERE escrow_undo.block_height <= ?1
       UNION SELECT data->>'$.undo.endedIntent.id' FROM escrow_undo WHERE block_height <= ?1`,
      height,
    );
    for (const { id } of ended) if (id !== null) this.#endedIntents.add(id);
    await this.#db.batch(statements);
    this.#finalHeight = height;
  }

  #changes(records: EscrowRecord[]): ChangeSet {
    return new ChangeSet(records, ++this.#now, 0);
  }

  /** Writes a batch: each change that a record shows has its stamp and its event. */
  async #write(statements: Statement[], isOneChange: boolean): Promise<void> {
    const before = this.#shown();
    await this.#db.batch(statements);
    for (const [id, is] of this.#shown()) {
      const was = before.get(id);
      if (was === undefined) continue;
      const isChain = was.chain !== is.chain;
      const isAction = was.action !== is.action || was.error !== is.error;
      const moved = [is.chainAt > was.chainAt, is.actionAt > was.actionAt, is.at > was.at];
      const hasRecovered = was.failed && !is.failed;
      const told = isChain || was.action !== is.action || hasRecovered ? 1 : 0;
      if (isOneChange) {
        expect(moved).toEqual([isChain, isAction, isChain || isAction]);
        expect(is.statusEvents - was.statusEvents).toBe(told);
        expect(is.errorEvents - was.errorEvents).toBe(is.failed && !was.failed ? 1 : 0);
      } else {
        expect(is.statusEvents - was.statusEvents).toBeGreaterThanOrEqual(told);
        expect(isChain || isAction ? moved[2] : true).toBe(true);
      }
      expect(Math.max(is.chainAt, is.actionAt)).toBe(is.at);
      expect(is.sequence).toBe(is.statusEvents + is.errorEvents);
    }
  }

  #shown() {
    const rows = this.#model.all<StoredDocument & { id: string; [column: string]: unknown }>(
      `SELECT id, ${DOC_OR_ROW_SQL}, chain_changed_at AS chainAt, action_changed_at AS actionAt,
         changed_at AS at, sequence,
         (SELECT count(*) FROM event WHERE record_id = page.id AND kind LIKE '%STATUS_CHANGED')
           AS statusEvents,
         (SELECT count(*) FROM event WHERE record_id = page.id AND kind LIKE '%ERROR')
           AS errorEvents
       FROM escrow AS page`,
    );
    return new Map(
      rows.map(({ id, document, ...numbers }) => {
        const text = withConfirmations(readDocument({ document }), 0);
        const { onChainState, resultHash, NextAction } = JSON.parse(text);
        const { requestedAction, errorType, errorNote } = NextAction;
        const counts = numbers as unknown as Record<
          "chainAt" | "actionAt" | "at" | "sequence" | "statusEvents" | "errorEvents",
          number
        >;
        const failed = errorType !== null;
        return [
          id,
          {
            ...counts,
            ...{ chain: `${onChainState} ${resultHash}`, action: requestedAction },
            ...{ error: `${errorType} ${errorNote}`, failed },
          },
        ];
      }),
    );
  }

  #rows({ id }: EscrowRecord): Row[] {
    return this.#model
      .all<{
        status: string;
        blockHeight: number | null;
        undoData: string | null;
        fields: string;
        intent: string | null;
      }>(
        `SELECT made.status, escrow_undo.block_height AS blockHeight, data AS undoData, fields, intent
         FROM (SELECT record_id, tx_hash, status, intent, ${TRANSACTION_SQL} AS fields
               FROM escrow_transaction) AS made LEFT JOIN escrow_undo USING (record_id, tx_hash)
         WHERE record_id = ?`,
        id,
      )
      .map(({ fields, intent, ...row }) => {
        const { txHash, id, createdAt, status, ...block } = JSON.parse(fields) as TransactionRecord;
        expect(status).toBe(row.status);
        return {
          ...row,
          minedAt: block.blockHeight ?? 0,
          txHash,
          id,
          createdAt,
          intent: intent === null ? null : JSON.parse(intent),
        };
      });
  }

  /** What holds between any two batches. */
  async check(): Promise<void> {
    const { row: rowSql, render } = ESCROW_DOCUMENTS;
    const stored = this.#model.all<{ doc: string; row: string }>(
      `SELECT doc, ${rowSql} AS row FROM escrow_open`,
    );
    for (const { doc, row } of stored) expect(render(row)).toBe(doc);
    for (const side of ["payment", "purchase"] as const) {
      const record = await this.record(side);
      const { intent, pendingTransaction } = record.progress;
      const rows = this.#rows(record);
      const open = rows.filter(({ status }) => status === "Pending");
      expect(open.length).toBeLessThanOrEqual(1);
      if (pendingTransaction !== null) {
        const row = rows.find(({ txHash }) => txHash === pendingTransaction.transaction.txHash);
        expect(row?.intent?.id).toBe(intent?.id);
        expect(row?.status).toBe(pendingTransaction.transaction.status);
        expect(["Pending", "RolledBack"]).toContain(row?.status);
      }
      for (const { txHash } of open) expect(txHash).toBe(pendingTransaction?.transaction.txHash);
      for (const { txHash, id, createdAt, status, undoData, blockHeight, minedAt } of rows) {
        const name = `${record.id} ${txHash}`;
        const born = this.#born.get(name) ?? `${id} ${createdAt}`;
        this.#born.set(name, born);
        expect(`${id} ${createdAt}`).toBe(born);
        if (status === "Confirmed" && minedAt > this.#finalHeight)
          expect(undoData === null || blockHeight === null).toBe(false);
        if (status === "Pending") expect([undoData, blockHeight]).toEqual([null, null]);
      }
      this.#checkAsked(side, record, rows);
      expect(record.terms.collateralReturn).toBeNull();
      expect(record.output?.utxo ?? record.state.utxo).toBe(record.state.utxo);
    }
  }

  /** What was asked for last stands, was done, or was ended by what the chain has. */
  #checkAsked(side: Side, { progress }: EscrowRecord, rows: Row[]): void {
    const asked = this.#asked.get(side);
    if (asked === undefined || progress.intent?.id === asked.id) return;
    if (this.#endedIntents.has(asked.id)) return;
    // A rollback may bring two back. A record has room for one: that of the newest transaction, which may come again.
    if (progress.pendingTransaction?.transaction.status === "RolledBack") return;
    const ends = rows.some(
      ({ status, intent, undoData }) =>
        status === "Confirmed" &&
        undoData !== null &&
        (intent?.id === asked.id ||
          (JSON.parse(undoData) as UndoData).undo.endedIntent?.id === asked.id),
    );
    expect(ends, `${side} lost ${asked.step}`).toBe(true);
  }

  /** What was found, as a fold finds it that has never seen anything but the chain as it is. */
  async checkFound(chain: EscrowChain): Promise<void> {
    const fresh = new ChangeSet([], this.#now, chain.height);
    for (const block of chain.blocks)
      await applyTransaction(fresh, SOURCE, chain.read(block), null);
    for (const side of ["payment", "purchase"] as const) {
      const record = await this.record(side);
      const [found] = [...fresh.records.values()].filter((one) => one.record.side === side);
      const other = found?.record;
      expect(comparable(record.state)).toEqual(other ? comparable(other.state) : comparable(null));
      if (this.#asked.size > 0 || other === undefined) continue;
      expect(nextActionOf(record)).toEqual(nextActionOf(other));
    }
  }
}

function comparable(state: EscrowRecord["state"] | null): unknown {
  if (state === null || state.onChainState === null) return null;
  const { transaction, ...found } = state;
  return { ...found, transaction: transaction && { ...transaction, ...VARYING } };
}

const VARYING = { id: "", createdAt: 0, updatedAt: 0 };
