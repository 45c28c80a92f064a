import { db } from "../db/client.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import { paymentObject, walletObject } from "./settlement.ts";

/** An attempt that is not settled after this has lost its alarm, or waits for its chain. */
const OVERDUE_MS = 60_000;
const WOKEN_PER_RUN = 50;

/**
 * Wakes the objects of payments that should be settled by now: the platform forgets an alarm that
 * failed too often. An object that is at work already loses nothing by it.
 *
 * @param now - epoch milliseconds
 */
export async function wakeSettlements(env: Env, requestId: string, now: number): Promise<void> {
  const core = db(env);
  const overdue = await core.all<{ claim: string; caip2Id: string; address: string | null }>(
    `SELECT attempt.claim, attempt.caip2_id AS caip2Id, wallet.address
     FROM x402_payment_attempt AS attempt
       LEFT JOIN x402_network AS network ON network.caip2_id = attempt.caip2_id
       LEFT JOIN x402_wallet AS wallet ON wallet.id = network.facilitator_wallet_id
     WHERE direction = 'InboundSettle' AND status = 'Verified' AND claim IS NOT NULL
       AND attempt.updated_at < ? ORDER BY attempt.updated_at LIMIT ?`,
    now - OVERDUE_MS,
    WOKEN_PER_RUN,
  );
  const wallets = new Map(
    overdue.flatMap(({ caip2Id, address }) =>
      address === null ? [] : [[`${caip2Id}:${address}`, { caip2Id, address }] as const],
    ),
  );
  const calls = [
    ...overdue.map(({ claim }) => paymentObject(env, claim).wake()),
    ...[...wallets.values()].map(({ caip2Id, address }) =>
      walletObject(env, caip2Id, address).wake(),
    ),
  ];
  for (const result of await Promise.allSettled(calls))
    if (result.status === "rejected")
      log("warn", "x402.wake_failed", { requestId, error: String(result.reason) });
}
