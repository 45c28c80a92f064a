import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import {
  BURNED_ONCE,
  deregistering,
  MINTED_ONCE,
  RegistrationFixture,
  requested,
} from "../support/registry/registration-fixture.ts";

beforeEach(emptyTables);

/** The id of the wallet that `fixture.register` registers with. */
async function walletId(fixture: RegistrationFixture): Promise<string | null> {
  return env.DB.prepare("SELECT id FROM managed_wallet WHERE vkey = ?")
    .bind(fixture.sellers[0].vkey)
    .first("id");
}

describe("at once", () => {
  it("two deregistrations of one agent burn its token once", async () => {
    const { fixture, id } = await requested();
    await fixture.settle();
    const { agentIdentifier } = await fixture.shown(id);
    const answers = await Promise.all([1, 2].map(() => fixture.deregister(agentIdentifier)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    await fixture.settle();
    expect(await fixture.tokens()).toEqual(BURNED_ONCE);
  });

  it("two wallets, with three registrations each, mint six tokens", async () => {
    const fixture = await RegistrationFixture.open();
    for (const { vkey } of fixture.sellers)
      for (let i = 0; i < 3; i++) await fixture.register({ sellingWalletVkey: vkey });
    await Promise.all(fixture.sellers.map((wallet) => fixture.settle(wallet)));
    expect(await fixture.tokens()).toMatchObject({ minted: 6, burned: 0 });
  });

  it.each([
    ["a registration", requested, MINTED_ONCE],
    ["a deregistration", deregistering, BURNED_ONCE],
  ])("two objects for one wallet make %s once", async (_, begin, tokens) => {
    const { fixture, id } = await begin();
    await Promise.all([1, 2, 3].map(() => fixture.work()));
    await fixture.settle();
    expect((await fixture.shown(id)).state).toMatch(/Confirmed$/);
    expect(await fixture.tokens()).toMatchObject(tokens);
  });
});

describe("a wallet or a source that is removed", () => {
  it("fails what was not begun, and says so", async () => {
    const { fixture, id } = await requested();
    await env.DB.prepare("UPDATE managed_wallet SET deleted_at = 1, mnemonic = ''").run();
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringContaining("add the wallet"),
    });
  });

  it("lets what was sent come to its end", async () => {
    const { fixture, id } = await requested();
    await fixture.chain.faults({ match: "/tx/submit", truncate: true });
    await fixture.work();
    await env.DB.prepare("UPDATE managed_wallet SET deleted_at = 1, mnemonic = ''").run();
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({ state: "RegistrationConfirmed" });
  });

  it("works for the source that has the wallet now, whatever another left undone", async () => {
    const { fixture, id } = await requested();
    const { data } = await fixture.ask<{ SellingWallets: { id: string; walletVkey: string }[] }>(
      "PATCH",
      "/payment-source-extended",
      { id: fixture.sourceId, RemoveSellingWallets: [{ id: await walletId(fixture) }] },
    );
    expect(data.SellingWallets).toHaveLength(1);
    const { contracts } = await fixture.chain.wallets();
    const second = contracts.find(({ type }) => type === "Web3ChainV2");
    const created = await fixture.ask("POST", "/payment-source-extended", {
      network: "Preprod",
      paymentSourceType: "Web3ChainV2",
      smartContractAddress: second?.address,
      policyId: second?.policyId,
      PaymentSourceConfig: { rpcProviderApiKey: "local", rpcProvider: "Blockfrost" },
      AdminWallets: [{ walletAddress: fixture.sellers[1].address }],
      feeRatePermille: 50,
      SellingWallets: [{ walletMnemonic: fixture.sellers[0].mnemonic }],
    });
    expect(created.status).toBe(200);
    const { id: there } = (await fixture.register()).data;
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({ state: "RegistrationFailed" });
    expect(await fixture.shown(there)).toMatchObject({
      state: "RegistrationConfirmed",
      error: null,
    });
  });

  it("fails what has no provider left", async () => {
    const { fixture, id } = await requested();
    await env.DB.prepare("UPDATE payment_source SET deleted_at = 1").run();
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringContaining("source was removed"),
    });
  });
});
