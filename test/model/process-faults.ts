/** How the processes of a model go wrong. */
import { DatabaseUnavailableError } from "../../src/db/client.ts";

/** What stands between a process and what it reaches. */
export type Step = <T>(run: () => T) => Promise<T>;

export interface Faults {
  /** Number of the awaited step at which it dies, from 1, and whether that takes effect. */
  dies?: number;
  when?: "before" | "after";
  /** Whether the database's answers are lost, and its batches sent again. */
  repeats?: boolean;
}

/** A process of a model died at one of its steps: it reaches its database no more, and no task is at fault. */
export class ProcessCrashed extends DatabaseUnavailableError {
  override name = "ProcessCrashed";
}

/**
 * The steps of one process.
 *
 * @param others - gets the number of each step before it is done
 */
export function stepsOf(
  { dies = Number.POSITIVE_INFINITY, when = "before" }: Faults,
  others: (n: number) => void = () => {},
): Step {
  let steps = 0;
  return async (run) => {
    // Others have their turn in between.
    await null;
    const n = ++steps;
    others(n);
    if (n > dies || (n === dies && when === "before")) throw new ProcessCrashed();
    const result = run();
    if (n === dies) throw new ProcessCrashed();
    return result;
  };
}
