import { inArray } from "drizzle-orm";
import { NETWORKS, type Network } from "../chain/network.ts";
import { type Database, db, statement } from "../db/client.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import { outboundOf, usualProviders } from "./providers.ts";
import { inboxRegistration } from "./tables.ts";
import { type InboxRow, type VerificationContext, verify } from "./verification.ts";

/** A run asks this many providers per network, so many at a time: an invocation has six connections. */
const PER_RUN = 60;
const AT_ONCE = 5;
const TIMEOUT_MS = 15_000;
/** Each network has time of its own: where tokens cost nothing, strangers' providers take all of it. */
const RUN_MS = 20_000;
/** A single statement may take this long, retries included. */
const DATABASE_MS = 10_000;
/** Whoever takes registrations up has this long; should it die, another run takes them up again. */
const CLAIM_MS = 2 * 60_000;

/**
 * Verifies the inbox registrations that are due, those that have waited longest first. Two runs at
 * once share the work: each takes registrations up by moving the time at which they are due.
 */
export async function verifyDueInboxes(env: Env, requestId: string): Promise<void> {
  for (const network of NETWORKS) await verifyDue(env, network, requestId);
}

async function verifyDue(env: Env, network: Network, requestId: string): Promise<void> {
  const started = Date.now();
  const deadline = started + RUN_MS;
  const ledger = db(env, network, {
    writes: "idempotent",
    deadline: deadline + TIMEOUT_MS + DATABASE_MS,
  });
  const due = await claimDue(ledger, network, started);
  if (due.length === 0) return;
  const context: VerificationContext = {
    db: ledger,
    outbound: await outboundOf(env, deadline),
    usualProviders: usualProviders(env),
    timeoutMs: TIMEOUT_MS,
    now: Date.now,
  };
  const rows = due.values();
  const work = async () => {
    for (let next = rows.next(); !next.done && Date.now() < deadline; next = rows.next())
      await verifyOne(context, next.value, requestId);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** One that fails must not keep the others from their turn; it is due again when its claim ends. */
async function verifyOne(
  context: VerificationContext,
  row: InboxRow,
  requestId: string,
): Promise<void> {
  try {
    await verify(context, row);
  } catch (error) {
    log("error", "inbox.verification_failed", { id: row.id, requestId, error: String(error) });
  }
}

async function claimDue(ledger: Database, network: Network, now: number): Promise<InboxRow[]> {
  const due = await ledger.all<{ id: string; due_at: number }>(
    `SELECT id, due_at FROM inbox_registration
     WHERE due_at <= ? AND network = ? ORDER BY due_at LIMIT ${PER_RUN}`,
    now,
    network,
  );
  if (due.length === 0) return [];
  const claims = due.map(({ id, due_at }) => ({ id, dueAt: due_at }));
  const until = now + CLAIM_MS;
  await ledger.batch([
    statement(
      `UPDATE inbox_registration SET due_at = ?
       WHERE (id, due_at) IN (SELECT value->>'id', value->>'dueAt' FROM json_each(?))`,
      until,
      JSON.stringify(claims),
    ),
  ]);
  const rows = await ledger.orm
    .select()
    .from(inboxRegistration)
    .where(
      inArray(
        inboxRegistration.id,
        due.map(({ id }) => id),
      ),
    );
  // The time of the claim is all but unique to this run; should two agree, both ask.
  return rows.filter(({ dueAt }) => dueAt === until);
}
