/** What this service mints, read by the rules of other services. */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { Metadatum } from "../../src/chain/metadata.ts";
import { openDb } from "../../src/db/client.ts";
import { buildRegistrationLabels } from "../../src/registrations/registration-labels.ts";
import { readRegistration } from "../../src/registrations/store.ts";
import { type AgentProfile, readProfile } from "../../src/registry/entries/profile.ts";
import { emptyTables } from "../support/app.ts";
import { runs } from "../support/effort.ts";
import { FOREIGN_READERS } from "../support/registry/foreign-readers.ts";
import {
  RegistrationFixture,
  type ShownRegistration,
} from "../support/registry/registration-fixture.ts";

const TYPES = ["Web3ChainV1", "Web3ChainV2"] as const;
const TOKEN = `${"ab".repeat(28)}${"cd".repeat(32)}`;
const PRICE = [
  { unit: "LOVELACE", amount: "5000000" },
  { unit: TOKEN.toUpperCase(), amount: "7" },
  { unit: "ab".repeat(28), amount: "9" },
];
const PRICING = { pricingType: "Fixed", Pricing: PRICE };

beforeEach(emptyTables);

/** The metadata of a token, as the provider shows it, and the message of the transaction. */
async function mintedOf(
  fixture: RegistrationFixture,
  { agentIdentifier: unit, ...row }: ShownRegistration,
) {
  const { onchain_metadata } = await fixture.chain.get<{ onchain_metadata: unknown }>(
    `/assets/${unit}`,
  );
  const labels = await fixture.chain.get<{ label: string; json_metadata: unknown }[]>(
    `/txs/${row.CurrentTransaction?.txHash}/metadata`,
  );
  const message = labels.find(({ label }) => label === "674")?.json_metadata;
  return { metadata: onchain_metadata, message };
}

describe.each(TYPES)("a token that is minted under a policy of %s", (type) => {
  it("is an agent for other services, with its prices and the names of the chain", async () => {
    const fixture = await RegistrationFixture.open({ type });
    const { data } = await fixture.register({ AgentPricing: PRICING });
    expect(data.AgentPricing).toEqual({
      pricingType: "Fixed",
      Pricing: [
        { unit: "", amount: "5000000" },
        { unit: TOKEN, amount: "7" },
        { unit: "ab".repeat(28), amount: "9" },
      ],
    });
    await fixture.settle();
    const { metadata, message } = await mintedOf(fixture, await fixture.shown(data.id));
    expect(message).toEqual({ msg: ["Masumi", "RegisterAgent"] });
    const pieces = (text: string) => text.match(/.{1,60}/g) ?? [];
    if (type === "Web3ChainV1")
      expect(FOREIGN_READERS[type].agent.parse(metadata).agentPricing).toEqual({
        pricingType: "Fixed",
        fixedPricing: [
          { unit: "", amount: "5000000" },
          { unit: TOKEN, amount: "7" },
          { unit: "ab".repeat(28), amount: "9" },
        ],
      });
    else {
      const read = FOREIGN_READERS[type].agent.parse(metadata);
      expect(read.supported_payment_sources).toMatchObject([
        {
          settlement: { paymentSourceType: "Web3CardanoV2", address: fixture.contract.address },
          pricing: {
            pricingType: "Fixed",
            fixed: [
              { asset: "", amount: "5000000" },
              { asset: TOKEN, amount: "7" },
              { asset: "ab".repeat(28), amount: "9" },
            ],
          },
        },
      ]);
      expect(metadata).toMatchObject({
        supported_payment_sources: [
          {
            pricing: {
              fixed: [{ asset: "" }, { asset: pieces(TOKEN) }, { asset: PRICE[2]?.unit }],
            },
          },
        ],
      });
    }
  });

  it("is an inbox agent for other services", async () => {
    const fixture = await RegistrationFixture.open({ type });
    const { data } = await fixture.ask("POST", "/inbox-agents", {
      network: "Preprod",
      sellingWalletVkey: fixture.sellers[0].vkey,
      name: "An inbox",
      description: "For letters",
      agentSlug: "an-inbox",
    });
    await fixture.settle();
    const registered = await fixture.shown(data.id, "/inbox-agents");
    const { metadata, message } = await mintedOf(fixture, registered);
    expect(message).toEqual({ msg: ["Masumi", "RegisterAgent"] });
    expect(FOREIGN_READERS[type].inbox.parse(metadata)).toMatchObject({
      name: "An inbox",
      agentslug: "an-inbox",
    });
  });

  it("is readable for others whatever its texts are", async () => {
    const fixture = await RegistrationFixture.open({ type });
    await fc.assert(
      fc.asyncProperty(body, async (overrides) => {
        const { status, message, data } = await fixture.register(overrides);
        expect({ status, message }).toEqual({ status: 200, message: "" });
        const row = await readRegistration(openDb(env), data.id);
        if (!row) throw new Error("the registration was not stored");
        const token = buildRegistrationLabels(row, "Registration", "00").get(721n);
        const metadata = jsonOf(token)[row.policyId]["00"];
        expect(FOREIGN_READERS[type].agent.parse(metadata)).toMatchObject({
          name: data.name,
          api_base_url: data.apiBaseUrl,
          tags: data.Tags,
        });
        const own = readProfile(metadata);
        expect(own).toMatchObject({
          ok: true,
          profile: { pricing: (row.profile as AgentProfile).pricing },
        });
      }),
      runs(20, 300),
    );
  });
});

/** A metadatum as JSON. The ledger takes no text of more than 64 bytes. */
// biome-ignore lint/suspicious/noExplicitAny: the reader is what checks the shape
function jsonOf(value: Metadatum | undefined): any {
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, one]) => [String(key), jsonOf(one)]));
  if (Array.isArray(value)) return value.map(jsonOf);
  expect(new TextEncoder().encode(String(value)).length).toBeLessThanOrEqual(64);
  return value;
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length;
/** Texts of any script, of as many characters as the API takes. */
const text = (max = 250) =>
  fc
    .string({ unit: "grapheme", minLength: 1, maxLength: max })
    .filter((one) => one.length <= max && one.isWellFormed());
const short = text(60).filter((one) => bytesOf(one) <= 60);
const unit = fc.oneof(
  fc.constantFrom("", "lovelace", "Lovelace"),
  fc
    .uint8Array({ minLength: 28, maxLength: 60 })
    .map((bytes) => Buffer.from(bytes).toString("hex")),
);
const amount = fc.bigInt({ min: 1n, max: 10n ** 18n }).map(String);

/** Bodies of `POST /registry` that are within its bounds. */
const body = fc.record({
  name: text(),
  description: fc.option(text()),
  Tags: fc.array(
    text(63).filter((one) => bytesOf(one) <= 64),
    { minLength: 1, maxLength: 15 },
  ),
  ExampleOutputs: fc.array(fc.record({ name: short, mimeType: short, url: text() }), {
    maxLength: 3,
  }),
  Capability: fc.record({ name: text(), version: short }),
  Author: fc.record({ name: text(), organization: fc.option(text()) }),
  Legal: fc.record({ terms: fc.option(text()), other: fc.option(text()) }),
  AgentPricing: fc.oneof(
    fc.constantFrom({ pricingType: "Free" }, { pricingType: "Dynamic" }),
    fc.record({
      pricingType: fc.constant("Fixed"),
      Pricing: fc.array(fc.record({ unit, amount }), { minLength: 1, maxLength: 5 }),
    }),
  ),
});

it.each([
  [
    "ExampleOutputs[0].name",
    { ExampleOutputs: [{ name: "ü".repeat(31), mimeType: "a/b", url: "u" }] },
  ],
  [
    "ExampleOutputs[0].mimeType",
    { ExampleOutputs: [{ name: "n", mimeType: "ü".repeat(31), url: "u" }] },
  ],
  ["Capability.version", { Capability: { name: "n", version: "ü".repeat(31) } }],
])("POST /registry answers 400 where other readers would refuse %s", async (field, overrides) => {
  const fixture = await RegistrationFixture.open();
  expect(await fixture.register(overrides)).toMatchObject({
    status: 400,
    message: `${field}: must have at most 60 bytes in UTF-8`,
  });
});
