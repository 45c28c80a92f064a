import type { SubmitFault } from "./ledger.ts";
import { payeeOf } from "./payments.ts";
import { MAX_TRIES, payeeOfStep } from "./steps.ts";
import { World } from "./world.ts";

/** What can happen while a wallet works, each with a number that says how. */
export const DEEDS = [
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
export type Deed = readonly [kind: (typeof DEEDS)[number], n: number];

const BLOCK_MS = 20_000;
/** Two validity windows, in blocks, and what it takes to be sure of the end of one. */
const ROUNDS = 80;
/** As many as a story has deeds. */
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
  readonly #world: World;
  /** Rounds until the end at least. */
  #least = 1;

  /** @param outputs - see `World` */
  constructor(outputs: readonly number[]) {
    this.#world = new World(outputs);
  }

  get world(): World {
    return this.#world;
  }

  async do([kind, n]: Deed): Promise<void> {
    const world = this.#world;
    const { ledger } = world;
    switch (kind) {
      case "ask":
        for (let i = 0; i <= n % 3; i++) world.askPayment();
        break;
      case "step":
        for (let i = 0; i <= n % 4; i++) this.#askStep(n >> 2);
        break;
      case "run":
        await world.run();
        break;
      case "runTwo":
        await Promise.all([world.run(), world.run()]);
        break;
      case "die":
        await world.run({ dies: 1 + ((n >> 1) % 30), when: n % 2 === 0 ? "before" : "after" });
        break;
      case "repeat":
        await world.run({ repeats: true });
        break;
      case "change":
        await world.run({ changes: 1 + ((n >> 1) % 30), asksOther: n % 2 === 0 });
        break;
      case "mine":
        world.pass(BLOCK_MS);
        ledger.mine();
        break;
      case "wait":
        world.pass(10_000 * (n % 12));
        break;
      case "expire":
        world.pass(8 * 60_000);
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
        if (n % 4 === 0) ledger.spendElsewhere(world.address, n >> 2);
        break;
      case "save":
        world.database.save();
        break;
      case "restore":
        world.database.restore();
        this.#least = HALTED_ROUNDS;
        break;
      case "overtake":
        ledger.overtake(world.outputOf(n % Math.max(world.steps, 1)));
        break;
      case "failScript":
        await world.failScript(n);
        break;
      case "fold":
        world.fold();
        ledger.namesFailures = n % 2 === 0;
    }
  }

  /** After the last fault everything comes to its end, each task once. @returns what did not */
  async end() {
    const world = this.#world;
    const { ledger, database } = world;
    ledger.submitFaults = [];
    ledger.outputsBehind = 0;
    ledger.transactionsBehind = 0;
    // Until the chain is longer than it ever was, a node may be late as well as on another fork.
    const isOver = () => this.#open().length === 0 && ledger.isLongest;
    for (let round = 0; round < this.#least || (round < ROUNDS && !isOver()); round++) {
      world.pass(this.#isQuiet() ? 6 * BLOCK_MS : BLOCK_MS);
      ledger.mine();
      world.fold();
      await world.run();
    }
    const ids = database
      .all<{ id: string }>("SELECT id FROM payment WHERE id NOT LIKE 'x%'")
      .map(({ id }) => id);
    return {
      notDone: this.#open(),
      paidWrongly: ids.filter((id) => ledger.paidTo(payeeOf(id)) !== 1),
      // Also of what a database that was set back does not know any more.
      paidTwice: world.asked.filter((id) => ledger.paidTo(payeeOf(id)) > 1),
      wrongSteps: this.#wrongSteps(),
      toldWrongly: await this.#toldWrongly(),
    };
  }

  /** What the wallet takes for spent elsewhere and is not, and what holds it up with nothing to do. */
  async #toldWrongly(): Promise<string[]> {
    const { spentElsewhere, held } = await this.#world.wallet();
    const names = spentElsewhere.map(({ output }) => output);
    const wrong = names.filter((name) => !this.#world.ledger.spentElsewhere.has(name));
    return held === null ? wrong : [...wrong, held];
  }

  /** Some steps are refused by their script, and some have a deadline. */
  #askStep(n: number): void {
    const { ledger } = this.#world;
    this.#world.askStep({
      deadline: n % 3 === 0 ? ledger.now + 60_000 * (n % 20) : null,
      isMeasured: n % 2 === 0,
      canBeOvertaken: (n >> 1) % 2 === 0,
      isRefused: n % 7 === 0,
    });
  }

  /** Whether tasks wait for their time, and nothing for a block. */
  #isQuiet(): boolean {
    const [row] = this.#world.database.all<{ waiting: number }>(
      `SELECT count(*) AS waiting FROM wallet_transaction
       WHERE phase IN ('Stored', 'Sent', 'RolledBack', 'InBlock')`,
    );
    return row?.waiting === 0 && this.#world.ledger.isLongest;
  }

  #open(): string[] {
    return this.#world.database
      .all<Record<string, unknown>>(
        `SELECT id, state, reason FROM payment WHERE state <> 'Done' AND id NOT LIKE 'x%'
         UNION ALL SELECT id, state, reason FROM step
         WHERE state IN ('Asked', 'UnderWay') AND is_overtaken = 0 AND id NOT LIKE 'x%'`,
      )
      .map((row) => JSON.stringify(row));
  }

  /** How often a step was done as it was asked for, or in some way when the database has forgotten which. */
  #paid({ id, version }: StepEnd): number {
    const { ledger } = this.#world;
    const versions = this.#least > 1 ? VERSIONS : [version];
    return versions
      .map((one) => ledger.paidTo(payeeOfStep({ id, version: one })))
      .reduce((a, b) => a + b, 0);
  }

  /** Each step is done, or it has ended for a reason, and the chain says the same. */
  #wrongSteps(): string[] {
    const { ledger, database } = this.#world;
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
