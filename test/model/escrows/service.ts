import { computeChainTime } from "../../../src/chain/chain-time.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { statement, violates } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import {
  type EscrowRecord,
  hashIdentifier,
  type Side,
} from "../../../src/escrow/model/escrow-record.ts";
import {
  IDLE_PROGRESS,
  type Intent,
  type Progress,
  type Step,
} from "../../../src/escrow/model/intent.ts";
import {
  findReturnableCharges,
  markChargesReturned,
} from "../../../src/escrow/purchases/charges.ts";
import { clearError, retryStep } from "../../../src/escrow/steps/recover-record.ts";
import {
  API_STEPS,
  type ApiStepName,
  validateStep,
  validateTiming,
} from "../../../src/escrow/steps/validate-step.ts";
import { buildRecord } from "../../../src/escrow/store/build-record.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import {
  ESCROW_COLUMNS,
  type EscrowRow,
  toEscrowRecord,
} from "../../../src/escrow/store/escrow-row.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { readCursor } from "../../../src/escrow/sync/cursor.ts";
import { syncSource } from "../../../src/escrow/sync/sync-source.ts";
import { insertCursor } from "../../../src/sources/cursor.ts";
import type { WalletRow } from "../../../src/wallets/managed/tables.ts";
import { ModelDatabase } from "../database.ts";
import { ModelLedger } from "../ledger.ts";
import type { Faults } from "../process-faults.ts";
import type { Output } from "../rules.ts";
import { refusedInputs } from "./contract.ts";
import { databaseOf, type Reach, runProcess } from "./process.ts";
import { ProviderFaults } from "./provider-faults.ts";
import { QUOTES, type Quote } from "./quotes.ts";
import {
  REQUESTED_INTENT_SCHEMA,
  REQUESTED_INTENT_TABLES,
  recordRequestedIntent,
} from "./requested-intents.ts";
import { newMemory, runParty } from "./run.ts";
import { BEGINS, PARTIES, type Party, SOURCES } from "./terms.ts";
import {
  addParty,
  insertParties,
  insertSource,
  removeParty,
  tendWallets,
  WALLET_TABLES,
  walletsIn,
} from "./wallets.ts";

const TABLES = [
  ...[
    "escrow",
    "escrow_identity",
    "escrow_transaction",
    "escrow_open",
    "escrow_undo",
    "escrow_action",
    "escrow_request",
  ],
  ...["event", "clock"],
  "dispute_proposal",
  "wallet_task",
  ...["source_cursor", "checkpoint", "chain_tip", "hot_wallet"],
  ...["wallet_transaction", "wallet_transaction_content"],
  ...[...REQUESTED_INTENT_TABLES, ...WALLET_TABLES],
];
const database = new ModelDatabase(REQUESTED_INTENT_SCHEMA, TABLES);
insertSource(database);
const PASS_MS = 20_000;

/** One service with the wallets of both parties, its database and its chain; one at a time. */
export class Service {
  readonly type: PaymentSourceType;
  readonly ledger: ModelLedger;
  readonly database = database;
  readonly providerFaults = new ProviderFaults();
  readonly #memory = newMemory();
  readonly db = databaseOf(database, async (run) => run());

  /**
   * @param funds - outputs of each party's wallet, in coins of a million minor units
   * @param more - further outputs of the chain
   */
  constructor(
    type: PaymentSourceType,
    funds: Record<Party, readonly number[]>,
    more: readonly (readonly [string, Output])[] = [],
  ) {
    this.type = type;
    database.empty();
    const outputs = Object.entries(PARTIES).flatMap(([party, { address }], n) =>
      funds[party as Party].map((coins, i) => {
        const name = `${(1000 * (n + 1) + i).toString(16).padStart(64, "0")}#0`;
        return [name, { address, value: new Map([["", BigInt(coins) * 1_000_000n]]) }] as const;
      }),
    );
    this.ledger = new ModelLedger(BEGINS, new Map([...outputs, ...more]));
    this.ledger.refuses = (tx, unspent) => refusedInputs(this.source, tx, unspent);
    insertParties(database);
    for (const { sql, params } of insertCursor(this.source, null)) database.run(sql, ...params);
    database.save();
  }

  get source() {
    return SOURCES[this.type];
  }

  /** The wallets that the payment source has. */
  get wallets(): WalletRow[] {
    return walletsIn(database);
  }

  /** Whose wallet is in use; undefined: it was removed. */
  walletOf(party: Party): WalletRow | undefined {
    return this.wallets.find(({ vkey }) => vkey === PARTIES[party].vkey);
  }

  /** A party's wallet is removed from the payment source by force, or is added again. */
  toggle(party: Party, faults: Faults = {}): Promise<void> {
    const { now } = this.ledger;
    const wallet = this.walletOf(party);
    return this.process(faults, (reach) =>
      wallet ? removeParty(reach, wallet, now) : addParty(reach, party, now),
    );
  }

  /** The cron's part in that. */
  tendWallets(): Promise<void> {
    return this.process({}, (reach) => tendWallets(database, reach, this.ledger.now));
  }

  /** A record of a quote, as it is stored; undefined: there is none. */
  record(side: Side, { blockchainIdentifier }: Quote): EscrowRecord | undefined {
    const [row] = database.all<EscrowRow>(
      `SELECT ${ESCROW_COLUMNS} FROM escrow WHERE side = ? AND identifier_hash = ?`,
      side,
      hashIdentifier(blockchainIdentifier),
    );
    return row && toEscrowRecord(row);
  }

  /** The record that a request makes. */
  requested(side: Side, quote: Quote): EscrowRecord {
    const now = this.ledger.now;
    const isQuote = side === "payment";
    const seller = this.walletOf("seller");
    const intent: Intent = {
      ...{ id: newId(now), step: "FundsLocking", resultHash: null, by: "key", since: now },
    };
    return buildRecord(
      this.source,
      {
        side,
        blockchainIdentifier: quote.blockchainIdentifier,
        requestedById: "key",
        terms: isQuote ? { ...quote.terms, buyerReturnAddress: null } : quote.terms,
        progress: isQuote ? IDLE_PROGRESS : { ...IDLE_PROGRESS, intent },
        wallet: isQuote && seller ? { ...nameOf(seller) } : null,
      },
      now,
    );
  }

  /** A quote is asked for, or accepted: once, as long as there is time to lock, and of a wallet in use. */
  async request(side: Side, n: number): Promise<void> {
    const quote = QUOTES[this.type][n];
    const { now } = this.ledger;
    if (!quote || now > quote.payBy - 5 * 60_000 || this.record(side, quote)) return;
    if (!this.walletOf(side === "payment" ? "seller" : "buyer")) return;
    const record = this.requested(side, quote);
    const changes = new ChangeSet([], now, 0);
    changes.setProgress(record, record.progress);
    await this.db.batch([
      ...writeChanges(changes, { sourceId: this.source.id, network: "Preprod" }),
      ...(side === "purchase"
        ? [statement("UPDATE escrow SET charge = 'held' WHERE id = ?", record.id)]
        : []),
      recordRequestedIntent(record.id, record.progress),
    ]);
  }

  /** Asks for a step of an escrow, as the API's requests do. */
  async ask(name: ApiStepName, n: number, result = "5e".repeat(32)): Promise<void> {
    const { side } = API_STEPS[name];
    const record = this.#recordOf(side, n);
    if (!record) return;
    const resultHash = name === "submit-result" ? result : null;
    const verdict = validateStep(record, { name, resultHash }, this.#newest(record));
    if (verdict.is !== "open" || !this.#isTimely(record, name, verdict.step)) return;
    const since = this.ledger.now;
    const intent: Intent = { id: newId(since), step: verdict.step, resultHash, by: "key", since };
    await this.#setProgress(record, {
      ...record.progress,
      intent,
      pendingTransaction: null,
      error: null,
    });
  }

  /** A person clears a record's error, or has what failed tried again. */
  async recover(side: Side, n: number, isRetried: boolean): Promise<void> {
    const record = this.#recordOf(side, n);
    if (!record) return;
    const recovery = isRetried ? retryStep(record, this.ledger.now) : clearError(record);
    if (recovery.is !== "change") return;
    const { step, progress } = recovery;
    if (
      step !== null &&
      progress.pendingTransaction === null &&
      !this.#isTimely(record, step, step)
    )
      return;
    await this.#setProgress(record, progress);
  }

  /** A purchase is given up before its lock. */
  async cancel(n: number): Promise<void> {
    const record = this.#recordOf("purchase", n);
    if (!record || record.state.onChainState !== null || record.progress.expiredAt !== null) return;
    const { intent, pendingTransaction } = record.progress;
    const expiredAt = this.ledger.now;
    await this.#setProgress(record, {
      intent: pendingTransaction && intent,
      pendingTransaction,
      error: null,
      expiredAt,
    });
  }

  /** Charges of purchases that ended without a lock are given back. */
  async returnCharges(): Promise<void> {
    const due = await findReturnableCharges(this.db, "Preprod", 100);
    if (due.length > 0) await this.db.batch([markChargesReturned(due.map(({ id }) => id))]);
  }

  /** Follows the chain. */
  sync(faults: Faults = {}): Promise<void> {
    return this.process(faults, async ({ db, provider }) => {
      const cursor = await readCursor(db, this.source.id);
      if (cursor === null) return;
      const { now } = this.ledger;
      const context = {
        ...{ db, provider, threshold: 1, warnBeforeMs: 30 * 60_000, now: () => now },
        source: { ...this.source, wallets: this.wallets },
        archives: [],
        onCommit: async () => {},
      };
      for (let goesOn = true; goesOn; ) goesOn = await syncSource(context, cursor, now + PASS_MS);
    });
  }

  /** A party's wallet works. */
  run(party: Party, faults: Faults = {}): Promise<void> {
    const { ledger, source, wallets } = this;
    const hasProposals = database.all("SELECT 1 FROM dispute_proposal LIMIT 1").length > 0;
    const place = { party, source, wallets, hasProposals, now: () => ledger.now };
    return this.process(faults, (reach) => runParty(reach, place, this.#memory));
  }

  /** A process that reaches the service's database and a provider. */
  process(faults: Faults, work: (reach: Reach) => Promise<void>): Promise<void> {
    return runProcess(this, faults, work);
  }

  #recordOf(side: Side, n: number): EscrowRecord | undefined {
    const quote = QUOTES[this.type][n];
    return quote && this.record(side, quote);
  }

  #newest({ id, state }: EscrowRecord): Step | null {
    const [row] = database.all<{ step: Step | null }>(
      "SELECT intent->>'step' AS step FROM escrow_transaction WHERE record_id = ? AND tx_hash = ?",
      id,
      state.transaction?.txHash ?? "",
    );
    return row?.step ?? null;
  }

  #isTimely(record: EscrowRecord, name: string, step: Step): boolean {
    const { now, tip } = this.ledger;
    return validateTiming(record, name, step, computeChainTime("wall", tip.time, now)) === null;
  }

  async #setProgress(record: EscrowRecord, progress: Progress): Promise<void> {
    const changes = new ChangeSet([record], this.ledger.now, 0);
    changes.setProgress(record, progress);
    const { id: sourceId, network } = this.source;
    try {
      await this.db.batch([
        recordRequestedIntent(record.id, progress),
        ...writeChanges(changes, { sourceId, network }),
      ]);
    } catch (error) {
      if (!violates(error, "escrow.revision")) throw error;
    }
  }
}

const nameOf = ({ id, vkey, address }: WalletRow) => ({ id, vkey, address });
