/** Tasks of the model of which the feature's own code throws, at one place each. */
import fc from "fast-check";
import { statement } from "../../src/db/client.ts";
import type { TaskUpdate } from "../../src/wallets/model/wallet-transaction.ts";
import type { Task, TransactionPart, WalletFeature } from "../../src/wallets/queue/feature.ts";

/** Where it throws. */
const PLACES = [
  /** While the feature reads what is due. */
  "due",
  /** Its time is no number. */
  "time",
  "part",
  /** While parts are put together, in the encoding of an output. */
  "compose",
  /** While the transaction is made of them. */
  "build",
  /** While the update that it is under way is computed. */
  "begin",
  /** The database refuses that update. */
  "refused",
  /** While later updates are computed. */
  "later",
  /** The database refuses those. */
  "laterRefused",
  /** While it is read again whether it asks for the same. */
  "unchanged",
  /** While it is asked whether others have spent what it spends. */
  "overtaken",
] as const;
type Place = (typeof PLACES)[number];

/** Those that keep a task from ever being sent. */
export const NEVER_SENT: readonly Place[] = [
  "due",
  "time",
  "part",
  "compose",
  "build",
  "begin",
  "refused",
];

export const isNeverSent = ({ place }: Pick<OddTask, "place">) => NEVER_SENT.includes(place);

export interface OddTask {
  work: "payment" | "step";
  place: Place;
  /** Whether its record takes no failure either. */
  isMute: boolean;
  /** How often later updates throw. */
  times: number;
  /** Before which of a story's storyActions it is asked for. */
  at: number;
}

const ODD = fc.array(
  fc.record({
    work: fc.constantFrom("payment", "step"),
    place: fc.constantFrom(...PLACES),
    isMute: fc.boolean(),
    times: fc.integer({ min: 1, max: 4 }),
    at: fc.nat(30),
  }) satisfies fc.Arbitrary<OddTask>,
  { minLength: 1, maxLength: 4 },
);

/** Odd tasks from a random stream of their own. */
export function oddTasksOf(seed: number): OddTask[] {
  return fc.sample(ODD, { seed, numRuns: 1 })[0] ?? [];
}

class OddError extends TypeError {
  override name = "OddError";
}

const throws = (): never => {
  throw new OddError("the record is odd: its inner parts must not be shown");
};

/** A feature that throws for some of its tasks. */
export function throwing(work: WalletFeature, odd: ReadonlyMap<string, OddTask>): WalletFeature {
  const placeOf = ({ id }: Pick<Task, "id">) => odd.get(id)?.place;
  const isAt = (place: Place) => (one: Pick<Task, "id">) => placeOf(one) === place;
  const throwAt = (place: Place, tasks: readonly Pick<Task, "id">[]) =>
    tasks.some(isAt(place)) && throws();
  return {
    ...work,
    async listDue(now, limit) {
      const { tasks, nextDueAt: next } = await work.listDue(now, limit);
      const failures = tasks
        .filter(isAt("due"))
        .map((task) => ({ task, error: new OddError(task.id) }));
      return {
        tasks: tasks
          .filter((task) => placeOf(task) !== "due")
          .map((task) => (isAt("time")(task) ? { ...task, deadline: Number.NaN } : task)),
        nextDueAt: next,
        failures,
      };
    },
    async buildPart(task, stand) {
      throwAt("part", [task]);
      return oddPart(await work.buildPart(task, stand), placeOf(task));
    },
    async selectForeignSpent(tasks, outputs) {
      throwAt(
        "overtaken",
        tasks.map((id) => ({ id })),
      );
      return (await work.selectForeignSpent?.(tasks, outputs)) ?? [];
    },
    ...(work.filterCurrent && {
      async filterCurrent(tasks: readonly Task[]) {
        throwAt("unchanged", tasks);
        return (await work.filterCurrent?.(tasks)) ?? [];
      },
    }),
    async onTransaction(moves, now) {
      const refused = moves.filter((move) => throwsAt(move, odd));
      return [
        ...(await work.onTransaction(moves, now)),
        ...refused.map(() => statement("UPDATE hot_wallet SET sequence = NULL")),
      ];
    },
    async onFailure(tasks, error, now) {
      if (tasks.some(({ id }) => odd.get(id)?.isMute)) throws();
      await work.onFailure(tasks, error, now);
    },
  };
}

/** @returns whether the database refuses the update of a move */
function throwsAt({ task, transaction }: TaskUpdate, odd: ReadonlyMap<string, OddTask>): boolean {
  const one = odd.get(task.id);
  if (!one) return false;
  if (transaction.phase === "Stored") {
    if (one.place === "begin") throws();
    return one.place === "refused";
  }
  if (one.place !== "later" && one.place !== "laterRefused") return false;
  if (one.times-- <= 0) return false;
  return one.place === "laterRefused" || throws();
}

function oddPart(part: TransactionPart, place: Place | undefined): TransactionPart {
  if (place === "compose")
    return { ...part, outputs: part.outputs.map((one) => ({ ...one, address: "no address" })) };
  if (place !== "build") return part;
  return Object.defineProperty({ ...part }, "detail", { get: throws });
}
