/** What the public catalog says of a paid resource (x402 extension `bazaar`). */
import * as z from "zod";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { described, named } from "../../http/openapi/fields.ts";
import { textParameter } from "../../http/openapi/parameters.ts";
import { checkPublicUrl, PublicFetchError } from "../../http/outbound/fetch-public.ts";
import { listLoopbackOrigins } from "../../http/outbound/loopback-origins.ts";

/** Key of the x402 extension. */
export const BAZAAR_EXTENSION = "bazaar";

/** Bytes of an entry's JSON. A page of the catalog has up to 100 entries. */
const MAX_ENTRY_BYTES = 8 * 1024;

/** Text that the SDK shows unchanged. */
function shortText() {
  return textParameter(32).regex(/^[ -~]+$/, "must be printable ASCII");
}

/** What the catalog says of a resource, beside its URL, description and terms. */
export const discoveryEntry = named(
  "X402DiscoveryEntry",
  "What the public catalog says of a resource (x402 extension `bazaar`).",
  z
    .object({
      serviceName: described(shortText().optional(), "Name of the service.", "Forecasts"),
      tags: described(
        z
          .array(described(shortText(), "A topic.", "weather"))
          .max(5)
          .optional(),
        "Topics of the resource.",
      ),
      mimeType: described(
        textParameter(100).optional(),
        "Media type of the answer.",
        "application/json",
      ),
      info: described(
        z
          .looseObject({
            input: described(
              z.looseObject({
                type: described(z.literal("http"), "Protocol of the resource.", "http"),
              }),
              "The request.",
              { type: "http", method: "GET" },
            ),
          })
          .optional(),
        "How a buyer calls the resource: `info` of the extension.",
        { input: { type: "http", method: "GET", queryParams: { city: "Vienna" } } },
      ),
      schema: described(
        z.record(z.string(), z.unknown()).optional(),
        "JSON Schema of `info`: `schema` of the extension.",
        { type: "object" },
      ),
    })
    .refine(
      (entry) => new TextEncoder().encode(JSON.stringify(entry)).length <= MAX_ENTRY_BYTES,
      `must have at most ${MAX_ENTRY_BYTES} bytes of JSON`,
    ),
);

export type DiscoveryEntry = z.output<typeof discoveryEntry>;

/**
 * Checks that a resource may be in the catalog: strangers fetch what it names, for the price that it names.
 *
 * @throws ApiError 400
 */
export async function requireListable(
  c: AppContext,
  { url, amount }: { url: string | null; amount: string | null },
): Promise<void> {
  if (url === null) throw new ApiError(400, "discovery: needs a resource with a URL");
  if (amount === null) throw new ApiError(400, "discovery: needs a resource with a fixed price");
  const loopbackOrigins = await listLoopbackOrigins(c.env, c.var.deadline);
  try {
    checkPublicUrl(url, { loopbackOrigins });
  } catch (error) {
    if (!(error instanceof PublicFetchError)) throw error;
    throw new ApiError(400, `discovery: the resource's URL ${error.message}`);
  }
}
