/** Every request that the OpenAPI document allows is one whose form the service takes. */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { formatAddress } from "../../../src/chain/address.ts";
import { NETWORKS } from "../../../src/chain/network.ts";
import { call, emptyTables } from "../../support/app.ts";
import { runs } from "../../support/effort.ts";
import { type Operation, openApi, problemsOf } from "../../support/endpoints/document.ts";
import { type Formats, valuesOf } from "../../support/endpoints/values.ts";

const OPERATIONS = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    title: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    operation,
  })),
);
/** Requests of a short run, over all operations. */
const REQUESTS = 300;
const EACH = runs(Math.ceil(REQUESTS / OPERATIONS.length), 150);

const MNEMONIC = `${"abandon ".repeat(11)}about`;

/** What the formats of the document mean, the standard ones and our own. */
const FORMATS: Formats = {
  // Of RFC 3339, but for leap seconds, which no clock of the service has.
  "date-time": fc
    .tuple(
      fc.date({ min: new Date("0000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
      fc.stringMatching(/^(\.\d{1,20})?$/),
      fc.stringMatching(/^(Z|[+-](0\d|1\d|2[0-3]):[0-5]\d)$/),
    )
    .map(([date, fraction, zone]) => `${date.toISOString().slice(0, 19)}${fraction}${zone}`),
  date: fc
    .date({ min: new Date("0000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
  email: fc.emailAddress(),
  uri: fc.webUrl({ withQueryParameters: true, withFragments: true }),
  "bech32-address": fc.constantFrom(
    ...NETWORKS.flatMap((network) =>
      (["key", "script"] as const).map((kind) =>
        formatAddress({
          network,
          payment: { kind, hash: "ab".repeat(28) },
          stake: kind === "key" ? { kind, hash: "cd".repeat(28) } : null,
        }),
      ),
    ),
  ),
  "time-zone": fc.constantFrom("Etc/UTC", "Europe/Berlin", "Asia/Kathmandu"),
  "printed-text": fc.string({
    unit: fc.constantFrom(..."azAZ09 .-äßçłñΩжЩ€"),
    minLength: 1,
    maxLength: 20,
  }),
  "transaction-of-the-contract": fc.stringMatching(/^[0-9a-f]{64}$/),
  "bip39-mnemonic": fc.constantFrom(MNEMONIC, MNEMONIC.toUpperCase()),
  "text-of-16-kib": fc.string({ unit: "binary", maxLength: 40 }),
  "text-of-60-bytes": fc.string({ unit: "binary", minLength: 1, maxLength: 15 }),
  "text-of-64-bytes": fc.string({ unit: "binary", minLength: 1, maxLength: 16 }),
  "rpc-url-on-the-chain": fc.webUrl(),
  "secp256k1-key": fc.stringMatching(/^0x0[0-9a-fA-F]{62}[1-9]$/),
  "wallet-signature": fc.stringMatching(/^([0-9a-f]{2}){1,80}$/),
  "at-most-six-decimals": fc.integer({ min: 0, max: 1_000_000 }).map((n) => n / 1_000_000),
  "public-https-base-url": fc.webUrl({ validSchemes: ["https"] }),
  "public-https-url": fc.webUrl({ validSchemes: ["https"], withQueryParameters: true }),
};

/** Refusals that no schema can say beforehand, by why it cannot. */
const EXCUSED: Readonly<Record<string, RegExp>> = {
  "An address has its network and its kind in its bytes":
    /[aA]ddress: must (be an address on|be a contract's address on|have a payment key)/,
  "A bound is the length of a list of the same request":
    /^requiredAdminSignatures: must be at most the number of AdminWallets$/,
  "An identifier has in it what it is of":
    /\bblockchainIdentifier\b|^supportedPaymentSourceIndex: must be omitted for an agent of/,
  "Terms inside the request say whether the resource takes one":
    /^paymentIdentifier: (is required by the resource|the resource does not accept an identifier)$/,
  "One of two parameters is needed": /^webhookId: is required, or recordId$/,
  "A header stands in for a field":
    /^Idempotency-Key: is required unless the request has a paymentIdentifier$/,
  "A bound is another time of the same request, or the present":
    /^(startDate: must not be after endDate|createdFrom: must (not be after|be at most 400 days before) createdTo)$/,
  "A network has wallets or another facilitator, and the header goes with the latter":
    /^(facilitatorUrl: must be null for a network with|facilitatorAuth: needs a facilitatorUrl$)/,
  "The key was used before": /^Idempotency-Key: was used for another request$/,
  "Only a new network needs it": /^(rpcUrl|displayName): is required$/,
  "It must be one that exists": /^(toVersionId|versionId): there is no version /,
  "A host is asked for": /^(rpcUrl|url|facilitatorUrl): the host name has no address$/,
  "VAT binds the parties to its rate: by if/then, which generators of clients do not read":
    /^(Seller|Buyer)\.vatNumber: is required (when VAT or reverse charge applies|for reverse charge)$/,
  "It must not be over":
    /^validUntil: (the signature has expired|must be at most two hours ahead)$/,
};

interface Sent {
  headers: Record<string, string>;
  query: Record<string, string>;
  body: unknown;
}

function requestsOf({ parameters = [], requestBody }: Operation): fc.Arbitrary<Sent> {
  const body = requestBody?.content["application/json"].schema;
  const known = parameters.map((one) => (one.$ref ? component(one.$ref) : one));
  const group = (place: string) => {
    const of = known.filter((one) => one.in === place);
    return fc.record(
      Object.fromEntries(
        of.map(({ name, schema }) => [name, valuesOf(schema, FORMATS).map(String)]),
      ),
      { requiredKeys: of.filter(({ required }) => required).map(({ name }) => name) },
    );
  };
  return fc.record({
    headers: group("header") as fc.Arbitrary<Record<string, string>>,
    query: group("query") as fc.Arbitrary<Record<string, string>>,
    body: body ? valuesOf(body, FORMATS) : fc.constant(undefined),
  });
}

function component(reference: string) {
  const found = openApi.components.parameters[reference.split("/").at(-1) ?? ""];
  if (!found) throw new RangeError(`${reference} is not in the document`);
  return found;
}

/** What an error says of the request's form. */
function unexcused({
  error,
  message,
}: {
  error: { message?: string };
  message?: string;
}): string[] {
  const problems = (error.message ?? message ?? "").split("; ");
  return problems.filter((one) => !Object.values(EXCUSED).some((excuse) => excuse.test(one)));
}

beforeAll(emptyTables);

describe("a request that the OpenAPI document allows", () => {
  it.each(OPERATIONS)(
    "is not refused for its form: $title",
    async ({ method, path, operation }) => {
      await fc.assert(
        fc.asyncProperty(requestsOf(operation), async ({ headers, query, body }) => {
          const answer = await call(`${path}?${new URLSearchParams(query)}`, {
            method,
            headers: { ...headers, authorization: `Bearer ${env.ADMIN_KEY}` },
            ...(body !== undefined && { body: JSON.stringify(body) }),
          });
          const text = await answer.text();
          const isJson = answer.headers.get("content-type")?.startsWith("application/json");
          const shown = isJson ? JSON.parse(text) : undefined;
          // Every operation has it in the document, and none may need it.
          expect(answer.status, text).not.toBe(500);
          if (answer.status === 400 || answer.status === 422) expect(unexcused(shown)).toEqual([]);
          if (answer.status === 304) expect(shown).toBeUndefined();
          else if (isJson) expect(problemsOf(method, path, answer.status, shown)).toEqual([]);
        }),
        EACH,
      );
    },
  );
});
