import { beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { RegistrationFixture, requested } from "../support/registry/registration-fixture.ts";

beforeEach(emptyTables);

interface Shown {
  txHash: string;
  state: string;
  createdAt: string;
}

/** Three registrations whose transactions wait for a block, the newest first. */
async function threeWaiting() {
  const fixture = await RegistrationFixture.open();
  await fixture.chain.holdBlocks();
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await fixture.register()).data.id);
  await fixture.work();
  const list = async (query = ""): Promise<Shown[]> => {
    const path = `/wallet/transaction?network=Preprod${query}`;
    return (await fixture.ask<{ Transactions: Shown[] }>("GET", path)).data.Transactions;
  };
  return { fixture, ids, list };
}

describe("GET /wallet/transaction 200", () => {
  it("shows what each transaction does and what became of it", async () => {
    const { fixture, ids, list } = await threeWaiting();
    const [vkey] = fixture.sellers.map((wallet) => wallet.vkey);
    const shown = await list();
    const hashes = await fixture.chain.mempool();
    expect(shown.map(({ txHash }) => txHash).toSorted()).toEqual(hashes.toSorted());
    expect(shown[0]).toEqual({
      txHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      state: "Sent",
      network: "Preprod",
      walletVkey: vkey,
      paymentSourceId: fixture.sourceId,
      Tasks: [{ feature: "registration", id: expect.stringMatching(/:Registration$/) }],
      fees: expect.stringMatching(/^\d+$/),
      validTo: expect.any(Number),
      blockHeight: null,
      blockTime: null,
      error: null,
      requestId: "test",
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    });
    await fixture.chain.mine();
    await fixture.settle();
    expect(await list("&state=Sent")).toEqual([]);
    const confirmed = await list("&state=Confirmed");
    expect(confirmed).toHaveLength(ids.length);
    expect(confirmed[0]).toMatchObject({ blockHeight: (await fixture.chain.tip()).height });
  });

  it("pages, and filters by wallet and time", async () => {
    const { fixture, list } = await threeWaiting();
    const all = await list();
    expect(await list("&limit=2")).toEqual(all.slice(0, 2));
    expect(await list(`&cursorId=${all[1]?.txHash}`)).toEqual(all.slice(2));
    expect(await list(`&walletVkey=${fixture.sellers[0].vkey}`)).toEqual(all);
    expect(await list(`&walletVkey=${fixture.sellers[1].vkey}`)).toEqual([]);
    const { createdAt = "" } = all[0] ?? {};
    expect(await list(`&to=${createdAt}`)).toEqual(all.filter((one) => one.createdAt < createdAt));
    expect(await list(`&from=${createdAt}`)).toEqual(
      all.filter((one) => one.createdAt >= createdAt),
    );
    const day = createdAt.slice(0, 10);
    expect(await list(`&from=${day}`)).toEqual(all);
    expect(await list(`&to=${day}`)).toEqual([]);
  });
});

describe("a wallet's transaction", () => {
  it("leaves one line in the log for each state that it comes to", async () => {
    const { fixture, id } = await requested();
    await fixture.chain.holdBlocks();
    const lines: Record<string, unknown>[] = [];
    const info = vi.spyOn(console, "info").mockImplementation((line: string) => {
      lines.push(JSON.parse(line));
    });
    await fixture.work();
    await fixture.chain.mine();
    await fixture.settle();
    info.mockRestore();
    const hash = (await fixture.shown(id)).CurrentTransaction?.txHash;
    const told = lines.filter((one) => one.event === "wallet.transaction" && one.hash === hash);
    expect(told).toMatchObject([
      { wallet: fixture.sellers[0].vkey, requestId: "test", from: null, phase: "Stored" },
      { from: "Stored", phase: "Sent" },
      { from: "Sent", phase: "Confirmed" },
    ]);
  });
});
