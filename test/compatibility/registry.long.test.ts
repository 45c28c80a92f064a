/** What the marketplace and the SaaS client read of agents, literally. */
import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { version } from "../../package.json";
import { openDb, statement } from "../../src/db/client.ts";
import { emptyTables } from "../support/app.ts";
import { EntryWriter, registered } from "../support/registry/entries.ts";
import { openInbox } from "../support/registry/inbox.ts";
import { RegistrationFixture } from "../support/registry/registration-fixture.ts";
import { type ExternalApp, startBoth } from "./external-app.ts";

let own: ExternalApp;
let external: ExternalApp;

beforeAll(async () => {
  ({ own, external } = await startBoth());
});
beforeEach(emptyTables);

/** A registered agent, and how to read it from a service. */
async function agentOf(type: "Web3ChainV1" | "Web3ChainV2") {
  const fixture = await RegistrationFixture.open({ type });
  const { data } = await fixture.register();
  await fixture.settle();
  const { agentIdentifier } = await fixture.shown(data.id);
  const read = async (app: ExternalApp, path: string, query: object = {}) => {
    const params = new URLSearchParams({ network: "Preprod", ...query });
    const answer = await app.request("GET", `/api/v1${path}?${params}`, { env: fixture.env() });
    expect(answer).toMatchObject({ status: 200 });
    return answer.data;
  };
  return { fixture, id: data.id, agentIdentifier, read };
}

describe("supportedPaymentSources", () => {
  it("are in each answer about an agent of Web3CardanoV2, as its token lists them", async () => {
    const { fixture, agentIdentifier, read } = await agentOf("Web3ChainV2");
    const supportedPaymentSources = [
      {
        chain: "Cardano",
        network: "Preprod",
        paymentSourceType: "Web3CardanoV2",
        address: fixture.contract.address,
        pricing: { pricingType: "Fixed", fixed: [{ asset: "", amount: "5000000" }] },
      },
    ];
    const metadata = { supportedPaymentSources, verifications: null };
    const { Metadata } = await read(external, "/registry/agent-identifier", { agentIdentifier });
    expect(Metadata).toMatchObject(metadata);
    expect(Metadata.supportedPaymentSources).toEqual(supportedPaymentSources);
    const walletVkey = fixture.sellers[0].vkey;
    for (const [path, query, found] of [
      ["/registry", {}, metadata],
      ["/registry/diff", {}, metadata],
      ["/registry/wallet", { walletVkey }, { Metadata: metadata }],
    ] as const)
      expect((await read(external, path, query)).Assets, path).toMatchObject([found]);
    const body = { ...fixture.agent({ name: "again" }), agentIdentifier };
    const updated = await external.request("POST", "/api/v1/registry/update", {
      body,
      env: fixture.env(),
    });
    expect(updated.data).toMatchObject({ state: "UpdateRequested", ...metadata });
  });

  it("are null for an agent of Web3CardanoV1, which is paid at its policy's contract", async () => {
    const { agentIdentifier, read } = await agentOf("Web3ChainV1");
    const metadata = { supportedPaymentSources: null, verifications: null };
    const { Metadata } = await read(external, "/registry/agent-identifier", { agentIdentifier });
    expect(Metadata).toMatchObject(metadata);
    expect((await read(external, "/registry")).Assets).toMatchObject([metadata]);
  });

  it("are not in the answers of a deployment without these names", async () => {
    const { agentIdentifier, read } = await agentOf("Web3ChainV2");
    const { Metadata } = await read(own, "/registry/agent-identifier", { agentIdentifier });
    expect(Object.keys(Metadata)).not.toContain("supportedPaymentSources");
    expect(Metadata.SupportedPaymentSources).toMatchObject([{ chain: "Chain", sourceIndex: 0 }]);
    const [asset] = (await read(own, "/registry")).Assets;
    expect(Object.keys(asset)).not.toContain("verifications");
  });
});

describe("SupportedPaymentSources of the registry", () => {
  it("have the names of the deployment, whichever wrote the entry", async () => {
    const writer = await EntryWriter.create();
    const source = {
      chain: "Cardano",
      network: "Preprod",
      settlement: { paymentSourceType: "Web3CardanoV2", address: "addr_test1" },
      pricing: { pricingType: "Free" },
    };
    const evm = { scheme: "Exact", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" };
    const sources = [source, { ...source, chain: "EVM", network: "eip155:84532", settlement: evm }];
    await writer.write({
      a: registered("a", { metadata_version: "2", supported_payment_sources: sources }),
    });
    const body = { network: "Preprod", statusUpdatedAfter: "1970-01-01" };
    const { data } = await external.request("POST", "/api/v1/registry-diff", { body });
    expect(data.entries[0].SupportedPaymentSources).toEqual([
      {
        chain: "Cardano",
        network: "Preprod",
        sourceIndex: 0,
        paymentSourceType: "Web3CardanoV2",
        address: "addr_test1",
        scheme: null,
        pricing: { pricingType: "Free" },
        payTo: null,
        resource: null,
      },
      {
        chain: "EVM",
        network: "eip155:84532",
        sourceIndex: 1,
        paymentSourceType: null,
        address: evm.payTo,
        scheme: "Exact",
        pricing: { pricingType: "Free" },
        payTo: evm.payTo,
        resource: null,
      },
    ]);
  });
});

describe("the inbox agents of the SaaS client", () => {
  it("are listed, counted and read under /registry-inbox", async () => {
    const inbox = await openInbox();
    const { fixture, slug } = inbox;
    const { id } = (await inbox.register()).data;
    await fixture.settle();
    const get = async (path: string, query: object = {}) => {
      const params = new URLSearchParams({ network: "Preprod", ...query });
      const at = `/api/v1/registry-inbox${path}?${params}`;
      return (await external.request("GET", at, { env: fixture.env() })).data;
    };
    const { Assets } = await get("/diff", { limit: 10 });
    const [{ agentIdentifier }] = Assets;
    const walletVkey = fixture.sellers[0].vkey;
    expect(Assets).toMatchObject([
      {
        error: null,
        id,
        name: "An inbox",
        description: "Takes letters",
        agentSlug: slug,
        state: "RegistrationConfirmed",
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
        agentIdentifier: expect.stringContaining(fixture.contract.policyId),
        metadataVersion: 1,
        sendFundingLovelace: null,
        SmartContractWallet: { walletVkey, walletAddress: fixture.sellers[0].address },
        RecipientWallet: null,
        CurrentTransaction: { txHash: expect.any(String), status: "Confirmed" },
      },
    ]);
    expect((await get("/count")).total).toBe(1);
    const asset = {
      policyId: fixture.contract.policyId,
      assetName: agentIdentifier.slice(56),
      agentIdentifier,
      Metadata: {
        name: "An inbox",
        description: "Takes letters",
        agentSlug: slug,
        metadataVersion: 1,
      },
    };
    expect(await get("/wallet", { walletVkey })).toEqual({ Assets: [asset] });
    expect(await get("/agent-identifier", { agentIdentifier })).toEqual(asset);
  });
});

describe("GET /capability", () => {
  it("needs no network, and lists a capability of both networks once", async () => {
    const writer = await EntryWriter.create();
    const offering = (name: string) => registered(name, { capability: { name, version: "1" } });
    await writer.write({ a: offering("x"), b: offering("y") });
    await openDb(env).batch([statement("UPDATE registry_entry SET status = 'Online'")]);
    const namesOf = async (query: string) => {
      const { data } = await external.request("GET", `/api/v1/capability?${query}`);
      return data.capabilities.map(({ name }: { name: string }) => name).sort();
    };
    expect(await namesOf("")).toEqual(["x", "y"]);
    expect(await namesOf("limit=1")).toHaveLength(1);
    expect(await namesOf("network=Preprod")).toEqual(["x", "y"]);
    expect(await namesOf("network=Mainnet")).toEqual([]);
    expect(await own.request("GET", "/api/v1/capability")).toMatchObject({
      status: 400,
      error: { message: "network: is required" },
    });
  });
});

describe("GET /health", () => {
  it("names the kind and the version of the service", async () => {
    const { data } = await external.request("GET", "/api/v1/health");
    expect(data).toMatchObject({ status: "ok", type: "masumi-registry", version });
    const ours = await own.request("GET", "/api/v1/health");
    const { type: _, version: __, ...same } = data;
    expect(ours.data).toEqual(same);
  });
});
