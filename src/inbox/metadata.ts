import * as z from "zod";
import { checkPublicUrl, PublicFetchError } from "../http/outbound/fetch-public.ts";
import { slugProblem } from "./slug.ts";

/** The metadata of an inbox agent's token. */
export interface InboxMetadata {
  name: string;
  description: string | null;
  agentSlug: string;
  /** Without a trailing slash. */
  providerUrl: string | null;
  metadataVersion: number;
}

/** The writers of both generations; see `registrations/metadata.ts`. */
const TYPE = /^MasumiInboxV[12]$/;
const SLUG_LENGTH = 80;
const URL_LENGTH = 2000;

/** One text, or the list of its chunks. */
const text = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => (Array.isArray(value) ? value.join("") : value));

const metadata = z.object({
  type: text.refine((type) => TYPE.test(type)),
  name: text.pipe(z.string().trim().min(1).max(120)),
  description: text.pipe(z.string().trim().max(500)).nullish(),
  agentslug: text.pipe(
    z
      .string()
      .max(SLUG_LENGTH)
      .refine((slug) => slugProblem(slug) === null),
  ),
  provider_url: text.pipe(z.string().max(URL_LENGTH).refine(isProviderUrl)).nullish(),
  metadata_version: z.coerce.number().pipe(z.literal(1)),
});

/**
 * Reads the metadata of an inbox agent's token. Null when it is none, or breaks a rule: then it has
 * no inbox.
 *
 * @param value - the token's metadata under label 721, as JSON
 */
export function readInboxMetadata(value: unknown): InboxMetadata | null {
  const parsed = metadata.safeParse(value);
  if (!parsed.success) return null;
  const { name, description, agentslug, provider_url, metadata_version } = parsed.data;
  return {
    name,
    description: description || null,
    agentSlug: agentslug,
    providerUrl: provider_url?.replace(/\/$/, "") ?? null,
    metadataVersion: metadata_version,
  };
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
