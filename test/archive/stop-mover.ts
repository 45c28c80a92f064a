import { env } from "cloudflare:workers";
import { wrapD1 } from "../support/d1.ts";

/** The mover's databases, which stop it at their k-th call, before or after the call took effect. */
export function stopMover(k: number, when: "before" | "after") {
  let calls = 0;
  const step = async <T>(run: () => Promise<T>): Promise<T> => {
    const n = ++calls;
    if (n === k && when === "before") throw new Error("the process was stopped");
    const result = await run();
    if (n === k) throw new Error("the process was stopped");
    return result;
  };
  const wrap = (database: D1Database) => wrapD1(database, (_, run) => step(run));
  return {
    databases: { DB: wrap(env.DB), ARCHIVE_1: wrap(env.ARCHIVE_1) },
    count: () => calls,
  };
}
