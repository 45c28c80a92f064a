import * as z from "zod";
import { parseTokenMetadata, TOKEN_METADATA_LABEL } from "../chain/token-metadata.ts";
import type { ChainTransaction } from "../chain/transaction/decode-transaction.ts";
import { type Database, type Statement, statement } from "../db/client.ts";
import { reserveStamps, stampSql } from "../db/clock.ts";
import { newId } from "../db/id.ts";
import { checkPublicUrl, PublicFetchError } from "../http/outbound/fetch-public.ts";
import { log } from "../log.ts";
import { reopenRegistrations } from "../registrations/store.ts";
import type { FollowedSource } from "../registry/sync/cursor.ts";
import type { MintTransaction } from "../registry/sync/read-mint.ts";
import { findSlugProblem } from "./slug.ts";

/** An ended registration shows no contact or keys, which may belong to another agent by now. */
export const CLEAR_PUBLISHED_FIELDS_SQL = `linked_email = NULL, encryption_public_key = NULL,
  encryption_key_version = NULL, signing_public_key = NULL, signing_key_version = NULL`;

/**
 * Applies a run of minting transactions to inbox registrations, for the batch that moves the cursor
 * past them. Applying a transaction again changes nothing. A token is minted once and burned once,
 * since its name is derived from an output that can be spent once.
 *
 * @param now - epoch milliseconds
 */
export function writeInboxMints(
  source: FollowedSource,
  mints: readonly MintTransaction[],
  now: number,
): Statement[] {
  const minted = mints.flatMap((mint) => toMintRows(source, mint, now));
  const burned = mints.flatMap((mint) => toBurnRows(source, mint));
  const count = minted.length + burned.length;
  if (count === 0) return [];
  const { id, network, policyId, url } = source;
  const mintedAt = stampSql("inbox", network, count, "item.key");
  const burnedAt = stampSql("inbox", network, count, `${minted.length} + item.key`);
  return [
    reserveStamps("inbox", network, count, now),
    statement(
      `INSERT INTO inbox_registration (id, network, source_id, policy_id, source_url,
         agent_identifier, name, description, agent_slug, provider_url, metadata_version, status,
         minted_height, due_at, created_at, updated_at, status_updated_at, revision)
       SELECT v->>'id', ?, ?, ?, ?, v->>'agentIdentifier', v->>'name', v->>'description',
         v->>'agentSlug', v->>'providerUrl', v->>'metadataVersion', 'Pending', v->>'mintedHeight',
         ?, ?, ?, at, 0
       FROM (SELECT item.value AS v, ${mintedAt.sql} AS at FROM json_each(?) AS item)
       WHERE true
       ON CONFLICT (agent_identifier, source_id) DO UPDATE SET
         status = 'Pending', minted_height = excluded.minted_height, burned_height = NULL,
         due_at = excluded.due_at, updated_at = excluded.updated_at,
         status_updated_at = excluded.status_updated_at, revision = inbox_registration.revision + 1
       WHERE inbox_registration.minted_height IS NULL`,
      network,
      id,
      policyId,
      url,
      now,
      now,
      now,
      ...mintedAt.params,
      JSON.stringify(minted),
    ),
    statement(
      `UPDATE inbox_registration SET status = 'Deregistered', burned_height = v->>'burnedHeight',
         ${CLEAR_PUBLISHED_FIELDS_SQL}, due_at = NULL, updated_at = ?, status_updated_at = at,
         revision = revision + 1
       FROM (SELECT item.value AS v, ${burnedAt.sql} AS at FROM json_each(?) AS item)
       WHERE agent_identifier = v->>'agentIdentifier' AND source_id = ? AND burned_height IS NULL`,
      now,
      ...burnedAt.params,
      JSON.stringify(burned),
      id,
    ),
  ];
}

/**
 * Undoes the changes of blocks above a height, for a batch of the registry's rollback. A token whose
 * mint is gone stays as `Deregistered`, so that clients of the diff see it. A token whose burn is gone
 * is verified again.
 *
 * @param now - epoch milliseconds
 */
export async function undoInboxMints(
  db: Database,
  { id, network }: Pick<FollowedSource, "id" | "network">,
  above: number,
  now: number,
): Promise<Statement[]> {
  const rows = await db.all<{ id: string; agent_identifier: string }>(
    `SELECT id, agent_identifier FROM inbox_registration
     WHERE source_id = ?1 AND (minted_height > ?2 OR burned_height > ?2) ORDER BY id`,
    id,
    above,
  );
  if (rows.length === 0) return [];
  const at = stampSql("inbox", network, rows.length, "item.key");
  return [
    reserveStamps("inbox", network, rows.length, now),
    statement(
      `UPDATE inbox_registration SET
         status = iif(minted_height > above, 'Deregistered', 'Pending'), ${CLEAR_PUBLISHED_FIELDS_SQL},
         due_at = iif(minted_height > above, NULL, now),
         minted_height = iif(minted_height > above, NULL, minted_height),
         burned_height = iif(burned_height > above, NULL, burned_height),
         updated_at = now, status_updated_at = at, revision = revision + 1
       FROM (SELECT item.value AS touched, ${at.sql} AS at, ? AS above, ? AS now
             FROM json_each(?) AS item)
       WHERE id = touched`,
      ...at.params,
      above,
      now,
      JSON.stringify(rows.map((row) => row.id)),
    ),
    ...reopenRegistrations(
      network,
      rows.map((row) => row.agent_identifier),
      above,
      now,
    ),
  ];
}

function toMintRows(
  { policyId }: FollowedSource,
  { transaction: tx, blockPosition: at }: MintTransaction,
  now: number,
) {
  return assetNamesOf(policyId, tx, (quantity) => quantity > 0n).flatMap((assetName) => {
    const found = metadataOf(tx, policyId, assetName);
    if (found === null) return [];
    const agentIdentifier = policyId + assetName;
    return [{ id: newId(now), agentIdentifier, mintedHeight: at.blockHeight, ...found }];
  });
}

function toBurnRows(
  { policyId }: FollowedSource,
  { transaction: tx, blockPosition: at }: MintTransaction,
) {
  return assetNamesOf(policyId, tx, (quantity) => quantity < 0n).map((assetName) => ({
    agentIdentifier: policyId + assetName,
    burnedHeight: at.blockHeight,
  }));
}

/** A transaction that failed phase 2 minted nothing. */
function assetNamesOf(
  policyId: string,
  tx: ChainTransaction,
  wanted: (quantity: bigint) => boolean,
) {
  if (!tx.isValid) return [];
  return tx.mint
    .filter((one) => one.policyId === policyId && wanted(one.quantity))
    .map(({ assetName }) => assetName);
}

function metadataOf(tx: ChainTransaction, policyId: string, assetName: string) {
  const label = tx.metadata.get(TOKEN_METADATA_LABEL);
  if (label === undefined) return null;
  try {
    return readInboxMetadata(parseTokenMetadata(label, policyId, assetName));
  } catch (error) {
    log("warn", "inbox.metadata_unreadable", { tx: tx.hash, error: String(error) });
    return null;
  }
}

/** The writers of both generations; see `registration-labels.ts`. */
const INBOX_TYPE_PATTERN = /^MasumiInboxV[12]$/;
const MAX_SLUG_LENGTH = 80;
const MAX_URL_LENGTH = 2000;

/** One text, or the list of its chunks. */
const chunkedText = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => (Array.isArray(value) ? value.join("") : value));

const inboxMetadata = z
  .object({
    type: chunkedText.refine((type) => INBOX_TYPE_PATTERN.test(type)),
    name: chunkedText.pipe(z.string().trim().min(1).max(120)),
    description: chunkedText.pipe(z.string().trim().max(500)).nullish(),
    agentslug: chunkedText.pipe(
      z
        .string()
        .max(MAX_SLUG_LENGTH)
        .refine((slug) => findSlugProblem(slug) === null),
    ),
    provider_url: chunkedText.pipe(z.string().max(MAX_URL_LENGTH).refine(isProviderUrl)).nullish(),
    metadata_version: z.coerce.number().pipe(z.literal(1)),
  })
  .transform(({ name, description, agentslug, provider_url, metadata_version }) => ({
    name,
    description: description || null,
    agentSlug: agentslug,
    providerUrl: provider_url?.replace(/\/$/, "") ?? null,
    metadataVersion: metadata_version,
  }));

/**
 * Reads the metadata of an inbox agent's token. Null when it is none, or breaks a rule: then it has
 * no inbox.
 *
 * @param value - the token's metadata under label 721, as JSON
 */
export function readInboxMetadata(value: unknown): z.output<typeof inboxMetadata> | null {
  return inboxMetadata.safeParse(value).data ?? null;
}

/** Whether a text is a URL that a path can be appended to; its address is checked when used. */
function isProviderUrl(text: string): boolean {
  try {
    const url = checkPublicUrl(text, { allowHttp: true, loopbackOrigins: [originOf(text)] });
    return url.search === "" && url.hash === "";
  } catch (error) {
    if (error instanceof PublicFetchError) return false;
    throw error;
  }
}

const originOf = (text: string) => (URL.canParse(text) ? new URL(text).origin : "");
