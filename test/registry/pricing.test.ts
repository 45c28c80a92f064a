import { beforeEach, describe, expect, it } from "vitest";
import { call, emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { PurchaseFixture } from "../support/escrow/purchase-fixture.ts";
import { agentMetadata } from "../support/escrow/quote-fixture.ts";
import {
  createRegistrySource,
  diff,
  metadataOf,
  runJob,
  settleRegistry,
  V1,
  V2,
} from "../support/registry/registry-sync.ts";

const ASSET = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const PAYEE = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** A way to pay over x402, as metadata of version 2 has it. */
const evm = (pricing: unknown, network = "eip155:84532") => ({
  chain: "EVM",
  network,
  settlement: { scheme: "Exact", payTo: PAYEE },
  pricing,
});
const FIXED = { pricingType: "Fixed", fixed: [{ asset: ASSET, amount: "10000", decimals: "6" }] };
const FREE = { pricingType: "Free" };
const DYNAMIC = { pricingType: "Dynamic" };

/** Metadata of an agent that is sold over x402 alone. */
function soldOverX402(...sources: object[]): Record<string, unknown> {
  const { agentPricing: _, ...rest } = metadataOf("x402", { metadata_version: "2" });
  return { ...rest, supported_payment_sources: sources };
}

const shown = (pricingType: string, Amounts: object[] = []) => ({
  pricingType,
  FixedPricing: { Amounts },
});
const OVER_X402 = shown("Fixed", [{ amount: "10000", unit: ASSET }]);

const v1 = (agentPricing: object) => metadataOf("agent", { agentPricing });
const ledger = agentMetadata(V2, "addr_test1", FREE, [evm(FIXED)]);

beforeEach(emptyTables);

describe("AgentPricing of a registry entry", () => {
  it.each([
    ["is free", V1, v1(FREE), shown("Free")],
    ["has a dynamic price", V1, v1(DYNAMIC), shown("Dynamic")],
    ["is sold over x402 at a fixed price", V2, soldOverX402(evm(FIXED)), OVER_X402],
    ["is free on the first chain only", V2, soldOverX402(evm(FREE), evm(FIXED)), OVER_X402],
    ["is sold over x402 at a dynamic price", V2, soldOverX402(evm(DYNAMIC)), shown("Dynamic")],
    ["is free over x402", V2, soldOverX402(evm(FREE)), shown("Free")],
    ["has an unreadable price", V2, soldOverX402(evm({ pricingType: "?" })), shown("Fixed")],
    [
      "has a price without an asset",
      V2,
      soldOverX402(evm({ pricingType: "Fixed", fixed: [{ asset: [], amount: "5" }] })),
      shown("Fixed"),
    ],
    ["is free on the ledger", V2, ledger, shown("Free")],
  ] as const)("has both fields in every list, for an agent that %s", async (...row) => {
    const [, version, metadata, pricing] = row;
    const chain = await TestChain.create();
    const source = await createRegistrySource(chain, version);
    const [minted] = await chain.act([{ do: "mint", as: "agent", version, metadata }]);
    await settleRegistry(chain, source);
    await runJob({ kind: "search", network: "Preprod" }, "");

    const expected = { agentIdentifier: minted?.unit, AgentPricing: pricing };
    expect(await diff()).toMatchObject([{ ...expected, statusReason: null }]);
    const filter = { status: ["Offline"] };
    const bodies = {
      "registry-entry": { filter },
      "registry-entry-search": { filter, query: "answers" },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const answer = await call(`/api/v1/${path}`, {
        method: "POST",
        body: JSON.stringify({ network: "Preprod", ...body }),
      });
      expect(await answer.json(), path).toMatchObject({ data: { entries: [expected] } });
    }
  });
});

describe("SupportedPaymentSources of a registry entry", () => {
  it("lists the ways to pay an agent in the order of its token", async () => {
    const chain = await TestChain.create();
    const source = await createRegistrySource(chain, V2);
    const { contracts } = await chain.wallets();
    const { address = "" } = contracts.find(({ type }) => type === V2) ?? {};
    const price = { pricingType: "Fixed", prices: [{ unit: "", amount: "5" }] };
    const resource = "https://agent.example.com/run";
    const metadata = agentMetadata(V2, address, price, [
      { chain: "EVM", settlement: { scheme: "Exact" }, pricing: FREE },
      { ...evm(FIXED), settlement: { scheme: "Exact", payTo: PAYEE, resource } },
      evm(DYNAMIC),
    ]);
    await chain.act([{ do: "mint", as: "agent", version: V2, metadata }]);
    await settleRegistry(chain, source);
    const x402 = { chain: "EVM", network: "eip155:84532", address: PAYEE, payTo: PAYEE };
    expect(await diff()).toMatchObject([
      {
        SupportedPaymentSources: [
          {
            chain: "Chain",
            network: "Preprod",
            sourceIndex: 0,
            paymentSourceType: "Web3ChainV2",
            address,
            scheme: null,
            pricing: { pricingType: "Fixed", fixed: [{ asset: "", amount: "5" }] },
            payTo: null,
            resource: null,
          },
          {
            ...x402,
            sourceIndex: 2,
            paymentSourceType: null,
            scheme: "Exact",
            pricing: {
              pricingType: "Fixed",
              fixed: [{ asset: ASSET, amount: "10000", decimals: 6 }],
            },
            resource,
          },
          { ...x402, sourceIndex: 3, pricing: { pricingType: "Dynamic" }, resource: null },
        ],
      },
    ]);
  });

  it("is empty for an agent of Web3ChainV1", async () => {
    const chain = await TestChain.create();
    const source = await createRegistrySource(chain, V1);
    await chain.act([{ do: "mint", as: "agent", version: V1, metadata: v1(FREE) }]);
    await settleRegistry(chain, source);
    expect(await diff()).toMatchObject([{ SupportedPaymentSources: [] }]);
  });
});

describe("an agent that is sold over x402 only", () => {
  it("is shown with its price, and neither quoted nor bought on the ledger", async () => {
    const fixture = await PurchaseFixture.open(V2);
    const quote = await fixture.quote();
    const { quotes } = fixture;
    const agentIdentifier = await quotes.agent(undefined, { metadata: soldOverX402(evm(FIXED)) });
    await settleRegistry(
      quotes.fixture.chain,
      await createRegistrySource(quotes.fixture.chain, V2),
    );
    expect(
      await quotes.fixture.ask("GET", `/payment-information?agentIdentifier=${agentIdentifier}`),
    ).toMatchObject({ status: 200, data: { AgentPricing: OVER_X402, paymentType: "None" } });

    const refused = {
      status: 400,
      message: "agentIdentifier: the agent is sold on other chains only. Pay it over x402.",
    };
    for (const supportedPaymentSourceIndex of [0, undefined]) {
      expect(await quotes.quote({ supportedPaymentSourceIndex })).toMatchObject(refused);
      const body = fixture.body(quote, { agentIdentifier, supportedPaymentSourceIndex });
      for (const path of ["/purchase", "/purchase/verify"])
        expect(await fixture.ask(path, body)).toMatchObject(refused);
    }
  });
});
