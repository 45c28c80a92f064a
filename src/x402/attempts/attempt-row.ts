/** An order as stored in D1. */
import type { ArchiveEnv } from "../../archive/open-archives.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { firstIdAt, timeOfId } from "../../db/id.ts";
import { readAuthorization } from "../evm/authorization.ts";
import type { AttemptOrder, AttemptOutcome, JobStatus, SettleOrder } from "../model/messages.ts";
import { HOLDING_SQL, OPEN_SETTLEMENT_SQL, type x402Attempt } from "../model/tables.ts";
import { readAttempts } from "./read-attempts.ts";

/** The outcome that a wallet's job gives an attempt. */
export function toAttemptOutcome(
  state: "settled" | "failed",
  { transaction, reason, message }: Pick<JobStatus, "transaction" | "reason" | "message">,
  payer: string | null,
): AttemptOutcome {
  const success = state === "settled";
  return { success, transaction, payer, errorReason: reason, errorMessage: message };
}

/** Longest URL of a resource that attempts store, in UTF-8. */
export const MAX_RESOURCE_BYTES = 8 * 1024;
/** Marks a URL that was cut. */
const CUT_MARK = "…";

/** The URL of a resource as attempts store it: a longer URL is cut, and ends with a mark. */
export function toStoredResource(url: string): string {
  const encoder = new TextEncoder();
  if (encoder.encode(url).length <= MAX_RESOURCE_BYTES) return url;
  const head = new Uint8Array(MAX_RESOURCE_BYTES - encoder.encode(CUT_MARK).length);
  return `${url.slice(0, encoder.encodeInto(url, head).read)}${CUT_MARK}`;
}

type AttemptInsert = typeof x402Attempt.$inferInsert;

/**
 * The row of a settlement attempt.
 *
 * @param now - epoch milliseconds
 */
export function toAttemptRow(
  order: AttemptOrder,
  how: Pick<AttemptInsert, "status" | "payer"> & Partial<AttemptInsert>,
  now: number,
): AttemptInsert {
  const { requirements, caller } = order;
  return {
    id: order.attemptId,
    direction: "InboundSettle",
    apiKeyId: caller.id,
    evmWalletId: null,
    registryRequestId: order.registryRequestId,
    supportedPaymentSourceId: order.paymentSourceId,
    caip2Id: requirements.network,
    asset: requirements.asset.toLowerCase(),
    amount: requirements.amount,
    maxAmount: order.maxAmount ?? null,
    payTo: requirements.payTo.toLowerCase(),
    resource: order.resource,
    paymentPayloadHash: order.payloadHash,
    claim: order.claim === "" ? null : order.claim,
    paymentIdentifier: order.paymentIdentifier,
    errorReason: null,
    errorMessage: null,
    replayOf: null,
    charged: false,
    revision: 0,
    // Lists are ordered by id, and filter by its time.
    createdAt: timeOfId(order.attemptId),
    updatedAt: now,
    ...how,
  };
}

/** A settled or pending attempt, as far as it answers for its payment. */
export interface ClaimingAttempt
  extends Pick<AttemptOrder, "payloadHash" | "paymentSourceId" | "requirements" | "maxAmount"> {
  id: string;
  status: "Verified" | "Settled";
  claim: string | null;
  payer: string | null;
  /** Hash of the settling transaction; null while there is none. */
  txHash: string | null;
}

/** The attempt that holds the order's payment, settled or pending; null: none does. */
export async function findClaimingAttempt(
  core: Database,
  order: AttemptOrder,
): Promise<ClaimingAttempt | null> {
  const { sql, params } = selectClaimingAttempt(order, "TRUE");
  const [row] = await core.all<ClaimingRow>(sql, ...params);
  return row ? toClaimingAttempt(row) : null;
}

/**
 * The same, in archives too. They have no payment whose authorization can still be used, so only an expired payment
 * asks them.
 *
 * @throws ArchiveBehindError
 */
export async function findPastAttempt(
  env: ArchiveEnv,
  core: Database,
  order: SettleOrder,
): Promise<ClaimingAttempt | null> {
  const { validBefore } = readAuthorization(order.payload.payload, order.requirements.scheme);
  if (validBefore * 1000n >= BigInt(Date.now())) return findClaimingAttempt(core, order);
  const [row] = await readAttempts<ClaimingRow>(env, core, {
    select: (condition) => selectClaimingAttempt(order, condition),
  });
  return row ? toClaimingAttempt(row) : null;
}

type ClaimingRow = Omit<ClaimingAttempt, "requirements" | "maxAmount"> &
  AttemptOrder["requirements"] & { maxAmount: string | null };

function selectClaimingAttempt(
  { claim, payloadHash }: Pick<AttemptOrder, "claim" | "payloadHash">,
  condition: string,
): Statement {
  const holding = `SELECT attempt.id, attempt.status, claim, payment_payload_hash AS payloadHash,
      supported_payment_source_id AS paymentSourceId, caip2_id AS network, asset,
      attempt.amount, max_amount AS maxAmount, pay_to AS payTo, attempt.payer, tx_hash AS txHash
    FROM x402_payment_attempt AS attempt
      LEFT JOIN x402_settlement AS settlement ON settlement.attempt_id = attempt.id
    WHERE ${condition} AND ${HOLDING_SQL}`;
  // With OR, none of the indexes would be used.
  return statement(
    `${holding} AND claim = ? UNION ${holding} AND payment_payload_hash = ?`,
    claim,
    payloadHash,
  );
}

function toClaimingAttempt(row: ClaimingRow): ClaimingAttempt {
  const { network, asset, amount, maxAmount, payTo, ...rest } = row;
  const terms = { requirements: { network, asset, amount, payTo } };
  return { ...rest, ...terms, ...(maxAmount !== null && { maxAmount }) };
}

/**
 * Id of the settled or pending attempt, beside the order's, with which the payer has used its payment
 * identifier. Null: there is none.
 *
 * @param payer - verified, since a stranger could use up the identifiers of others
 */
export async function findIdentifierHolder(
  env: ArchiveEnv,
  core: Database,
  { attemptId, caller, paymentIdentifier }: AttemptOrder,
  payer: string,
): Promise<string | null> {
  if (paymentIdentifier === null) return null;
  const [holder] = await readAttempts<{ id: string }>(env, core, {
    select: (condition) =>
      statement(
        `SELECT id FROM x402_payment_attempt
         WHERE ${condition} AND ${HOLDING_SQL}
           AND api_key_id = ? AND payer = ? AND payment_identifier = ? AND id <> ?`,
        caller.id,
        payer,
        paymentIdentifier,
        attemptId,
      ),
  });
  return holder?.id ?? null;
}

/** Whether a key has signed a payment with a payment identifier, in the database or in an archive. */
export async function hasSignedPayment(
  env: ArchiveEnv,
  core: Database,
  apiKeyId: string,
  paymentIdentifier: string,
): Promise<boolean> {
  const signed = await readAttempts(env, core, {
    select: (condition) =>
      statement(
        `SELECT 1 FROM x402_payment_attempt
         WHERE ${condition} AND direction = 'OutboundPayment' AND api_key_id = ? AND payment_identifier = ?`,
        apiKeyId,
        paymentIdentifier,
      ),
  });
  return signed.length > 0;
}

/** How many settlements of a chain have no outcome. */
export async function countOpenAttempts(core: Database, caip2Id: string): Promise<number> {
  const [row] = await core.all<{ open: number }>(
    `SELECT count(*) AS open FROM x402_payment_attempt
     WHERE ${OPEN_SETTLEMENT_SQL} AND caip2_id = ?`,
    caip2Id,
  );
  return row?.open ?? 0;
}

/** How long a verified payment may take until it is settled. */
const VERIFICATION_VALIDITY_MS = 60_000;

/**
 * Whether the order's key verified the same payload here within the last minute. The newest attempts
 * come first, since most payments are settled right after.
 *
 * @param now - epoch milliseconds
 */
export async function wasVerified(
  core: Database,
  { caller, payloadHash }: AttemptOrder,
  now: number,
): Promise<boolean> {
  const rows = await core.all(
    `SELECT 1 FROM x402_payment_attempt
     WHERE api_key_id = ? AND id >= ? AND direction = 'InboundVerify' AND status = 'Verified'
       AND payment_payload_hash = ?
     ORDER BY id DESC LIMIT 1`,
    caller.id,
    firstIdAt(now - VERIFICATION_VALIDITY_MS),
    payloadHash,
  );
  return rows.length > 0;
}

/** The state of an attempt's row; null when there is none. */
export async function findAttemptState(core: Database, attemptId: string) {
  const [row] = await core.all<{ status: string; revision: number; settledIn: string | null }>(
    `SELECT status, revision, (SELECT tx_hash FROM x402_settlement
       WHERE attempt_id = x402_payment_attempt.id AND success = 1) AS settledIn
     FROM x402_payment_attempt WHERE id = ?`,
    attemptId,
  );
  return row ?? null;
}
