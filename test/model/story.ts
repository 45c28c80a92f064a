import type { SubmitFault } from "./ledger.ts";
import { payeeOf } from "./payments.ts";
import { MAX_TRIES, payeeOfStep } from "./steps.ts";
import { WalletModel } from "./wallet-model.ts";

/** What can happen while a wallet works, each with a number that says how. */
export const STORY_ACTIONS = [
  "ask",
  "ask",
  "step",
  "step",
  "run",
  "run",
  "run",
  "runTwo",
  "die",
  "repeat",
  "change",
  "mine",
  "mine",
  "wait",
  "expire",
  "rollback",
  "evict",
  "fault",
  "lag",
  "elsewhere",
  "save",
  "restore",
  "overtake",
  "failScript",
  "fold",
] as const;
export type StoryAction = readonly [kind: (typeof STORY_ACTIONS)[number], n: number];

const BLOCK_MS = 20_000;
/** Two validity windows, in blocks, and what it takes to be sure of the end of one. */
const ROUNDS = 80;
/** As many as a story has storyActions. */
const VERSIONS = Array.from({ length: 31 }, (_, i) => i);
/** In which a wallet whose database was set back waits, and looks at nothing. */
const HALTED_ROUNDS = 30;
const FAULTS: readonly SubmitFault[] = ["lostBefore", "lostAfter", "busy"];

interface StepEnd {
  id: string;
  state: string;
  output: string;
  version: number;
  is_overtaken: 0 | 1;
  failures: number;
  deadline: number | null;
}

/** A wallet's story from an empty beginning to a good end. */
export class Story {
  readonly #model: WalletModel;
  /** Rounds until the end at least. */
  #least = 1;

  /** @param outputs - see `WalletModel` */
  constructor(outputs: readonly number[]) {
    this.#model = new WalletModel(outputs);
  }

  get model(): WalletModel {
    return this.#model;
  }

  async do([kind, n]: StoryAction): Promise<void> {
    const model = this.#model;
    const { ledger } = model;
    switch (kind) {
      case "ask":
        for (let i = 0; i <= n % 3; i++) model.askPayment();
        break;
      case "step":
        for (let i = 0; i <= n % 4; i++) this.#askStep(n >> 2);
        break;
      case "run":
        await model.run();
        break;
      case "runTwo":
        await Promise.all([model.run(), model.run()]);
        break;
      case "die":
        await model.run({ dies: 1 + ((n >> 1) % 30), when: n % 2 === 0 ? "before" : "after" });
        break;
      case "repeat":
        await model.run({ repeats: true });
        break;
      case "change":
        await model.run({ changes: 1 + ((n >> 1) % 30), asksOther: n % 2 === 0 });
        break;
      case "mine":
        model.pass(BLOCK_MS);
        ledger.mine();
        break;
      case "wait":
        model.pass(10_000 * (n % 12));
        break;
      case "expire":
        model.pass(8 * 60_000);
        ledger.mine();
        break;
      case "rollback":
        ledger.rollback(1 + (n % 3), n % 2 === 0);
        break;
      case "evict":
        ledger.evict(n);
        break;
      case "fault":
        ledger.submitFaults.push(...FAULTS.slice(n % 3, (n % 3) + 1 + (n % 2)));
        break;
      case "lag":
        ledger.outputsBehind = n % 4;
        ledger.transactionsBehind = (n >> 2) % 3;
        break;
      case "elsewhere":
        if (n % 4 === 0) ledger.spendElsewhere(model.address, n >> 2);
        break;
      case "save":
        model.database.save();
        break;
      case "restore":
        model.database.restore();
        this.#least = HALTED_ROUNDS;
        break;
      case "overtake":
        ledger.overtake(model.outputOf(n % Math.max(model.steps, 1)));
        break;
      case "failScript":
        await model.failScript(n);
        break;
      case "fold":
        model.fold();
        ledger.namesFailures = n % 2 === 0;
    }
  }

  /** After the last fault everything comes to its end, each task once. @returns what did not */
  async end() {
    const model = this.#model;
    const { ledger, database } = model;
    ledger.submitFaults = [];
    ledger.outputsBehind = 0;
    ledger.transactionsBehind = 0;
    // Until the chain is longer than it ever was, a node may be late as well as on another fork.
    const isOver = () => this.#open().length === 0 && ledger.isLongest;
    for (let round = 0; round < this.#least || (round < ROUNDS && !isOver()); round++) {
      model.pass(this.#isQuiet() ? 6 * BLOCK_MS : BLOCK_MS);
      ledger.mine();
      model.fold();
      await model.run();
    }
    const ids = database
      .all<{ id: string }>("SELECT id FROM payment WHERE id NOT LIKE 'x%'")
      .map(({ id }) => id);
    return {
      notDone: this.#open(),
      paidWrongly: ids.filter((id) => ledger.paidTo(payeeOf(id)) !== 1),
      // Also of what a database that was set back does not know any more.
      paidTwice: model.asked.filter((id) => ledger.paidTo(payeeOf(id)) > 1),
      wrongSteps: this.#wrongSteps(),
      toldWrongly: await this.#toldWrongly(),
    };
  }

  /** What the wallet takes for spent elsewhere and is not, and what holds it up with nothing to do. */
  async #toldWrongly(): Promise<string[]> {
    const { spentElsewhere, blocker: held } = await this.#model.wallet();
    const names = spentElsewhere.map(({ output }) => output);
    const wrong = names.filter((name) => !this.#model.ledger.spentElsewhere.has(name));
    return held === null ? wrong : [...wrong, held];
  }

  /** Some steps are refused by their script, and some have a deadline. */
  #askStep(n: number): void {
    const { ledger } = this.#model;
    this.#model.askStep({
      deadline: n % 3 === 0 ? ledger.now + 60_000 * (n % 20) : null,
      isMeasured: n % 2 === 0,
      isReplaceable: (n >> 1) % 2 === 0,
      isRefused: n % 7 === 0,
    });
  }

  /** Whether tasks wait for their time, and nothing for a block. */
  #isQuiet(): boolean {
    const [row] = this.#model.database.all<{ waiting: number }>(
      `SELECT count(*) AS waiting FROM wallet_transaction
       WHERE phase IN ('Stored', 'Sent', 'RolledBack', 'InBlock')`,
    );
    return row?.waiting === 0 && this.#model.ledger.isLongest;
  }

  #open(): string[] {
    return this.#model.database
      .all<Record<string, unknown>>(
        `SELECT id, state, reason FROM payment WHERE state <> 'Done' AND id NOT LIKE 'x%'
         UNION ALL SELECT id, state, reason FROM step
         WHERE state IN ('Asked', 'UnderWay') AND is_overtaken = 0 AND id NOT LIKE 'x%'`,
      )
      .map((row) => JSON.stringify(row));
  }

  /** How often a step was done as it was asked for, or in some way when the database has forgotten which. */
  #paid({ id, version }: StepEnd): number {
    const { ledger } = this.#model;
    const versions = this.#least > 1 ? VERSIONS : [version];
    return versions
      .map((one) => ledger.paidTo(payeeOfStep({ id, version: one })))
      .reduce((a, b) => a + b, 0);
  }

  /** Each step is done, or it has ended for a reason, and the chain says the same. */
  #wrongSteps(): string[] {
    const { ledger, database } = this.#model;
    return database
      .all<StepEnd>("SELECT * FROM step WHERE id NOT LIKE 'x%'")
      .filter((one) => {
        const isDone = this.#paid(one) === 1;
        if (one.is_overtaken) return isDone;
        if (one.state === "Over") return isDone || one.deadline === null;
        if (ledger.locked.has(one.output)) return one.state !== "Failed" || isDone;
        return one.state !== "Done" || !isDone;
      })
      .concat(
        database.all<StepEnd>(
          "SELECT * FROM step WHERE state = 'Failed' AND failures <> ? AND id NOT LIKE 'x%'",
          MAX_TRIES,
        ),
      )
      .map((row) => JSON.stringify(row));
  }
}
