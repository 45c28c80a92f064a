import { beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { RegistrationDesk, requested } from "../support/registry/registration.ts";

beforeEach(emptyTables);

interface Shown {
  txHash: string;
  state: string;
  createdAt: string;
}

/** Three registrations whose transactions wait for a block, the newest first. */
async function threeWaiting() {
  const desk = await RegistrationDesk.open();
  await desk.chain.holdBlocks();
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await desk.register()).data.id);
  await desk.work();
  const list = async (query = ""): Promise<Shown[]> => {
    const path = `/wallet/transaction?network=Preprod${query}`;
    return (await desk.ask<{ Transactions: Shown[] }>("GET", path)).data.Transactions;
  };
  return { desk, ids, list };
}

describe("GET /wallet/transaction 200", () => {
  it("shows what each transaction does and what became of it", async () => {
    const { desk, ids, list } = await threeWaiting();
    const [vkey] = desk.sellers.map((wallet) => wallet.vkey);
    const shown = await list();
    const hashes = await desk.chain.mempool();
    expect(shown.map(({ txHash }) => txHash).toSorted()).toEqual(hashes.toSorted());
    expect(shown[0]).toEqual({
      txHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      state: "Sent",
      network: "Preprod",
      walletVkey: vkey,
      paymentSourceId: desk.sourceId,
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
    await desk.chain.mine();
    await desk.settle();
    expect(await list("&state=Sent")).toEqual([]);
    const confirmed = await list("&state=Confirmed");
    expect(confirmed).toHaveLength(ids.length);
    expect(confirmed[0]).toMatchObject({ blockHeight: (await desk.chain.tip()).height });
  });

  it("pages, and filters by wallet and time", async () => {
    const { desk, list } = await threeWaiting();
    const all = await list();
    expect(await list("&limit=2")).toEqual(all.slice(0, 2));
    expect(await list(`&cursorId=${all[1]?.txHash}`)).toEqual(all.slice(2));
    expect(await list(`&walletVkey=${desk.sellers[0].vkey}`)).toEqual(all);
    expect(await list(`&walletVkey=${desk.sellers[1].vkey}`)).toEqual([]);
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
    const { desk, id } = await requested();
    await desk.chain.holdBlocks();
    const lines: Record<string, unknown>[] = [];
    const info = vi.spyOn(console, "info").mockImplementation((line: string) => {
      lines.push(JSON.parse(line));
    });
    await desk.work();
    await desk.chain.mine();
    await desk.settle();
    info.mockRestore();
    const hash = (await desk.shown(id)).CurrentTransaction?.txHash;
    const told = lines.filter((one) => one.event === "wallet.transaction" && one.hash === hash);
    expect(told).toMatchObject([
      { wallet: desk.sellers[0].vkey, requestId: "test", from: null, phase: "Stored" },
      { from: "Stored", phase: "Sent" },
      { from: "Sent", phase: "Confirmed" },
    ]);
  });
});
