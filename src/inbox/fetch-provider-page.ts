import * as z from "zod";
import { toCanonicalJson } from "../canonical-json.ts";
import type { Network } from "../chain/network.ts";
import type { Env } from "../env.ts";
import {
  fetchPublic,
  PublicFetchError,
  type PublicFetchOptions,
} from "../http/outbound/fetch-public.ts";
import { listLoopbackOrigins } from "../http/outbound/loopback-origins.ts";

/** What an inbox provider publishes about an agent. */
export interface PublishedProfile {
  linkedEmail: string | null;
  encryptionPublicKey: string | null;
  encryptionKeyVersion: string | null;
  signingPublicKey: string | null;
  signingKeyVersion: string | null;
}

/**
 * The result of a look-up. `absent`: the provider does not know the slug, or names no agent there.
 * `other`: it names other agents. `unknown`: it did not answer, so nothing follows.
 */
export type ProviderPageResult =
  | { kind: "ours"; published: PublishedProfile }
  | { kind: "absent" | "other" | "unknown" };

/** Which addresses guarded fetches may reach, and how host names are resolved. */
export type OutboundOptions = Pick<
  PublicFetchOptions,
  "loopbackOrigins" | "resolverUrl" | "resolve"
>;

const MAX_PAGE_BYTES = 64 * 1024;
const MAX_PAGE_DEPTH = 32;
const IDENTIFIER_FIELDS = ["agentIdentifier", "masumiAgentIdentifier"];
const NOT_FOUND_STATUS = 404;

/**
 * Fetches the page that an inbox provider publishes for a slug, `<provider>/<slug>/public`.
 *
 * @param providerUrl - without a trailing slash
 * @param timeoutMs - in total, including the body
 */
export async function fetchProviderPage(
  providerUrl: string,
  agentSlug: string,
  agentIdentifier: string,
  outbound: OutboundOptions,
  timeoutMs: number,
): Promise<ProviderPageResult> {
  try {
    const { status, body } = await fetchPublic(
      `${providerUrl}/${encodeURIComponent(agentSlug)}/public`,
      {
        ...outbound,
        allowHttp: true,
        headers: { accept: "application/json" },
        timeoutMs,
        maxBytes: MAX_PAGE_BYTES,
      },
    );
    if (status === NOT_FOUND_STATUS) return { kind: "absent" };
    if (status < 200 || status > 299) return { kind: "unknown" };
    return readProviderPage(JSON.parse(new TextDecoder().decode(body)), agentIdentifier);
  } catch (error) {
    // No answer, or none in JSON.
    if (error instanceof PublicFetchError || error instanceof SyntaxError)
      return { kind: "unknown" };
    throw error;
  }
}

/**
 * What a page says about one agent. The keys are taken only from the object that names the agent: a
 * page may list several agents, or contain third-party text.
 */
export function readProviderPage(page: unknown, agentIdentifier: string): ProviderPageResult {
  let namesAny = false;
  for (const object of collectObjects(page)) {
    const named = IDENTIFIER_FIELDS.flatMap((field) => collectTexts(object[field], 0));
    if (named.length === 0) continue;
    namesAny = true;
    if (named.includes(agentIdentifier)) return { kind: "ours", published: readProfile(object) };
  }
  return { kind: namesAny ? "other" : "absent" };
}

type JsonObject = Record<string, unknown>;

/** All objects of a JSON value, the outer ones first. */
function collectObjects(page: unknown): JsonObject[] {
  const found: JsonObject[] = [];
  let level: unknown[] = [page];
  for (let depth = 0; level.length > 0 && depth < MAX_PAGE_DEPTH; depth++) {
    for (const value of level) if (isObject(value)) found.push(value);
    level = level.flatMap((value) =>
      Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [],
    );
  }
  return found;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text, or the texts of nested lists. */
function collectTexts(value: unknown, depth: number): string[] {
  if (typeof value === "string") return value.trim() === "" ? [] : [value.trim()];
  if (!Array.isArray(value) || depth > MAX_PAGE_DEPTH) return [];
  return value.flatMap((item) => collectTexts(item, depth + 1));
}

function readProfile(object: JsonObject): PublishedProfile {
  return {
    linkedEmail: parseText(object.linkedEmail, 320),
    encryptionPublicKey: parseKey(object.encryptionPublicKey),
    encryptionKeyVersion: parseText(object.encryptionKeyVersion, 250),
    signingPublicKey: parseKey(object.signingPublicKey),
    signingKeyVersion: parseText(object.signingKeyVersion, 250),
  };
}

const MAX_KEY_LENGTH = 4000;

/** A key is a text, or a JWK (RFC 7517), which is stored as canonical JSON text. */
function parseKey(value: unknown): string | null {
  if (!isObject(value)) return parseText(value, MAX_KEY_LENGTH);
  return isWithinDepth(value, MAX_PAGE_DEPTH)
    ? parseText(toCanonicalJson(value), MAX_KEY_LENGTH)
    : null;
}

/** Whether a value nests no deeper: what a stranger nests thousandfold, recursion does not survive. */
function isWithinDepth(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isWithinDepth(member, levels - 1));
}

function parseText(value: unknown, longest: number): string | null {
  const parsed = z.string().trim().min(1).max(longest).safeParse(value);
  return parsed.success ? parsed.data : null;
}

/** Base URLs of the default providers, for tokens that name none; none: "". */
export function readDefaultProviders(env: Env): Record<Network, string> {
  return {
    Preprod: env.INBOX_PROVIDER_URL_PREPROD ?? "",
    Mainnet: env.INBOX_PROVIDER_URL_MAINNET ?? "",
  };
}

/** How providers are reached. @param deadline - epoch milliseconds */
export async function readOutboundOptions(env: Env, deadline: number): Promise<OutboundOptions> {
  const resolverUrl = env.DNS_OVER_HTTPS_URL;
  return {
    loopbackOrigins: await listLoopbackOrigins(env, deadline),
    ...(resolverUrl && { resolverUrl }),
  };
}
