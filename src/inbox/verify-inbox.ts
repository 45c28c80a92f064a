import { eq } from "drizzle-orm";
import type { Network } from "../chain/network.ts";
import { type Database, type Statement, violates } from "../db/client.ts";
import { reserveStamps, singleStampSql } from "../db/clock.ts";
import { nextRevisionSql } from "../db/revision.ts";
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
const RECHECK_INTERVALS_MS: Partial<Record<InboxRow["status"], number>> = {
  Pending: 5 * MINUTE_MS,
  Verified: 30 * MINUTE_MS,
};

const EMPTY_PROFILE: PublishedProfile = {
  linkedEmail: null,
  encryptionPublicKey: null,
  encryptionKeyVersion: null,
  signingPublicKey: null,
  signingKeyVersion: null,
};

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
    statements.push(...buildChangeStatements(db, state, before, now));
    before = { ...before, ...state, revision: before.revision + 1 };
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

function buildChangeStatements(
  db: Database,
  state: VerifiedState,
  row: InboxRow,
  now: number,
): Statement[] {
  const fields = Object.keys(state) as (keyof VerifiedState)[];
  // Clients of the inbox must see a changed key.
  const isMove = fields.some((field) => state[field] !== row[field]);
  const interval = RECHECK_INTERVALS_MS[state.status];
  const update = db.orm.update(inboxRegistration).set({
    ...state,
    dueAt: interval === undefined ? null : now + interval,
    updatedAt: now,
    ...(isMove && { statusUpdatedAt: singleStampSql("inbox", row.network) }),
    revision: nextRevisionSql(inboxRegistration.revision, row.revision),
  });
  return [
    ...(isMove ? [reserveStamps("inbox", row.network, 1, now)] : []),
    update.where(eq(inboxRegistration.id, row.id)).toSQL(),
  ];
}
