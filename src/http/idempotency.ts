import { toCanonicalJson } from "../canonical-json.ts";
import { type Database, type Statement, statement, violates } from "../db/client.ts";
import { seal, unseal } from "../db/sealed.ts";
import type { AppContext } from "./context.ts";
import { ApiError } from "./errors.ts";

const RETENTION_MS = 24 * 60 * 60 * 1000;
const MAX_KEY_LENGTH = 255;
/** Each batch deletes this many expired rows, so that the table needs no cleaning job. */
const MAX_EXPIRED_PER_BATCH = 50;

/** The statements that remember an answer, for the effect's batch; none without a key. */
export type StoreResponse = (answer: unknown) => Promise<Statement[]>;

/** A field of the body that names the request where the header does not. */
export interface IdempotencyField {
  name: string;
  value: string;
}

/**
 * Runs the effect of a POST once per `Idempotency-Key` and API key, for 24 hours: a repeat gets the
 * first answer. Errors are not stored, so a repeat after one tries again.
 *
 * @param work - makes the effect in one batch and returns the answer. The batch begins with
 *   `await remember(answer)`, before any statement that a second run of the effect would violate.
 * @param now - epoch milliseconds
 * @param field - a field whose value is the key when the header is absent
 * @throws ApiError 422 for another request under a used key, 409 when the key is the field's value
 *
 * @example
 * return idempotently(c, database, now, async (remember) => {
 *   const answer = { id };
 *   await commitWithAudit(c, database, { action: "unit.save", target: id, now }, [
 *     ...(await remember(answer)),
 *     insertThing(id),
 *   ]);
 *   return answer;
 * });
 */
export async function runIdempotently<Answer>(
  c: AppContext,
  database: Database,
  now: number,
  work: (remember: StoreResponse) => Promise<Answer>,
  field: IdempotencyField | null = null,
): Promise<Answer> {
  const named = resolveIdempotencyKey(c.req.header("idempotency-key"), field);
  if (named === null) return work(async () => []);
  const { key } = named;
  const request = { ...named, apiKeyId: c.var.caller.id, hash: await hashRequest(c) };
  const place = { table: "idempotency", id: `${request.apiKeyId} ${key}`, column: "sealed_answer" };
  const findStoredResult = async (): Promise<{ answer: Answer } | null> => {
    const sealed = await findSealedResponse(database, request, now);
    return sealed === null ? null : { answer: JSON.parse(await unseal(c.env, place, sealed)) };
  };

  const earlier = await findStoredResult();
  if (earlier) return earlier.answer;
  try {
    return await work(async (answer) =>
      insertSealedResponse(request, await seal(c.env, place, JSON.stringify(answer)), now),
    );
  } catch (error) {
    // The same request, or its batch, was sent twice concurrently. The first run has stored its answer,
    // or a row that the second run conflicts with. Only an answer to the same request is returned.
    const mayBeDone =
      violates(error, "idempotency.key") || (error instanceof ApiError && error.status === 409);
    const winner = mayBeDone ? await findStoredResult() : null;
    if (winner) return winner.answer;
    throw error;
  }
}

/**
 * Checks the form of the key, before the object that the request is about is looked for.
 *
 * @throws ApiError 400
 */
export function checkIdempotencyKey(c: AppContext): void {
  const key = c.req.header("idempotency-key");
  if (key !== undefined && (key.length === 0 || key.length > MAX_KEY_LENGTH))
    throw new ApiError(400, `Idempotency-Key: must have 1 to ${MAX_KEY_LENGTH} characters`);
}

interface IdempotencyKey {
  key: string;
  /** The error for a key that was used for another request. */
  conflictError: ApiError;
}

function resolveIdempotencyKey(
  header: string | undefined,
  field: IdempotencyField | null,
): IdempotencyKey | null {
  if (header === undefined)
    return (
      field && {
        key: `${field.name} ${field.value}`,
        conflictError: new ApiError(
          "identifier_reused",
          `${field.name}: was used for another request`,
        ),
      }
    );
  return {
    key: header,
    conflictError: new ApiError(422, "Idempotency-Key: was used for another request"),
  };
}

interface KeyedRequest extends IdempotencyKey {
  apiKeyId: string;
  hash: string;
}

async function findSealedResponse(database: Database, request: KeyedRequest, now: number) {
  const [row] = await database.all<{ requestHash: string; sealedAnswer: string }>(
    `SELECT request_hash AS requestHash, sealed_answer AS sealedAnswer FROM idempotency
     WHERE api_key_id = ? AND key = ? AND created_at > ?`,
    request.apiKeyId,
    request.key,
    now - RETENTION_MS,
  );
  if (!row) return null;
  if (row.requestHash !== request.hash) throw request.conflictError;
  return row.sealedAnswer;
}

function insertSealedResponse(
  request: KeyedRequest,
  sealedAnswer: string,
  now: number,
): Statement[] {
  return [
    statement(
      `DELETE FROM idempotency WHERE created_at <= ?1 AND
         ((api_key_id = ?2 AND key = ?3) OR (api_key_id, key) IN
           (SELECT api_key_id, key FROM idempotency ORDER BY created_at LIMIT ${MAX_EXPIRED_PER_BATCH}))`,
      now - RETENTION_MS,
      request.apiKeyId,
      request.key,
    ),
    statement(
      `INSERT INTO idempotency (api_key_id, key, request_hash, sealed_answer, created_at)
       VALUES (?, ?, ?, ?, ?)`,
      request.apiKeyId,
      request.key,
      request.hash,
      sealedAnswer,
      now,
    ),
  ];
}

/**
 * SHA-256 of method, path and parsed body, hex. A request with its members in another order, or without
 * members that have their defaults, is a repeat.
 */
async function hashRequest(c: AppContext): Promise<string> {
  const bytes = new TextEncoder().encode(
    `${c.req.method} ${c.req.path}\n${toCanonicalJson(c.var.body)}`,
  );
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
}
