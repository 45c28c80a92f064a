import type { MiddlewareHandler } from "hono";
import type { Network } from "../chain/network.ts";
import { type Database, openDb } from "../db/client.ts";
import { trackPrimaryBookmark } from "../db/primary-bookmark.ts";
import type { AppContext, AppEnv } from "./context.ts";
import { ApiError } from "./errors.ts";

const BOOKMARK_PATTERN = /^[0-9a-f]{1,16}(-[0-9a-f]{1,64}){1,5}$/i;

/**
 * The database for a read that a replica near the client may answer. With the bookmark of
 * `x-d1-bookmark`, the replica is at least as new as the bookmark.
 *
 * @throws ApiError 400 when the bookmark is malformed
 */
export function openReadSession(c: AppContext, network: Network): Database {
  const bookmark = c.req.header("x-d1-bookmark");
  if (bookmark !== undefined && !BOOKMARK_PATTERN.test(bookmark))
    throw new ApiError(400, "x-d1-bookmark: must be the value of an earlier response");
  return openDb(c.env, network, {
    deadline: c.var.deadline,
    reads: bookmark === undefined ? "replica" : { bookmark },
  });
}

/** A JSON answer from finished text, with the bookmark of the session it was read in. */
export function createJsonResponse(
  c: AppContext,
  body: string,
  session: Database,
): Promise<Response> {
  const bookmark = session.bookmark();
  return createConditionalResponse(c, body, bookmark === null ? {} : { "x-d1-bookmark": bookmark });
}

/**
 * Answers a write with the bookmark of the database after it: a read with that bookmark sees the write.
 * A read answers with the bookmark of the session that it read in.
 */
export const returnBookmark: MiddlewareHandler<AppEnv> = async (c, next) => {
  const seen = await trackPrimaryBookmark(next);
  if (c.req.method === "GET" || !c.res.ok || c.res.headers.has("x-d1-bookmark")) return;
  const bookmark = seen.bookmark ?? (await readPrimaryBookmark(c));
  if (bookmark !== null) c.res.headers.set("x-d1-bookmark", bookmark);
};

/** The bookmark after a write that an object made alone, and does not tell it. */
async function readPrimaryBookmark(c: AppContext): Promise<string | null> {
  const { bookmark } = await trackPrimaryBookmark(() => openDb(c.env).all("SELECT 1"));
  return bookmark;
}

/** A page that tells its version without its texts. */
export interface VersionedPage {
  readVersion: () => Promise<string>;
  read: () => Promise<{ body: string; version: string }>;
}

/** A page without records. Where every record of a page gets the same fields, its extension has them. */
const EMPTY_PAGE = '{"data":{}}';

/**
 * Answers with a page. Its ETag is that of its version, the request, what the caller may see and the
 * fields that are added to its records. These must be the same for every record. With `If-None-Match`
 * the version is read first, so that a 304 reads no text.
 */
export async function createPageResponse(
  c: AppContext,
  session: Database,
  page: VersionedPage,
): Promise<Response> {
  const { extendAnswer } = c.var;
  const { id, permission, scope } = c.var.caller;
  const shared = [c.req.url, id, permission, scope];
  const added = extendAnswer ? [extendAnswer(EMPTY_PAGE)] : [];
  const toTag = (version: string) =>
    computeTag(Buffer.from(JSON.stringify([...shared, version, ...added])));
  const respond = (etag: string, body: string | null) => {
    const bookmark = session.bookmark();
    const headers = { etag, ...(bookmark !== null && { "x-d1-bookmark": bookmark }) };
    if (body === null) return c.body(null, 304, headers);
    const extended = extendAnswer?.(body) ?? body;
    return c.body(extended, 200, { "content-type": "application/json", ...headers });
  };
  if (c.req.header("if-none-match") !== undefined) {
    const etag = await toTag(await page.readVersion());
    if (isKnownTag(c, etag)) return respond(etag, null);
  }
  const { body, version } = await page.read();
  return respond(await toTag(version), body);
}

/**
 * A JSON answer with its ETag, or 304 when the caller has it already (RFC 9110 §13.1.2). The tag is
 * that of the whole text, so everything in it counts, confirmations and added fields too, and nothing
 * is read for it. POST queries answer 304 as well.
 */
export async function createConditionalResponse(
  c: AppContext,
  body: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const bytes = Buffer.from(c.var.extendAnswer?.(body) ?? body);
  const etag = await computeTag(bytes);
  if (isKnownTag(c, etag)) return c.body(null, 304, { ...headers, etag });
  return c.body(bytes, 200, { "content-type": "application/json", ...headers, etag });
}

const ETAG_BYTES = 16;

/** The weak tag of what an answer shows: the platform may compress the body. */
async function computeTag(shown: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", shown);
  return `W/"${Buffer.from(digest, 0, ETAG_BYTES).toString("hex")}"`;
}

/** Whether the caller has an answer with the tag already (RFC 9110 §13.1.2). */
function isKnownTag(c: AppContext, etag: string): boolean {
  const known = c.req.header("if-none-match")?.split(",") ?? [];
  return known.some(
    (tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag.slice(2),
  );
}
