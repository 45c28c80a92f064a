import { eq } from "drizzle-orm";
import type { Network } from "../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../db/client.ts";
import { reserveStamps, stampSql } from "../db/clock.ts";
import {
  fetchProviderPage,
  type OutboundOptions,
  type ProviderPageResult,
  type PublishedProfile,
} from "./fetch-provider-page.ts";
import { inboxRegistration } from "./tables.ts";

export type InboxRow = typeof inboxRegistration.$inferSelect;

/** The dependencies of verification. */
export interface VerificationContext {
  /** With `writes: "idempotent"`. */
  db: Database;
  outbound: OutboundOptions;
  /** Base URLs of the default providers, for tokens that name none; none: "". */
  defaultProviders: Record<Network, string>;
  /** Milliseconds that a provider has to answer. */
  timeoutMs: number;
  /** Epoch milliseconds. */
  now(): number;
}

const MINUTE_MS = 60_000;
/** Time until the next check. `Invalid` registrations are checked only on request. */
const RECHECK_INTERVALS_MS = { Pending: 5 * MINUTE_MS, Verified: 30 * MINUTE_MS } as const;

const EMPTY_PROFILE: PublishedProfile = {
  linkedEmail: null,
  encryptionPublicKey: null,
  encryptionKeyVersion: null,
  signingPublicKey: null,
  signingKeyVersion: null,
};

const PUBLISHED_FIELDS = Object.keys(EMPTY_PROFILE) as (keyof PublishedProfile)[];

/** Base URL of an agent's provider. Null: none. */
export function findProviderUrl(
  { providerUrl, network }: Pick<InboxRow, "providerUrl" | "network">,
  defaultProviders: Record<Network, string>,
): string | null {
  return providerUrl ?? (defaultProviders[network].replace(/\/$/, "") || null);
}

/**
 * Asks the provider of a registration and records its answer; an `Invalid` one becomes `Pending`
 * first. A registration changed in between, such as by a burn, stays as changed.
 *
 * @returns the registration afterwards
 */
export async function verifyInbox(context: VerificationContext, row: InboxRow): Promise<InboxRow> {
  const { db, outbound, defaultProviders, timeoutMs, now } = context;
  if (row.status === "Deregistered") return row;
  const url = findProviderUrl(row, defaultProviders);
  const found: ProviderPageResult =
    url === null
      ? { kind: "unknown" }
      : await fetchProviderPage(url, row.agentSlug, row.agentIdentifier, outbound, timeoutMs);
  const states =
    row.status === "Invalid"
      ? [PENDING_STATE, computeNextState(PENDING_STATE, found)]
      : [computeNextState(row, found)];
  return changeRegistration(db, row, states, now());
}

type VerifiedState = Partial<PublishedProfile> & Pick<InboxRow, "status">;

const PENDING_STATE: VerifiedState = { ...EMPTY_PROFILE, status: "Pending" };

/** A provider that does not answer changes nothing. */
function computeNextState({ status }: VerifiedState, found: ProviderPageResult): VerifiedState {
  if (found.kind === "ours") return { ...found.published, status: "Verified" };
  if (found.kind === "unknown") return { status };
  return { ...EMPTY_PROFILE, status: found.kind === "other" ? "Invalid" : "Pending" };
}

/** Writes a sequence of verdicts in one batch. */
async function changeRegistration(
  db: Database,
  row: InboxRow,
  states: readonly VerifiedState[],
  now: number,
): Promise<InboxRow> {
  const statements: Statement[] = [];
  let before = row;
  for (const state of states) {
    const next = { ...before, ...state, dueAt: computeDueAt(state, now) };
    statements.push(...buildChangeStatements(next, before, now));
    before = { ...next, revision: before.revision + 1 };
  }
  try {
    await db.batch(statements);
  } catch (error) {
    // A burn, a rollback or another verification was first, or our own answer was lost.
    if (!violates(error, "inbox_registration.revision")) throw error;
  }
  const [current] = await db.orm
    .select()
    .from(inboxRegistration)
    .where(eq(inboxRegistration.id, row.id));
  return current ?? row;
}

function computeDueAt({ status }: VerifiedState, now: number): number | null {
  const again =
    status in RECHECK_INTERVALS_MS
      ? RECHECK_INTERVALS_MS[status as keyof typeof RECHECK_INTERVALS_MS]
      : null;
  return again === null ? null : now + again;
}

function buildChangeStatements(next: InboxRow, row: InboxRow, now: number): Statement[] {
  // Clients of the inbox must see a changed key.
  const isMove =
    next.status !== row.status || PUBLISHED_FIELDS.some((field) => next[field] !== row[field]);
  const at = stampSql("inbox", row.network, 1, "0");
  return [
    ...(isMove ? [reserveStamps("inbox", row.network, 1, now)] : []),
    statement(
      `UPDATE inbox_registration SET revision = iif(revision = ?, revision + 1, NULL), status = ?,
         linked_email = ?, encryption_public_key = ?, encryption_key_version = ?,
         signing_public_key = ?, signing_key_version = ?, due_at = ?, updated_at = ?,
         status_updated_at = ${isMove ? at.sql : "status_updated_at"}
       WHERE id = ?`,
      row.revision,
      next.status,
      next.linkedEmail,
      next.encryptionPublicKey,
      next.encryptionKeyVersion,
      next.signingPublicKey,
      next.signingKeyVersion,
      next.dueAt,
      now,
      ...(isMove ? at.params : []),
      row.id,
    ),
  ];
}
