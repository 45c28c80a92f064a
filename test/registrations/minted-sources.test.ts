/** What a token lists of the ways to pay an agent and of its credentials, read by others and by us. */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, expect, it } from "vitest";
import { encodeLabels, jsonToMetadatum, type Metadatum } from "../../src/chain/metadata.ts";
import { parseTokenMetadata } from "../../src/chain/token-metadata.ts";
import { openDb } from "../../src/db/client.ts";
import { buildRegistrationLabels } from "../../src/registrations/registration-labels.ts";
import { readRegistration } from "../../src/registrations/store.ts";
import {
  type AgentProfile,
  type ListedSource,
  readProfile,
} from "../../src/registry/entries/profile.ts";
import { emptyTables } from "../support/app.ts";
import { runs } from "../support/effort.ts";
import { FOREIGN_READERS } from "../support/registry/foreign-readers.ts";
import { requested } from "../support/registry/registration-fixture.ts";

const V2 = "Web3ChainV2";
const NAME = "cd".repeat(32);

beforeEach(emptyTables);

const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((one) => Buffer.from(one).toString("hex"));
const evmAddress = hex(20).map((one) => `0x${one}`);
const url = fc
  .string({ unit: "grapheme", maxLength: 120 })
  .filter((one) => one.isWellFormed())
  .map((one) => `https://a.example/${one}`);
const amount = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String);
const shortText = fc
  .string({ unit: "grapheme", maxLength: 15 })
  .filter((one) => one.isWellFormed());
/** JSON that metadata can hold. */
const { extra } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    shortText,
    fc.maxSafeInteger(),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("extra"),
  ),
  extra: fc.dictionary(
    shortText.filter((one) => one !== "__proto__"),
    tie("value"),
    { maxKeys: 4, noNullPrototype: true },
  ),
}));

const nothing = { scheme: null, payTo: null, resource: null, decimals: null };
const onLedger: fc.Arbitrary<ListedSource> = fc.record({
  isOnLedger: fc.constant(true),
  chain: fc.constant("Cardano"),
  network: fc.constant("Preprod"),
  type: fc.constant(V2),
  contractAddress: hex(40).map((one) => `addr_test1${one}`),
  pricing: fc.oneof(
    fc.constantFrom(
      { type: "Free" as const, amounts: [] },
      { type: "Dynamic" as const, amounts: [] },
    ),
    fc.record({
      type: fc.constant("Fixed" as const),
      amounts: fc.array(fc.record({ unit: fc.oneof(fc.constant(""), hex(28), hex(60)), amount }), {
        minLength: 1,
        maxLength: 5,
      }),
    }),
  ),
  ...Object.fromEntries(Object.keys(nothing).map((name) => [name, fc.constant(null)])),
}) as fc.Arbitrary<ListedSource>;
const onEvm: fc.Arbitrary<ListedSource> = fc
  .record({
    network: fc.integer({ min: 1, max: 10 ** 9 }).map((one) => `eip155:${one}`),
    payTo: evmAddress,
    resource: fc.option(url),
    extra: fc.option(extra as fc.Arbitrary<Record<string, unknown>>),
    token: evmAddress,
    amount,
    decimals: fc.integer({ min: 0, max: 255 }),
    kind: fc.constantFrom("Fixed", "Dynamic", "DynamicOne", "Free"),
  })
  .map(({ kind, token, amount, decimals, extra, ...rest }) => ({
    ...{ isOnLedger: false, chain: "EVM", type: null, contractAddress: null, scheme: "Exact" },
    ...rest,
    pricing: {
      type: kind === "DynamicOne" ? "Dynamic" : (kind as "Fixed" | "Dynamic" | "Free"),
      amounts: kind === "Fixed" ? [{ unit: token, amount }] : [],
    },
    decimals: kind === "Fixed" || kind === "DynamicOne" ? decimals : null,
    ...(kind === "DynamicOne" && { dynamicAsset: token }),
    ...(extra && { extra }),
  }));
const identifier = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 128 });
const verification = fc.record(
  {
    method: fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 40 }),
    schemaVersion: fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 16 }),
    issuer: fc.record({ aid: identifier, oobi: url }),
    schema: fc.record({ said: identifier, oobi: url }),
    credential: fc.record(
      { said: identifier, oobi: url, registry: identifier },
      { requiredKeys: ["said", "oobi"] },
    ),
    holder: fc.record({ aid: identifier, oobi: url }),
    baseUrl: url,
  },
  { requiredKeys: ["method", "issuer", "schema", "credential", "holder"] },
);

it("is read by others and by us as it was registered", async () => {
  const { id } = await requested({ type: V2 });
  const row = await readRegistration(openDb(env), id);
  if (!row) throw new Error("the registration was not stored");
  const property = fc.property(
    fc.array(fc.oneof(onLedger, onEvm), { minLength: 1, maxLength: 25 }),
    fc.array(verification, { maxLength: 10 }),
    (paymentSources, found) => {
      const first = paymentSources.find(({ isOnLedger }) => isOnLedger)?.pricing;
      const pricing = first ?? { type: "Free" as const, amounts: [] };
      const profile: AgentProfile = {
        ...(row.profile as AgentProfile),
        pricing,
        paymentType: pricing.type === "Free" ? "None" : V2,
        // Readers do not see the id of the paid resource.
        paymentSources: paymentSources.map((one) => ({ ...one, resourceId: "id" })),
        ...(found.length > 0 && { verifications: found }),
      };
      const labels = buildRegistrationLabels({ ...row, profile }, "Registration", NAME);
      const bytes = encodeLabels(labels);
      expect(bytes.length).toBeGreaterThan(0);
      const cbor = encodeLabels(new Map([[721n, labels.get(721n) as Metadatum]])).subarray(4);
      const metadata = parseTokenMetadata(cbor, row.policyId, NAME);
      FOREIGN_READERS[V2].agent.parse(metadata);
      expect(readProfile(metadata)).toEqual({ ok: true, profile: { ...profile, paymentSources } });
    },
  );
  fc.assert(property, runs(50, 2_000));
});

it("refuses JSON that the ledger's metadata cannot hold", () => {
  const nested = Array.from({ length: 12 }).reduce<unknown>((inner) => [inner], "a");
  for (const value of [true, null, 0.5, 2 ** 53, "x".repeat(65), "ü".repeat(33), "\ud800", nested])
    expect(() => jsonToMetadatum({ value }), String(value)).toThrow("must");
  expect(() => jsonToMetadatum({ ["x".repeat(65)]: 1 })).toThrow("64 bytes");
});
