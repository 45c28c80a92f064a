/** What clients of the payment service send to register and update agents of Web3CardanoV2, literally. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { CREDENTIAL } from "../support/endpoints/registrations.ts";
import { RegistrationFixture } from "../support/registry/registration-fixture.ts";
import { settleRegistry } from "../support/registry/registry-sync.ts";
import { X402Fixture } from "../x402/x402-fixture.ts";
import { type ExternalApp, startBoth } from "./external-app.ts";

let own: ExternalApp;
let external: ExternalApp;
let x402: X402Fixture;
let token: string;

beforeAll(async () => {
  ({ own, external } = await startBoth());
  await emptyTables();
  x402 = await X402Fixture.create("84532-registrations");
  token = x402.contracts.token.toLowerCase();
});
beforeEach(async () => {
  await emptyTables();
  await x402.setUp();
});

async function open() {
  const fixture = await RegistrationFixture.open({ type: "Web3ChainV2" });
  const post = (path: string, body: object, app = external) =>
    app.request("POST", `/api/v1${path}`, { body, env: fixture.env() });
  const supportedPaymentSources = [
    {
      chain: "Cardano",
      network: "Preprod",
      paymentSourceType: "Web3CardanoV2",
      address: fixture.contract.address,
      pricing: { pricingType: "Fixed", fixed: [{ asset: "lovelace", amount: "5000000" }] },
    },
    {
      chain: "EVM",
      network: x402.caip2,
      paymentSourceType: null,
      scheme: "Exact",
      payTo: `0x${"AB".repeat(20)}`,
      resource: "https://agent.example.com/run",
      extra: { name: "Test Dollar", version: "1" },
      pricing: { pricingType: "Fixed", fixed: [{ asset: token, amount: "10000", decimals: 6 }] },
    },
  ];
  const { AgentPricing: _, ...agent } = fixture.agent() as Record<string, unknown>;
  return { fixture, post, agent, supportedPaymentSources };
}

const withoutType = (source: object | undefined) => {
  const { paymentSourceType: _, ...rest } = source as { paymentSourceType: null };
  return rest;
};

/** What an answer lists for `supportedPaymentSources` of `open`. */
const answered = ([ledger, evm]: object[]) => [
  {
    ...ledger,
    pricing: { pricingType: "Fixed", fixed: [{ asset: "", amount: "5000000" }] },
  },
  {
    ...withoutType(evm),
    id: expect.any(String),
    address: `0x${"ab".repeat(20)}`,
    payTo: `0x${"ab".repeat(20)}`,
  },
];

describe("POST /registry and /registry/update in the payment service's form", () => {
  it("take and give back supportedPaymentSources and verifications", async () => {
    const { fixture, post, agent, supportedPaymentSources } = await open();
    const sent = { ...agent, supportedPaymentSources, verifications: [CREDENTIAL] };
    const { status, data } = await post("/registry", sent);
    const fields = {
      supportedPaymentSources: answered(supportedPaymentSources),
      verifications: [CREDENTIAL],
    };
    expect({ status, ...data }).toMatchObject({ status: 200, ...fields });
    expect(data.supportedPaymentSources).toEqual(fields.supportedPaymentSources);
    await fixture.settle();
    const { agentIdentifier } = await fixture.shown(data.id);
    const list = await external.request("GET", "/api/v1/registry?network=Preprod", {
      env: fixture.env(),
    });
    expect(list.data.Assets).toMatchObject([fields]);

    const { sellingWalletVkey: _, ...rest } = agent;
    const unchanged = await post("/registry/update", { ...rest, name: "Second", agentIdentifier });
    expect(unchanged).toMatchObject({ status: 200, data: { name: "Second", ...fields } });
    await fixture.settle();
    const replaced = await post("/registry/update", {
      ...rest,
      agentIdentifier: (await fixture.shown(data.id)).agentIdentifier,
      supportedPaymentSources: supportedPaymentSources.slice(0, 1),
      verifications: [],
    });
    expect(replaced.data.supportedPaymentSources).toHaveLength(1);
    expect(replaced.data.verifications).toBe(null);
    await fixture.settle();
    expect(await fixture.shown(data.id)).toMatchObject({ state: "UpdateConfirmed" });
  });

  it("are of agents with an apiBaseUrl, and no other kind is taken", async () => {
    const { fixture, post, agent, supportedPaymentSources } = await open();
    const sent = { ...agent, supportedPaymentSources };
    const kind = { type: "Standard", openApiSpecUrl: null, x402ResourcesUrl: null };
    expect((await post("/registry", sent)).data).toMatchObject(kind);
    expect((await post("/registry", { ...sent, type: "Standard" })).data).toMatchObject(kind);
    for (const path of ["/registry", "/registry/diff"]) {
      const request = { env: fixture.env() };
      const { data } = await external.request("GET", `/api/v1${path}?network=Preprod`, request);
      expect(data.Assets, path).toMatchObject([kind, kind]);
    }
    const other = { ...sent, agentIdentifier: "ab".repeat(60), type: "X402" };
    for (const path of ["/registry", "/registry/update"])
      expect(await post(path, other), path).toMatchObject({
        status: 400,
        error: { message: expect.stringMatching(/^type: /) },
      });
  });

  it("take our names too", async () => {
    const { post, agent, supportedPaymentSources } = await open();
    const sent = { ...agent, SupportedPaymentSources: supportedPaymentSources };
    const { data } = await post("/registry", sent);
    expect(data.supportedPaymentSources).toEqual(answered(supportedPaymentSources));
  });

  it("are our form alone on a deployment without these names", async () => {
    const { post, agent, supportedPaymentSources } = await open();
    expect(await post("/registry", { ...agent, supportedPaymentSources }, own)).toMatchObject({
      status: 400,
      error: { message: expect.stringContaining("AgentPricing") },
    });
  });
});

it("the registry's entries list verifications without nested objects", async () => {
  const { fixture, post, agent, supportedPaymentSources } = await open();
  const verifications = [CREDENTIAL, { ...CREDENTIAL, baseUrl: undefined }];
  await post("/registry", { ...agent, supportedPaymentSources, verifications });
  const source = await fixture.followPolicy();
  await fixture.settle();
  await settleRegistry(fixture.chain, source);
  const body = { network: "Preprod", statusUpdatedAfter: "1970-01-01" };
  const flat = {
    method: "KERI-ACDC",
    schemaVersion: "1",
    issuerAid: "issuer",
    issuerOobi: CREDENTIAL.issuer.oobi,
    schemaSaid: "schema",
    schemaOobi: CREDENTIAL.schema.oobi,
    credentialSaid: "credential",
    credentialOobi: CREDENTIAL.credential.oobi,
    credentialRegistry: "registry",
    holderAid: "holder",
    holderOobi: CREDENTIAL.holder.oobi,
    baseUrl: CREDENTIAL.baseUrl,
  };
  const { data } = await post("/registry-diff", body);
  expect(data.entries[0].Verifications).toEqual([flat, { ...flat, baseUrl: null }]);
  const ours = await post("/registry-diff", body, own);
  expect(ours.data.entries[0].Verifications[0]).toEqual(CREDENTIAL);
});
