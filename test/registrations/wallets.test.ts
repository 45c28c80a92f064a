import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import {
  BURNED_ONCE,
  deregistering,
  MINTED_ONCE,
  RegistrationDesk,
  requested,
} from "../support/registry/registration.ts";

beforeEach(emptyTables);

/** The id of the wallet that `desk.register` registers with. */
async function walletId(desk: RegistrationDesk): Promise<string | null> {
  return env.DB.prepare("SELECT id FROM managed_wallet WHERE vkey = ?")
    .bind(desk.sellers[0].vkey)
    .first("id");
}

describe("at once", () => {
  it("two deregistrations of one agent burn its token once", async () => {
    const { desk, id } = await requested();
    await desk.settle();
    const { agentIdentifier } = await desk.shown(id);
    const answers = await Promise.all([1, 2].map(() => desk.deregister(agentIdentifier)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    await desk.settle();
    expect(await desk.tokens()).toEqual(BURNED_ONCE);
  });

  it("two wallets, with three registrations each, mint six tokens", async () => {
    const desk = await RegistrationDesk.open();
    for (const { vkey } of desk.sellers)
      for (let i = 0; i < 3; i++) await desk.register({ sellingWalletVkey: vkey });
    await Promise.all(desk.sellers.map((wallet) => desk.settle(wallet)));
    expect(await desk.tokens()).toMatchObject({ minted: 6, burned: 0 });
  });

  it.each([
    ["a registration", requested, MINTED_ONCE],
    ["a deregistration", deregistering, BURNED_ONCE],
  ])("two objects for one wallet make %s once", async (_, begin, tokens) => {
    const { desk, id } = await begin();
    await Promise.all([1, 2, 3].map(() => desk.work()));
    await desk.settle();
    expect((await desk.shown(id)).state).toMatch(/Confirmed$/);
    expect(await desk.tokens()).toMatchObject(tokens);
  });
});

describe("a wallet or a source that is removed", () => {
  it("fails what was not begun, and says so", async () => {
    const { desk, id } = await requested();
    await env.DB.prepare("UPDATE managed_wallet SET deleted_at = 1, mnemonic = ''").run();
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringContaining("add it again"),
    });
  });

  it("lets what was sent come to its end", async () => {
    const { desk, id } = await requested();
    await desk.chain.faults({ match: "/tx/submit", truncate: true });
    await desk.work();
    await env.DB.prepare("UPDATE managed_wallet SET deleted_at = 1, mnemonic = ''").run();
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({ state: "RegistrationConfirmed" });
  });

  it("works for the source that has the wallet now, whatever another left undone", async () => {
    const { desk, id } = await requested();
    const { data } = await desk.ask<{ SellingWallets: { id: string; walletVkey: string }[] }>(
      "PATCH",
      "/payment-source-extended",
      { id: desk.sourceId, RemoveSellingWallets: [{ id: await walletId(desk) }] },
    );
    expect(data.SellingWallets).toHaveLength(1);
    const { contracts } = await desk.chain.wallets();
    const second = contracts.find(({ type }) => type === "Web3ChainV2");
    const created = await desk.ask("POST", "/payment-source-extended", {
      network: "Preprod",
      paymentSourceType: "Web3ChainV2",
      smartContractAddress: second?.address,
      policyId: second?.policyId,
      PaymentSourceConfig: { rpcProviderApiKey: "local", rpcProvider: "Blockfrost" },
      AdminWallets: [{ walletAddress: desk.sellers[1].address }],
      feeRatePermille: 50,
      SellingWallets: [{ walletMnemonic: desk.sellers[0].mnemonic }],
    });
    expect(created.status).toBe(200);
    const { id: there } = (await desk.register()).data;
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({ state: "RegistrationFailed" });
    expect(await desk.shown(there)).toMatchObject({ state: "RegistrationConfirmed", error: null });
  });

  it("fails what has no provider left", async () => {
    const { desk, id } = await requested();
    await env.DB.prepare("UPDATE payment_source SET deleted_at = 1").run();
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringContaining("source was removed"),
    });
  });
});
