import type { Context } from "hono";
import type { Env } from "../env.ts";

/** The caller: what a request may do follows from its API key alone. */
export interface Caller {
  /** The key's id, `env-admin` for the key of the environment. */
  id: string;
  permission: "Admin" | "User";
  /** The "+PAY access" of the interface; true for every Admin. */
  canPay: boolean;
  /** Networks and CAIP-2 ids the key may use; null: all of them (Admin). */
  networkLimit: readonly string[] | null;
  /** Whether metered calls are charged against `maxUsageCredits`. */
  isUsageLimited: boolean;
  /** What an Admin binds the key to beside that; left out: nothing. */
  scope?: KeyScope;
}

/** What a key is bound to. */
export interface KeyScope {
  /** Ids of the only wallets that it may use; null: any. */
  walletIds: readonly string[] | null;
  /** Whether the prices of its purchases are charged to its `spendingLimits`. */
  isSpendingLimited: boolean;
  /** Addresses to which it may turn revenue and refunds, beside the wallets' own. */
  returnAddresses: readonly string[];
}

/**
 * Looks a token up; null when no active key has it. This folder is below `api-keys/`, so `app.ts`
 * passes it in.
 *
 * @param deadline - epoch milliseconds after which the database is not tried again
 * @param beforeLookUp - called before the database is queried; its errors propagate
 */
export type FindCaller = (
  env: Env,
  token: string,
  deadline: number,
  beforeLookUp: () => Promise<void>,
) => Promise<Caller | null>;

/** What Hono carries with a request. */
export interface AppEnv {
  Bindings: Env & {
    /** Milliseconds, decimal text: lets tests shorten the request deadline. */
    REQUEST_DEADLINE_MS?: string;
  };
  Variables: {
    /** Identifies the request in its answer, logs, audit rows, events and calls to objects. */
    requestId: string;
    /** Epoch milliseconds at which the request is answered with 503, whatever is still running. */
    deadline: number;
    findCaller: FindCaller;
    /**
     * Adds fields to an answer's JSON text; left out: nothing is added. An answer with a tag gets the
     * fields where the tag is computed.
     */
    extendAnswer?: (text: string) => string;
    /** Of the endpoint that answers; left out: the path is none of the API. */
    operationId?: string;
    /** Set on every endpoint whose access is not `none`. */
    caller: Caller;
    /** The request's body as parsed by its schema; set on every endpoint that declares one. */
    body: unknown;
    /** The request's body as sent; set on every endpoint that declares one. */
    bodyText: string;
  };
}

export type AppContext = Context<AppEnv>;
