import { type Statement, statement } from "../db/client.ts";

/** What an erasure removes, as its answer names it. */
export const ERASED_DATA = [
  "name",
  "metadata",
  "auditDetails",
  "webhooks",
  "storedAnswers",
  "x402Resources",
  "failedRegistrations",
] as const;

/** Rows that one statement erases; the next batch erases more. */
export const MAX_ERASED_ROWS = 5_000;

interface Erasure {
  what: (typeof ERASED_DATA)[number];
  /** Whether archives have some of it too. */
  isInArchives?: true;
  /**
   * Statements that repeat without harm, for one batch. The last returns a row for each row that it
   * erased, up to `MAX_ERASED_ROWS`.
   *
   * @param now - epoch milliseconds
   */
  toStatements(keyId: string, now: number): Statement[];
}

const NOTED_RECORDS_SQL = `(SELECT record_id FROM escrow_request
  WHERE requested_by_id = ? AND metadata IS NOT NULL ORDER BY record_id LIMIT ${MAX_ERASED_ROWS})`;

const EMPTY_AUTHOR = { name: "", organization: null, contactEmail: null, contactOther: null };
const EMPTY_LEGAL = { privacyPolicy: null, terms: null, other: null };

/** How the personal data of an API key is removed. A test compares what the statements write. */
export const ERASURES: readonly Erasure[] = [
  {
    what: "name",
    toStatements: (keyId) => [
      statement(
        `UPDATE api_key SET name = '', return_addresses = '[]'
         WHERE id = ? AND (name <> '' OR return_addresses <> '[]') RETURNING 1`,
        keyId,
      ),
    ],
  },
  {
    what: "metadata",
    isInArchives: true,
    toStatements: (keyId) => [
      // Whoever copies the record, or has its text, notices the change.
      statement(
        `UPDATE escrow SET revision = revision + 1 WHERE id IN ${NOTED_RECORDS_SQL}`,
        keyId,
      ),
      statement(
        `UPDATE escrow_request SET metadata = NULL WHERE record_id IN ${NOTED_RECORDS_SQL} RETURNING 1`,
        keyId,
      ),
    ],
  },
  {
    what: "auditDetails",
    isInArchives: true,
    // The changes that the key made, and those that Admins made to the key: these have its name.
    toStatements: (keyId) => [
      statement(
        `UPDATE audit SET detail = NULL WHERE id IN (
           SELECT id FROM audit WHERE api_key_id = ?1 AND detail IS NOT NULL
           UNION ALL SELECT id FROM audit INDEXED BY audit_action
             WHERE action >= 'api-key.' AND action < 'api-key/' AND target = ?1 AND detail IS NOT NULL
           LIMIT ${MAX_ERASED_ROWS}) RETURNING 1`,
        keyId,
      ),
    ],
  },
  {
    what: "webhooks",
    // The sweep deletes the rows with their deliveries.
    toStatements: (keyId, now) => [
      statement(
        `UPDATE webhook_endpoint SET url = '', name = '', auth_token = NULL, secret = '',
           previous_secret = NULL, is_active = 0, deleted_at = ifnull(deleted_at, ?2)
         WHERE created_by_id = ?1 AND (url <> '' OR name <> '') RETURNING 1`,
        keyId,
        now,
      ),
    ],
  },
  {
    what: "storedAnswers",
    toStatements: (keyId) => [
      statement(
        `DELETE FROM idempotency WHERE (api_key_id, key) IN (SELECT api_key_id, key
           FROM idempotency WHERE api_key_id = ? LIMIT ${MAX_ERASED_ROWS}) RETURNING 1`,
        keyId,
      ),
    ],
  },
  {
    what: "x402Resources",
    toStatements: (keyId, now) => [
      statement(
        `UPDATE x402_payment_source SET url = NULL, description = NULL, discovery = NULL,
           deleted_at = ifnull(deleted_at, ?2)
         WHERE created_by_id = ?1
           AND (deleted_at IS NULL OR url IS NOT NULL OR description IS NOT NULL
             OR discovery IS NOT NULL) RETURNING 1`,
        keyId,
        now,
      ),
    ],
  },
  {
    what: "failedRegistrations",
    // Their metadata is on no chain.
    toStatements: (keyId) => [
      statement(
        `UPDATE registration SET name = '', revision = revision + 1, profile = json_replace(profile,
           '$.name', '', '$.description', NULL, '$.apiBaseUrl', '', '$.image', '', '$.agentSlug', '',
           '$.author', json(?2), '$.legal', json(?3), '$.tags', json('[]'),
           '$.exampleOutputs', json('[]'), '$.paymentSources', json('[]'), '$.verifications', json('[]'))
         WHERE kind IN ('Agent', 'InboxAgent') AND network IN ('Preprod', 'Mainnet')
           AND state = 'RegistrationFailed' AND created_by_id = ?1 AND name <> '' RETURNING 1`,
        keyId,
        JSON.stringify(EMPTY_AUTHOR),
        JSON.stringify(EMPTY_LEGAL),
      ),
    ],
  },
];

/**
 * Builds the next portion of an erasure, for a batch.
 *
 * @param now - epoch milliseconds
 */
export function buildErasure(keyId: string, now: number, erasures: readonly Erasure[] = ERASURES) {
  const statements: Statement[] = [];
  const parts = erasures.map(({ what, toStatements }) => {
    statements.push(...toStatements(keyId, now));
    return { what, last: statements.length - 1 };
  });
  return {
    statements,
    /**
     * Counts the rows that the portion has erased.
     *
     * @param results - of the statements; null: the database applied the batch, and its answer was lost
     */
    count(results: readonly D1Result[] | null) {
      const erased = parts.map(({ what, last }) => ({
        what,
        count: results && (results[last]?.results.length ?? 0),
      }));
      const isComplete = erased.every(({ count }) => count !== null && count < MAX_ERASED_ROWS);
      return { erased, isComplete };
    },
  };
}
