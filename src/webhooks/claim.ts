import { type Database, db, statement } from "../db/client.ts";
import type { Env } from "../env.ts";
import type { SealedReceiver } from "./receiver.ts";
import { ENDPOINTS_WITH_CREATOR, mayReceive } from "./scope.ts";

/**
 * How long a claim holds: longer than a batch takes, for two rounds of six with `MAX_TIMEOUT_MS` each
 * and the database. After it the delivery is anybody's again.
 */
const CLAIM_MS = 60_000;

/** Names a delivery. */
export interface DeliveryKey {
  endpointId: string;
  eventId: string;
}

/** A delivery that is ours to send until the claim ends. */
export interface Claim extends DeliveryKey {
  eventSeq: number;
  network: string;
  /** What the outcome is fenced by. */
  attempt: number;
  failedAttempts: number;
  /** The receiver, still sealed; null when it may not have the event any more. */
  receiver: SealedReceiver | null;
}

type ClaimedRow = Omit<Claim, "receiver">;
type ReceiverRow = DeliveryKey & SealedReceiver & { permitted: number };

/**
 * Claims those of the deliveries that are due and that nobody else holds, in one statement.
 *
 * @param now - epoch milliseconds
 */
export async function claimDeliveries(
  env: Env,
  keys: readonly DeliveryKey[],
  now: number,
): Promise<Claim[]> {
  const named = JSON.stringify(keys.map(({ endpointId, eventId }) => [endpointId, eventId]));
  const allowed = mayReceive(env, {
    kind: "d.kind",
    network: "d.network",
    sourceId: "d.source_id",
    ownerId: "d.owner_id",
  });
  // Sent once: a claim whose answer is lost runs out, while a second one would find nothing due.
  const [claimed, receivers] = await db(env).batch([
    statement(
      `UPDATE webhook_delivery
       SET attempt = attempt + 1, claimed_until = ?1, last_attempt_at = ?2
       WHERE (endpoint_id, event_id) IN (SELECT value->>0, value->>1 FROM json_each(?3))
         AND due_at <= ?2 AND claimed_until <= ?2
       RETURNING endpoint_id AS endpointId, event_id AS eventId, event_seq AS eventSeq, network,
         attempt, failed_attempts AS failedAttempts`,
      now + CLAIM_MS,
      now,
      named,
    ),
    statement(
      `SELECT d.endpoint_id AS endpointId, d.event_id AS eventId, e.id, e.url, e.format,
         e.auth_token AS authToken, e.secret, e.previous_secret AS previousSecret,
         e.previous_secret_until AS previousSecretUntil, ${allowed.sql} AS permitted
       FROM json_each(?) AS named
         JOIN webhook_delivery d ON d.endpoint_id = named.value->>0 AND d.event_id = named.value->>1
         JOIN ${ENDPOINTS_WITH_CREATOR}
       WHERE e.id = d.endpoint_id`,
      ...allowed.params,
      named,
    ),
  ]);
  const found = new Map(
    ((receivers?.results ?? []) as ReceiverRow[]).map((row) => [nameOf(row), row]),
  );
  return ((claimed?.results ?? []) as ClaimedRow[]).map((row) => {
    const receiver = found.get(nameOf(row));
    return { ...row, receiver: receiver?.permitted ? receiver : null };
  });
}

const nameOf = ({ endpointId, eventId }: DeliveryKey) => `${endpointId} ${eventId}`;

/** An event as the ledger has it. */
export interface EventRow {
  seq: number;
  id: string;
  kind: string;
  sequence: number;
  data: string;
  createdAt: number;
}

/** Events by `seq`; those that were purged are missing. */
export async function readEvents(
  ledger: Database,
  seqs: readonly number[],
): Promise<Map<number, EventRow>> {
  const rows = await ledger.all<EventRow>(
    `SELECT seq, id, kind, sequence, data, created_at AS createdAt FROM event
     WHERE seq IN (SELECT value FROM json_each(?))`,
    JSON.stringify(seqs),
  );
  return new Map(rows.map((row) => [row.seq, row]));
}
