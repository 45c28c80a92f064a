/** How the clients of a soak call: patiently, as docs/errors.md says, with an eye on what was answered. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type ApiAccess, askPlainly, Refused } from "../client/api.ts";

const RETRY_MS = 1_000;
/** A client gives up after that. */
const PATIENCE_MS = 60_000;

/** Answers of the service, by status, and each that no fault may cause. */
export class Answers {
  readonly counts = new Map<string, number>();
  readonly failures: string[] = [];

  count(status: number | string, what: string): void {
    this.counts.set(`${status}`, (this.counts.get(`${status}`) ?? 0) + 1);
    if (status === 500) this.failures.push(what);
  }

  /** All in one line. */
  summary(): string {
    return [...this.counts].map(([status, n]) => `${n} × ${status}`).join(", ");
  }
}

/** Asks until there is an answer, with the same Idempotency-Key. @throws Refused */
export function patientPost(answers: Answers, patienceMs = PATIENCE_MS) {
  return async <Data>(
    access: ApiAccess,
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    body?: object,
  ): Promise<Data> => {
    const headers = { "idempotency-key": randomUUID() };
    const end = Date.now() + patienceMs;
    for (;;) {
      try {
        const data = await askPlainly<Data>(access, method, path, body, headers);
        answers.count(200, path);
        return data;
      } catch (error) {
        const status = error instanceof Refused ? error.status : "no answer";
        answers.count(status, String(error));
        const isTemporary = status === "no answer" || status === 429 || status >= 500;
        if (!isTemporary || Date.now() > end) throw error;
        await pause(RETRY_MS);
      }
    }
  };
}

export type Post = ReturnType<typeof patientPost>;
