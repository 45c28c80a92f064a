/** Prices of records that were stored while any text was taken as a unit. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { PaymentSourceFixture } from "../../support/escrow/payment-source-fixture.ts";
import {
  createRegistrySource,
  diff,
  settleRegistry,
} from "../../support/registry/registry-sync.ts";

const ODD = [
  { unit: "ada", amount: "5000000" },
  { unit: `${"ab".repeat(28)}.74`, amount: "7" },
];

beforeEach(emptyTables);

async function openDesk(): Promise<PaymentSourceFixture> {
  const fixture = await PaymentSourceFixture.open("Web3ChainV1");
  await fixture.buy({}, { funds: ODD });
  await env.DB.prepare(`UPDATE escrow SET funds = json(?)`).bind(JSON.stringify(ODD)).run();
  await env.DB.prepare("UPDATE escrow_open SET doc_version = 0").run();
  return fixture;
}

describe("a record whose price is in no unit of the ledger", () => {
  it("is shown as it was stored, in every list", async () => {
    const { fixture } = await openDesk();
    const since = "lastUpdate=2020-01-01T00:00:00.000Z";
    const sides = { payment: "Payments", purchase: "Purchases" };
    for (const [side, list] of Object.entries(sides)) {
      const funds = side === "payment" ? "RequestedFunds" : "PaidFunds";
      for (const path of ["?", `/diff?${since}&`, `/diff/next-action?${since}&`]) {
        const { data } = await fixture.ask<Record<string, object[]>>(
          "GET",
          `/${side}${path}network=Preprod&includeHistory=true`,
        );
        expect(data[list], path).toMatchObject([{ [funds]: ODD }]);
      }
    }
    const others = ["/payment/count", "/purchase/count", "/task", "/wallet/list", "/dispute"];
    for (const path of others)
      expect((await fixture.ask("GET", `${path}?network=Preprod`)).status, path).toBe(200);
    for (const path of ["/payment/income", "/purchase/spending"])
      expect(
        (await fixture.ask("POST", path, { network: "Preprod", agentIdentifier: null })).status,
        path,
      ).toBe(200);
    const [payment] = (
      await fixture.ask<{ Payments: { blockchainIdentifier: string }[] }>(
        "GET",
        "/payment?network=Preprod",
      )
    ).data.Payments;
    const { wallets } = await fixture.chain.wallets();
    expect(
      await fixture.ask("POST", "/payment/x402", {
        network: "Preprod",
        blockchainIdentifier: payment?.blockchainIdentifier,
        buyerAddress: wallets.find(({ name }) => name === "stranger")?.address,
      }),
    ).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^blockchainIdentifier: the price is in "ada", which is no/),
    });
  });

  it("is shown by the registration of its agent as well", async () => {
    const { fixture } = await openDesk();
    const { data } = await fixture.register();
    await env.DB.prepare(
      "UPDATE registration SET profile = json_set(profile, '$.pricing.amounts', json(?))",
    )
      .bind(JSON.stringify(ODD))
      .run();
    expect((await fixture.shown(data.id)).AgentPricing).toEqual({
      pricingType: "Fixed",
      Pricing: ODD,
    });
  });
});

it("an agent whose minted price is in no unit of the ledger keeps its status and its price", async () => {
  const fixture = await PaymentSourceFixture.open("Web3ChainV1");
  await fixture.quotes.agent({ pricingType: "Fixed", prices: ODD });
  const prices = [{ unit: "LOVELACE", amount: "5" }];
  await fixture.quotes.agent({ pricingType: "Fixed", prices });
  await settleRegistry(fixture.chain, await createRegistrySource(fixture.chain));
  const entries = await diff();
  expect(entries.slice(-2)).toMatchObject([
    {
      status: "Offline",
      statusReason: null,
      AgentPricing: { pricingType: "Fixed", FixedPricing: { Amounts: ODD } },
    },
    { AgentPricing: { FixedPricing: { Amounts: [{ unit: "", amount: "5" }] } } },
  ]);
});
