import * as z from "zod";
import { described, named } from "../../http/openapi/fields.ts";
import { textParameter } from "../../http/openapi/parameters.ts";
import { joinChunks } from "../metadata/fields.ts";

/** Verifications that an agent may list. */
export const MAX_VERIFICATIONS = 10;

const EXAMPLE_AID = "EBfdlu8R27Fbx-ehrqwImnK-8Cm79sqbAQ4MmvEAYqao";

const identifierOf = (what: string) =>
  described(textParameter(128), `Self-addressing identifier of ${what} (KERI).`, EXAMPLE_AID);
const urlOf = (what: string) =>
  described(
    textParameter(500)
      .refine(
        (url) => /^https?:\/\//i.test(url) && URL.canParse(url),
        "must be an http or https URL",
      )
      .meta({ format: "uri", pattern: "^[Hh][Tt][Tt][Pp][Ss]?://" }),
    `URL that serves ${what}. The service never fetches the URL.`,
    `https://witness.example.com/oobi/${EXAMPLE_AID}`,
  );

/** A credential about an agent, which anyone can check (KERI, ACDC). */
export const agentVerification = named(
  "AgentVerification",
  "A credential about an agent that anyone can check. The service does not check the credential.",
  z.object({
    method: described(textParameter(40), "Method of the verification.", "KERI-ACDC"),
    schemaVersion: described(
      textParameter(16).optional(),
      "Version of this format. Omitted: none.",
      "1",
    ),
    issuer: described(
      z.object({ aid: identifierOf("the issuer"), oobi: urlOf("the issuer's keys") }),
      "Issuer of the credential.",
    ),
    schema: described(
      z.object({ said: identifierOf("the schema"), oobi: urlOf("the schema") }),
      "Schema of the credential.",
    ),
    credential: described(
      z.object({
        said: identifierOf("the credential"),
        oobi: urlOf("the credential"),
        registry: described(
          identifierOf("the registry of revocations").optional(),
          "Self-addressing identifier of the registry of revocations. Omitted: none.",
          EXAMPLE_AID,
        ),
      }),
      "The credential.",
    ),
    holder: described(
      z.object({ aid: identifierOf("the holder"), oobi: urlOf("the holder's keys") }),
      "Holder of the credential.",
    ),
    baseUrl: described(
      urlOf("the state of keys").optional(),
      "URL that serves the state of keys. Omitted: none.",
      "https://witness.example.com",
    ),
  }),
);

export type AgentVerification = z.output<typeof agentVerification>;

/** The credentials about an agent, in an answer. */
export const verifications = described(
  z.array(agentVerification),
  "Credentials about an agent of Web3ChainV2, as its token lists them.",
);

/** A text of the metadata, in one piece or in several; undefined: none. */
const leaf = z.unknown().optional().transform(joinChunks);
const reference = z
  .object({ aid: leaf, said: leaf, oobi: leaf, registry: leaf })
  .partial()
  .transform((fields) => withoutUndefined(fields));

const mintedVerification = z
  .object({
    method: leaf,
    schemaVersion: leaf,
    issuer: reference,
    schema: reference,
    credential: reference,
    holder: reference,
    baseUrl: leaf,
  })
  .transform((fields) => withoutUndefined(fields))
  .pipe(agentVerification);

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The verifications of a token's metadata, without those that cannot be read. They make no token unreadable. */
export function readVerifications(value: unknown): AgentVerification[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MAX_VERIFICATIONS).flatMap((item) => {
    const parsed = mintedVerification.safeParse(item);
    return parsed.success ? [parsed.data] : [];
  });
}
