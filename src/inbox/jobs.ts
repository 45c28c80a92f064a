import { inArray } from "drizzle-orm";
import { NETWORKS, type Network } from "../chain/network.ts";
import { type Database, db, statement } from "../db/client.ts";
import { reserveStamps, stamp } from "../db/clock.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import { outboundOf, usualProviders } from "./providers.ts";
import { inboxRegistration } from "./tables.ts";
import { type InboxRow, type VerificationContext, verify } from "./verification.ts";

/** One run asks this many providers, so many at a time: an invocation has six connections. */
const PER_RUN = 60;
const AT_ONCE = 5;
const TIMEOUT_MS = 15_000;
const RUN_MS = 45_000;
/** Whoever takes registrations up has this long; should it die, another run takes them up again. */
const CLAIM_MS = 2 * 60_000;
const CHUNK = 200;

/**
 * Verifies the inbox registrations that are due, those that have waited longest first. Two runs at
 * once share the work: each takes registrations up by moving the time at which they are due.
 */
export async function verifyDueInboxes(env: Env, requestId: string): Promise<void> {
  const started = Date.now();
  const deadline = started + RUN_MS;
  for (const network of NETWORKS) {
    const ledger = db(env, network, { writes: "idempotent", deadline: deadline + TIMEOUT_MS });
    await deregisterRemoved(ledger, network, started);
    const due = await claimDue(ledger, network, started);
    if (due.length === 0) continue;
    const context: VerificationContext = {
      db: ledger,
      outbound: await outboundOf(env, deadline),
      usualProviders: usualProviders(env),
      timeoutMs: TIMEOUT_MS,
      now: Date.now,
    };
    for (let i = 0; i < due.length && Date.now() < deadline; i += AT_ONCE)
      await Promise.all(due.slice(i, i + AT_ONCE).map((row) => verifyOne(context, row, requestId)));
  }
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

/** The registrations of a removed registry source end with it; followers learn by a new stamp. */
async function deregisterRemoved(ledger: Database, network: Network, now: number): Promise<void> {
  const rows = await ledger.all<{ id: string; rev: number }>(
    `SELECT id, rev FROM inbox_registration
     WHERE network = ? AND status <> 'Deregistered' AND source_id IN
       (SELECT source_id FROM registry_cursor WHERE removed_at IS NOT NULL)
     LIMIT ${CHUNK}`,
    network,
  );
  if (rows.length === 0) return;
  const at = stamp("inbox", network, rows.length, "item.key");
  await ledger.batch([
    reserveStamps("inbox", network, rows.length, now),
    statement(
      `UPDATE inbox_registration SET status = 'Deregistered', due_at = NULL, updated_at = ?,
         status_updated_at = at, rev = rev + 1
       FROM (SELECT item.value AS v, ${at.sql} AS at FROM json_each(?) AS item)
       WHERE id = v->>'id' AND rev = v->>'rev'`,
      now,
      ...at.params,
      JSON.stringify(rows),
    ),
  ]);
}
