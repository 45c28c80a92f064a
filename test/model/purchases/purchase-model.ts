import { drizzle } from "drizzle-orm/d1";
import { vi } from "vitest";
import { isOutOfCredits, requireCredits } from "../../../src/api-keys/credits.ts";
import { isSpendingLimitExceeded, requireSpending } from "../../../src/api-keys/spending-limits.ts";
import { ProviderError } from "../../../src/chain/provider/provider.ts";
import { type Database, violates } from "../../../src/db/client.ts";
import { sumFunds } from "../../../src/escrow/model/escrow-record.ts";
import { cancelPurchase } from "../../../src/escrow/purchases/cancel-purchase.ts";
import { returnCharges } from "../../../src/escrow/purchases/charges.ts";
import {
  createPurchase,
  refuseExistingPurchase,
} from "../../../src/escrow/purchases/request-purchase.ts";
import { createEscrowFeatures } from "../../../src/escrow/tasks/escrow-features.ts";
import { ApiError } from "../../../src/http/errors.ts";
import { StaleWalletError } from "../../../src/wallets/queue/errors.ts";
import type { WalletFeature } from "../../../src/wallets/queue/feature.ts";
import { OutputView } from "../../../src/wallets/spending/context/output-view.ts";
import type { Journal } from "../../../src/wallets/spending/model/journal.ts";
import { runWallet } from "../../../src/wallets/spending/run-wallet.ts";
import { d1Of } from "../d1.ts";
import { ModelDatabase } from "../database.ts";
import { newJournal } from "../journal.ts";
import { ModelLedger } from "../ledger.ts";
import { type Faults, ProcessCrashed, type Step, stepsOf } from "../process-faults.ts";
import { seenBy } from "../seen.ts";
import { FOLLOWED, follow } from "./follower.ts";
import { callerOf, insertKeys, requestOf } from "./keys.ts";
import { ALL_QUOTES, BEGINS, PAYERS, type Quote, SOURCE } from "./quotes.ts";

const ESCROW_SOURCE = { ...SOURCE, wallets: PAYERS.map(({ row }) => row) };
const WALLETS = PAYERS.map(({ row }) => row);

const database = new ModelDatabase(FOLLOWED, [
  ...["api_key", "key_spending", "audit", "event", "clock", "chain_tip", "followed"],
  ...[
    "escrow",
    "escrow_identity",
    "escrow_request",
    "escrow_transaction",
    "escrow_undo",
    "escrow_action",
    "escrow_open",
  ],
  ...["wallet_transaction", "wallet_transaction_content", "hot_wallet", "wallet_task"],
  ...["transfer", "registration", "reference_script", "dispute_proposal"],
]);

/** Keys that buy, three wallets that pay, their database and the chain. There is one model at a time. */
export class PurchaseModel {
  readonly ledger: ModelLedger;
  readonly database = database;
  /** The network's: it is outside the database, and is not set back with it. */
  readonly #journal = newJournal();
  readonly #views = PAYERS.map(() => new OutputView());
  readonly #others = PAYERS.map(() => new Map<string, OutputView>());
  /** When sync was at the tip last, since the database was set back. */
  #followedAt = Number.NEGATIVE_INFINITY;
  /** Whether it was set back since wallets went on the last time, or ever. */
  #isSetBack = false;
  /** How often wallets were halted though it was not. */
  needlessHalts = 0;
  /** What the provider has calls left for: beside these it follows and sends what is under way. */
  callsFor: "all" | "deadlines" | "nothing" = "all";
  /** What a wallet does, by what it does for escrows. */
  featuresOf: (escrows: readonly WalletFeature[], db: Database) => readonly WalletFeature[] = (
    escrows,
  ) => escrows;
  #ids = 0;

  /** @param outputs - of each wallet, in coins of a million minor units */
  constructor(outputs: readonly (readonly number[])[]) {
    database.empty();
    insertKeys(database);
    database.save();
    const funds = PAYERS.flatMap(({ row }, i) =>
      (outputs[i] ?? []).map((coins, j) => {
        const value = new Map([["", BigInt(coins) * 1_000_000n]]);
        const name = `${(i * 100 + j + 1).toString(16).padStart(64, "0")}#0`;
        return [name, { address: row.address, value }] as const;
      }),
    );
    this.ledger = new ModelLedger(BEGINS, new Map(funds));
    vi.setSystemTime(BEGINS);
  }

  pass(ms: number): void {
    this.ledger.now += ms;
    vi.setSystemTime(this.ledger.now);
  }

  /**
   * A key accepts a quote, as `POST /purchase` does after the checks of what the seller has signed.
   *
   * @returns what it was refused for; null: it was not
   */
  async buy(key: number, quote: number, repeats = false): Promise<string | null> {
    const c = requestOf(key, database);
    const db = this.#seen(turn, repeats);
    const caller = callerOf(key);
    const one = ALL_QUOTES[quote % ALL_QUOTES.length] as Quote;
    if (this.ledger.now > one.times.payByTime) return "too late";
    const ids = caller.scope?.walletIds ?? null;
    const driven = WALLETS.filter(({ id }) => ids === null || ids.includes(id));
    try {
      await refuseExistingPurchase(c, db, one.body);
      await requireCredits(db, caller, "purchase");
      await requireSpending(db, caller, "Preprod", sumFunds(one.price.funds));
      await createPurchase(
        c,
        db,
        { ...one, automatedWallets: driven },
        this.ledger.now,
        async () => [],
      );
      return null;
    } catch (error) {
      if (isOutOfCredits(error) || isSpendingLimitExceeded(error)) return "limit";
      if (error instanceof ApiError && error.status === 409) return "taken";
      throw error;
    }
  }

  /** Whoever bought it gives it up. */
  async cancel(quote: number): Promise<void> {
    const { blockchainIdentifier } = (ALL_QUOTES[quote % ALL_QUOTES.length] as Quote).body;
    const [row] = database.all<{ by: string }>(
      `SELECT requested_by_id AS "by" FROM escrow
       WHERE blockchain_identifier = unhex(?) AND is_requested IS NOT NULL`,
      blockchainIdentifier,
    );
    if (!row) return;
    const c = requestOf(Number(row.by.replace("key-", "")), database);
    try {
      await cancelPurchase(c, { network: "Preprod", blockchainIdentifier }, this.ledger.now);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) throw error;
    }
  }

  /** Sync, and then the cron's part. */
  async follow(): Promise<void> {
    const db = this.#seen(turn, false);
    try {
      await follow(db, ESCROW_SOURCE, this.ledger);
    } catch (error) {
      // A wallet was first: the next pass reads the record again.
      if (!violates(error, "escrow.revision")) throw error;
      return;
    }
    this.#followedAt = this.ledger.now;
    await returnCharges(db, "Preprod");
  }

  /** Sets the database back, and nothing else. */
  restore(): void {
    database.restore();
    this.#isSetBack = true;
    this.#followedAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * Runs the process of one wallet, which may die at one of its steps.
   *
   * @param late - the number of a delayed journal call, and what happens before it
   */
  async run(
    n: number,
    faults: Faults = {},
    late?: { at: number; others(): Promise<void> },
  ): Promise<void> {
    const { row, keys } = PAYERS[n % PAYERS.length] as (typeof PAYERS)[number];
    const step = stepsOf(faults);
    let calls = 0;
    const toJournal: Step = async (call) => {
      if (++calls === late?.at) await late.others();
      return step(call);
    };
    const db = this.#seen(step, faults.repeats ?? false);
    const whole = seenBy(this.ledger, step);
    // As `openWalletProviders` has them: what is asked to follow transactions is of another class.
    const { latestBlock, block, transaction, submit } = whole;
    const less = { ...seenBy(this.ledger, noCalls), latestBlock, block, transaction, submit };
    const provider = this.callsFor === "all" ? whole : less;
    const deadlineProvider = this.callsFor === "nothing" ? less : whole;
    const { vkey } = row;
    try {
      await runWallet({
        ...{ network: "Preprod", vkey, sourceId: SOURCE.id, db, provider },
        deadlineProvider,
        journal: {
          enter: (...order) => toJournal(() => this.#noteHalt(this.#journal.enter(vkey, ...order))),
          append: (...order) => toJournal(() => this.#journal.append(vkey, ...order)),
          resume: (...stored) =>
            step(() => {
              this.#isSetBack = false;
              this.#journal.resume(...stored);
            }),
          markRestored: (...told) => step(() => this.#journal.markRestored(vkey, ...told)),
        },
        areSourcesSynced: async (since) => this.#followedAt >= since,
        onConfirmed: async () => {},
        onMissingScripts: async () => {},
        view: this.#views[n % PAYERS.length] as OutputView,
        features: this.featuresOf(
          createEscrowFeatures({
            ...{ database: db, source: SOURCE, wallets: WALLETS, vkey, deadlineProvider },
            views: this.#others[n % PAYERS.length] as Map<string, OutputView>,
            // Every wallet runs in turn.
            wake: async () => {},
            automaticSteps: { payments: false, refunds: false },
            chainTime: async (now) => now,
          }),
          db,
        ),
        openKeys: async () => keys,
        listPublishedScripts: async () => new Map(),
        confirmationThreshold: 1,
        clock: "wall",
        now: () => this.ledger.now,
        newId: () => `op${++this.#ids}`,
        requestId: "model",
      });
    } catch (error) {
      // Typed queries put what they failed for into an error of their own.
      const causes = error instanceof Error ? [error, error.cause] : [error];
      const mayBe = [ProcessCrashed, StaleWalletError, ProviderError].some((kind) =>
        causes.some((one) => one instanceof kind),
      );
      if (!mayBe && !violates(error, "escrow.revision")) throw error;
    }
  }

  #noteHalt(entry: ReturnType<Journal["enter"]>): typeof entry {
    if ("haltedUntil" in entry && entry.haltedUntil !== null && !this.#isSetBack)
      this.needlessHalts++;
    return entry;
  }

  /** The database, with nothing wrong. */
  get db(): Database {
    return this.#seen(turn, false);
  }

  #seen(step: Step, repeats: boolean): Database {
    const orm = drizzle(d1Of(database, step));
    return { ...database.seenBy(step, repeats), orm, bookmark: () => null };
  }
}

const noCalls: Step = async () => {
  throw new ProviderError("no calls left for now", { status: 429 });
};

/** Others have their turn in between. */
const turn: Step = async (run) => {
  await null;
  return run();
};
