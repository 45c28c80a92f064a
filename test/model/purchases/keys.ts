/** The API keys of the model's buyers: with and without limits of credits, of spending and of wallets. */
import type { AppContext, Caller } from "../../../src/http/context.ts";
import { d1Of } from "../d1.ts";
import type { ModelDatabase } from "../database.ts";
import { PAYERS } from "./quotes.ts";

export const KEYS = 20;
/** Purchases that a limited key has credits for. */
export const MAX_CREDITS = 3;
/** Native minor units that a limited key may spend. */
export const MAX_SPENT = 30_000_000n;

export const hasCredits = (n: number) => n % 2 === 0;
export const hasSpending = (n: number) => n % 3 === 0;

/** A key as a request knows it. Every fourth may use one wallet alone. */
export function callerOf(n: number): Caller {
  const one = PAYERS[n % PAYERS.length]?.row.id ?? "";
  return {
    id: `key-${n}`,
    permission: "User",
    canPay: true,
    networkLimit: ["Preprod"],
    isUsageLimited: hasCredits(n),
    scope: {
      walletIds: n % 4 === 3 ? [one] : null,
      isSpendingLimited: hasSpending(n),
      returnAddresses: [],
    },
  };
}

export function insertKeys(database: ModelDatabase): void {
  const limits = JSON.stringify([{ network: "Preprod", unit: "", amount: String(MAX_SPENT) }]);
  for (let n = 0; n < KEYS; n++)
    database.run(
      `INSERT INTO api_key (id, token_hash, masked_token, permission, status, can_pay, network_limit,
         usage_limited, max_usage_credits, accumulated_usage_credits, created_by_id, created_at,
         updated_at, spending_limits)
       VALUES (?1, ?1, '', 'User', 'Active', 1, '["Preprod"]', ?2, ?3, 0, 'key-0', 0, 0, ?4)`,
      `key-${n}`,
      Number(hasCredits(n)),
      MAX_CREDITS,
      hasSpending(n) ? limits : null,
    );
}

/** A request of a key; nothing is outside the database. */
export function requestOf(n: number, database: ModelDatabase): AppContext {
  const wake = { idFromName: () => "", get: () => ({ wake: async () => {} }) };
  const env = {
    DB: d1Of(database, async (run) => run()),
    HOT_WALLET: wake,
    EVENTS: { send: async () => {} },
  };
  const variables = { caller: callerOf(n), requestId: "model", deadline: Date.now() + 10_000 };
  return { env, var: variables, req: { header: () => undefined } } as unknown as AppContext;
}
