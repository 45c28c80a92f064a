import { ProviderError } from "../../src/chain/provider/provider.ts";
import type { ScriptSource } from "../../src/chain/transaction/transaction-plan.ts";
import { deriveWalletKeys } from "../../src/chain/wallet-keys.ts";
import type { WalletTransaction } from "../../src/wallets/model/wallet-transaction.ts";
import { StaleWalletError } from "../../src/wallets/queue/errors.ts";
import { OutputView } from "../../src/wallets/spending/context/output-view.ts";
import { runWallet } from "../../src/wallets/spending/run-wallet.ts";
import { readOpenTransactions } from "../../src/wallets/spending/store/transactions.ts";
import { readWallet, type WalletState } from "../../src/wallets/spending/store/wallet.ts";
import { ModelDatabase } from "./database.ts";
import { newJournal } from "./journal.ts";
import { ModelLedger } from "./ledger.ts";
import { PAYMENTS, paymentWork } from "./payments.ts";
import { type Faults, ProcessCrashed, stepsOf } from "./process-faults.ts";
import { seenBy } from "./seen.ts";
import { STEP_ADDRESS, STEP_COIN, STEPS, stepWork } from "./steps.ts";
import { type OddTask, throwing } from "./throwing.ts";

const BEGINS = Date.UTC(2026, 0, 1);
/** Outputs of scripts, more than anybody asks for. */
const STEP_OUTPUTS = "5e".repeat(32);
const MAX_STEPS = 150;

const keys = await deriveWalletKeys(`${"test ".repeat(23)}sauce`, "Preprod");
const database = new ModelDatabase(`${PAYMENTS}; ${STEPS}`, [
  "payment",
  "step",
  "wallet_transaction",
  "wallet_transaction_content",
  "hot_wallet",
]);

interface RunOptions extends Faults {
  /** Number of the step at which somebody changes all steps that were never under way. */
  changes?: number;
  /** Whether they ask for something else then. */
  asksOther?: boolean;
}

/** What is special about a step. */
export interface StepOptions {
  /** Epoch milliseconds. */
  deadline?: number | null;
  isMeasured?: boolean;
  isReplaceable?: boolean;
  isAlone?: boolean;
  /** Its script refuses it. */
  isRefused?: boolean;
}

/** One wallet, its database and its chain. There is one such model at a time. */
export class WalletModel {
  readonly ledger: ModelLedger;
  readonly database = database;
  readonly address = keys.address;
  readonly #journal = newJournal();
  readonly #view = new OutputView();
  /** Scripts that outputs on the chain carry, by hash. */
  published: ReadonlyMap<string, ScriptSource> = new Map();
  /** Whether the provider has calls left for tasks without a deadline. */
  hasCalls = true;
  /** How long each awaited step of a run takes. */
  stepMs = 0;
  /** Payments asked for so far. */
  readonly asked: string[] = [];
  /** Tasks of which the feature's own code throws, by their ids, which begin with an x. */
  readonly odd = new Map<string, OddTask>();
  #steps = 0;
  #ids = 0;

  /** @param outputs - of the wallet, in coins of a million minor units */
  constructor(outputs: readonly number[]) {
    database.empty();
    const funds = outputs.map((coins, i) => {
      const value = new Map([["", BigInt(coins) * 1_000_000n]]);
      return [
        `${(i + 1).toString(16).padStart(64, "0")}#0`,
        { address: keys.address, value },
      ] as const;
    });
    const scripts = Array.from({ length: MAX_STEPS }, (_, i) => {
      const value = new Map([["", STEP_COIN]]);
      return [`${STEP_OUTPUTS}#${i}`, { address: STEP_ADDRESS, value }] as const;
    });
    this.ledger = new ModelLedger(BEGINS, new Map([...funds, ...scripts]));
  }

  /** Steps asked for so far. */
  get steps(): number {
    return this.#steps;
  }

  pass(ms: number): void {
    this.ledger.now += ms;
  }

  /** @param isAutomatic - whether a rule asks for it, rather than somebody */
  askPayment(isAutomatic = false): string {
    const id = `p${this.asked.length + 1}`;
    this.asked.push(id);
    database.run(
      "INSERT INTO payment (id, state, revision, due_at, is_automatic) VALUES (?, 'Asked', 0, ?, ?)",
      id,
      this.ledger.now,
      Number(isAutomatic),
    );
    return id;
  }

  askStep(options: StepOptions = {}): string {
    const { deadline = null, isMeasured, isReplaceable, isAlone, isRefused } = options;
    const i = this.#steps++;
    if (isRefused) this.ledger.locked.add(this.outputOf(i));
    database.run(
      `INSERT INTO step (id, state, output, revision, due_at, deadline, is_measured, can_be_overtaken,
         is_alone) VALUES (?, 'Asked', ?, 0, ?, ?, ?, ?, ?)`,
      `s${i}`,
      this.outputOf(i),
      this.ledger.now,
      deadline,
      Number(isMeasured ?? false),
      Number(isReplaceable ?? false),
      Number(isAlone ?? false),
    );
    return `s${i}`;
  }

  /** Asks for a task of which the feature's own code throws. */
  askOdd(odd: OddTask): void {
    const id = `x${this.odd.size}`;
    this.odd.set(id, { ...odd });
    const { now } = this.ledger;
    if (odd.work === "payment")
      database.run(
        "INSERT INTO payment (id, state, revision, due_at, is_automatic) VALUES (?, 'Asked', 0, ?, 0)",
        id,
        now,
      );
    else
      database.run(
        `INSERT INTO step (id, state, output, revision, due_at, is_measured, can_be_overtaken)
         VALUES (?, 'Asked', ?, 0, ?, 1, 1)`,
        id,
        this.outputOf(MAX_STEPS - this.odd.size),
        now,
      );
  }

  #change(asksOther: boolean): void {
    database.run(
      "UPDATE step SET revision = revision + 1, version = version + ? WHERE state = 'Asked' AND hash IS NULL",
      Number(asksOther),
    );
  }

  /** What a step spends, by the number of the step. */
  outputOf(step: number): string {
    return `${STEP_OUTPUTS}#${step}`;
  }

  /** The feature's own look at the chain. */
  fold(): void {
    database.run(
      "UPDATE step SET is_overtaken = output IN (SELECT value FROM json_each(?))",
      JSON.stringify(this.ledger.taken()),
    );
  }

  /** The wallet as it is stored. */
  wallet(): Promise<WalletState> {
    const now = async <T>(run: () => T) => run();
    return readWallet(database.seenBy(now, false), "Preprod", keys.vkey);
  }

  /** All transactions of the wallet that are not final. */
  transactions(): Promise<WalletTransaction[]> {
    const now = async <T>(run: () => T) => run();
    return readOpenTransactions(database.seenBy(now, false), "Preprod", keys.vkey);
  }

  /** The scripts of one of the wallet's transactions fail for whoever makes a block. */
  async failScript(n: number): Promise<void> {
    const open = (await this.transactions()).filter(({ collateral }) => collateral !== null);
    const one = open[n % Math.max(open.length, 1)];
    if (!one?.collateral) return;
    const { inputs, returned } = one.collateral;
    const others = open.filter(({ collateral }) =>
      collateral?.inputs.some((input) => inputs.includes(input)),
    );
    this.ledger.failScript(
      one.hash,
      inputs,
      returned,
      others.map(({ hash }) => hash),
    );
  }

  /** A process, which may die at one of its steps, before or after the step takes effect. */
  async run({ changes = 0, asksOther = false, ...faults }: RunOptions = {}): Promise<void> {
    const step = stepsOf(faults, (n) => {
      this.pass(this.stepMs);
      if (n === changes) this.#change(asksOther);
    });
    const db = database.seenBy(step, faults.repeats ?? false);
    try {
      await runWallet({
        network: "Preprod",
        vkey: keys.vkey,
        sourceId: "source",
        db,
        provider: seenBy(this.ledger, step, this.hasCalls),
        deadlineProvider: seenBy(this.ledger, step),
        journal: {
          enter: (...order) => step(() => this.#journal.enter(keys.vkey, ...order)),
          append: (...order) => step(() => this.#journal.append(keys.vkey, ...order)),
          resume: (...stored) => step(() => this.#journal.resume(...stored)),
          markRestored: (...told) => step(() => this.#journal.markRestored(keys.vkey, ...told)),
        },
        areSourcesSynced: async () => true,
        onConfirmed: async () => {},
        onMissingScripts: async () => {},
        view: this.#view,
        features: [stepWork(db), paymentWork(db)].map((work) => throwing(work, this.odd)),
        openKeys: async () => keys,
        listPublishedScripts: async () => this.published,
        confirmationThreshold: 1,
        clock: "wall",
        now: () => this.ledger.now,
        newId: () => `op${++this.#ids}`,
        requestId: "model",
      });
    } catch (error) {
      const mayBe = [ProcessCrashed, StaleWalletError, ProviderError].some(
        (kind) => error instanceof kind,
      );
      if (!mayBe) throw error;
    }
  }
}
