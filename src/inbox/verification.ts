import { eq } from "drizzle-orm";
import type { Network } from "../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../db/client.ts";
import { reserveStamps, stamp } from "../db/clock.ts";
import { type LookUp, lookUp, type Outbound, type Published } from "./provider-page.ts";
import { inboxRegistration } from "./tables.ts";

export type InboxRow = typeof inboxRegistration.$inferSelect;

/** The dependencies of verification. */
export interface VerificationContext {
  /** With `writes: "idempotent"`. */
  db: Database;
  outbound: Outbound;
  /** Base URLs of the default providers, for tokens that name none; none: "". */
  usualProviders: Record<Network, string>;
  /** Milliseconds that a provider has to answer. */
  timeoutMs: number;
  /** Epoch milliseconds. */
  now(): number;
}

const MINUTE_MS = 60_000;
/** When a provider is asked again. One that names another agent is asked only on request. */
const AGAIN_MS = { Pending: 5 * MINUTE_MS, Verified: 30 * MINUTE_MS } as const;

const NOTHING: Published = {
  linkedEmail: null,
  encryptionPublicKey: null,
  encryptionKeyVersion: null,
  signingPublicKey: null,
  signingKeyVersion: null,
};

const PUBLISHED = Object.keys(NOTHING) as (keyof Published)[];

/** The provider that serves an agent's page; null: none. */
export function providerUrlOf(
  { providerUrl, network }: Pick<InboxRow, "providerUrl" | "network">,
  usualProviders: Record<Network, string>,
): string | null {
  return providerUrl ?? (usualProviders[network].replace(/\/$/, "") || null);
}

/**
 * Asks the provider of a registration and records its answer; an `Invalid` one becomes `Pending`
 * first. A registration changed in between, such as by a burn, stays as changed.
 *
 * @returns the registration afterwards
 */
export async function verify(context: VerificationContext, row: InboxRow): Promise<InboxRow> {
  const { db, outbound, usualProviders, timeoutMs, now } = context;
  if (row.status === "Deregistered") return row;
  const url = providerUrlOf(row, usualProviders);
  const found: LookUp =
    url === null
      ? { kind: "unknown" }
      : await lookUp(url, row.agentSlug, row.agentIdentifier, outbound, timeoutMs);
  const judgements =
    row.status === "Invalid" ? [PENDING, after(PENDING, found)] : [after(row, found)];
  return changeRegistration(db, row, judgements, now());
}

type Judgement = Partial<Published> & Pick<InboxRow, "status">;

const PENDING: Judgement = { ...NOTHING, status: "Pending" };

/** A provider that does not answer changes nothing. */
function after({ status }: Judgement, found: LookUp): Judgement {
  if (found.kind === "ours") return { ...found.published, status: "Verified" };
  if (found.kind === "unknown") return { status };
  return { ...NOTHING, status: found.kind === "other" ? "Invalid" : "Pending" };
}

/** Writes a sequence of verdicts in one batch. */
async function changeRegistration(
  db: Database,
  row: InboxRow,
  judgements: readonly Judgement[],
  now: number,
): Promise<InboxRow> {
  const statements: Statement[] = [];
  let before = row;
  for (const judgement of judgements) {
    const next = { ...before, ...judgement, dueAt: dueAfter(judgement, now) };
    statements.push(...changeStatements(next, before, now));
    before = { ...next, rev: before.rev + 1 };
  }
  try {
    await db.batch(statements);
  } catch (error) {
    // A burn, a rollback or another verification was first, or our own answer was lost.
    if (!violates(error, "inbox_registration.rev")) throw error;
  }
  const [current] = await db.orm
    .select()
    .from(inboxRegistration)
    .where(eq(inboxRegistration.id, row.id));
  return current ?? row;
}

function dueAfter({ status }: Judgement, now: number): number | null {
  const again = status in AGAIN_MS ? AGAIN_MS[status as keyof typeof AGAIN_MS] : null;
  return again === null ? null : now + again;
}

function changeStatements(next: InboxRow, row: InboxRow, now: number): Statement[] {
  // Clients of the inbox must see a changed key.
  const isMove =
    next.status !== row.status || PUBLISHED.some((field) => next[field] !== row[field]);
  const at = stamp("inbox", row.network, 1, "0");
  return [
    ...(isMove ? [reserveStamps("inbox", row.network, 1, now)] : []),
    statement(
      `UPDATE inbox_registration SET rev = iif(rev = ?, rev + 1, NULL), status = ?,
         linked_email = ?, encryption_public_key = ?, encryption_key_version = ?,
         signing_public_key = ?, signing_key_version = ?, due_at = ?, updated_at = ?,
         status_updated_at = ${isMove ? at.sql : "status_updated_at"}
       WHERE id = ?`,
      row.rev,
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
