import type { Context } from "hono";
import type { Env } from "../env.ts";

/** Who asks: what a request may do follows from its API key alone. */
export interface Caller {
  /** The key's id, `env-admin` for the key of the environment. */
  id: string;
  permission: "Admin" | "User";
  /** The "+PAY access" of the interface; true for every Admin. */
  canPay: boolean;
  /** Networks and CAIP-2 ids the key may use; null: all of them (Admin). */
  networkLimit: readonly string[] | null;
  /** Whether metered calls are charged against `maxUsageCredits`. */
  usageLimited: boolean;
}

/**
 * Looks a token up; null when no active key has it. The door is below the features, so `app.ts`
 * hands it the one of `api-keys/`.
 *
 * @param deadline - epoch milliseconds after which the database is not tried any more
 * @param beforeLookUp - called before the database is asked; what it throws is passed on
 */
export type FindCaller = (
  env: Env,
  token: string,
  deadline: number,
  beforeLookUp: () => Promise<void>,
) => Promise<Caller | null>;

/** What Hono carries along with a request. */
export interface AppEnv {
  Bindings: Env & {
    /** Milliseconds, decimal text: tests shorten the deadline of requests by it. */
    REQUEST_DEADLINE_MS?: string;
  };
  Variables: {
    /** Names the request in its answer, in logs, audit rows, events and calls to objects. */
    requestId: string;
    /** Epoch milliseconds at which the request is answered with 503, whatever still runs. */
    deadline: number;
    findCaller: FindCaller;
    /** Set on every endpoint whose access is not `none`. */
    caller: Caller;
    /** The request's body as it was sent; set on every endpoint that declares one. */
    bodyText: string;
  };
}

export type AppContext = Context<AppEnv>;
