import { inArray } from "drizzle-orm";
import pMap from "p-map";
import { NETWORKS, type Network } from "../chain/network.ts";
import { MAX_CONCURRENT_FETCHES } from "../connections.ts";
import { type Database, openDb, statement } from "../db/client.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import { readDefaultProviders, readOutboundOptions } from "./fetch-provider-page.ts";
import { inboxRegistration } from "./tables.ts";
import { type InboxRow, type VerificationContext, verifyInbox } from "./verify-inbox.ts";

/** Providers asked per run and network. */
const MAX_INBOXES_PER_RUN = 60;
const FETCH_TIMEOUT_MS = 15_000;
/** Each network has its own time: where tokens are free, third-party providers may use it all. */
const RUN_TIMEOUT_MS = 20_000;
/** A single statement may take this long, retries included. */
const DATABASE_TIMEOUT_MS = 10_000;
/** How long a run holds its claimed registrations; if it dies, another run claims them. */
const CLAIM_TTL_MS = 2 * 60_000;

/**
 * Verifies the inbox registrations that are due, the longest waiting first. Concurrent runs share
 * the work: each claims registrations by moving their due time.
 */
export async function verifyDueInboxes(env: Env, requestId: string): Promise<void> {
  for (const network of NETWORKS) await verifyDueInboxesOfNetwork(env, network, requestId);
}

async function verifyDueInboxesOfNetwork(
  env: Env,
  network: Network,
  requestId: string,
): Promise<void> {
  const started = Date.now();
  const deadline = started + RUN_TIMEOUT_MS;
  const database = openDb(env, network, {
    writes: "idempotent",
    deadline: deadline + FETCH_TIMEOUT_MS + DATABASE_TIMEOUT_MS,
  });
  const due = await claimDueInboxes(database, network, started);
  if (due.length === 0) return;
  const context: VerificationContext = {
    db: database,
    outbound: await readOutboundOptions(env, deadline),
    defaultProviders: readDefaultProviders(env),
    timeoutMs: FETCH_TIMEOUT_MS,
    now: Date.now,
  };
  const verifyInTime = async (row: InboxRow) => {
    if (Date.now() < deadline) await verifyOrLog(context, row, requestId);
  };
  await pMap(due, verifyInTime, { concurrency: MAX_CONCURRENT_FETCHES });
}

/**
 * A failure must not stop other registrations. The failed one is due again when its claim
 * expires.
 */
async function verifyOrLog(
  context: VerificationContext,
  row: InboxRow,
  requestId: string,
): Promise<void> {
  try {
    await verifyInbox(context, row);
  } catch (error) {
    log("error", "inbox.verification_failed", { id: row.id, requestId, error: String(error) });
  }
}

async function claimDueInboxes(
  database: Database,
  network: Network,
  now: number,
): Promise<InboxRow[]> {
  const due = await database.all<{ id: string; due_at: number }>(
    `SELECT id, due_at FROM inbox_registration
     WHERE due_at <= ? AND network = ? ORDER BY due_at LIMIT ${MAX_INBOXES_PER_RUN}`,
    now,
    network,
  );
  if (due.length === 0) return [];
  const claims = due.map(({ id, due_at }) => ({ id, dueAt: due_at }));
  const until = now + CLAIM_TTL_MS;
  await database.batch([
    statement(
      `UPDATE inbox_registration SET due_at = ?
       WHERE (id, due_at) IN (SELECT value->>'id', value->>'dueAt' FROM json_each(?))`,
      until,
      JSON.stringify(claims),
    ),
  ]);
  const rows = await database.orm
    .select()
    .from(inboxRegistration)
    .where(
      inArray(
        inboxRegistration.id,
        due.map(({ id }) => id),
      ),
    );
  // The claim's time is practically unique to this run; if two agree, both ask.
  return rows.filter(({ dueAt }) => dueAt === until);
}
