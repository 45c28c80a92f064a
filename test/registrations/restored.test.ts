import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { objectsLike } from "../support/objects.ts";
import {
  BURNED_ONCE,
  deregistering,
  MINTED_ONCE,
  type RegistrationDesk,
  requested,
} from "../support/registry/registration.ts";
import { saveDatabase } from "../support/restore.ts";
import { runPass } from "../support/sources/sync.ts";

const LONGER_THAN_THE_HALT_MS = 9 * 60_000;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  await emptyTables();
});
afterEach(() => {
  vi.useRealTimers();
});

async function passTheHalt(): Promise<void> {
  vi.setSystemTime(Date.now() + LONGER_THAN_THE_HALT_MS);
}

/** What the network was sent since this was asked for the last time. */
async function submitted({ chain }: RegistrationDesk): Promise<number> {
  const { calls } = await chain.stats();
  return calls["/tx/submit"] ?? 0;
}

describe("a database that was set back", () => {
  it.each([
    ["mints", requested, "Registration", MINTED_ONCE],
    ["burns", deregistering, "Deregistration", BURNED_ONCE],
  ] as const)(
    "%s nothing twice, once its sources have followed the chain",
    async (_, begin, name, tokens) => {
      const { desk, id } = await begin();
      const restore = await saveDatabase();
      await desk.settle();
      const { txHash } = (await desk.shown(id)).CurrentTransaction ?? {};
      await restore();
      expect(await desk.shown(id)).toMatchObject({ state: `${name}Requested` });

      await submitted(desk);
      await desk.work();
      await passTheHalt();
      await desk.work();
      expect(await submitted(desk)).toBe(0);

      await runPass(desk.chain, desk.sourceId);
      await desk.settle();
      expect(await desk.shown(id)).toMatchObject({
        state: `${name}Confirmed`,
        CurrentTransaction: { txHash, status: "Confirmed" },
      });
      expect(await desk.tokens()).toMatchObject(tokens);
    },
  );

  it("stops the other wallets of its network as well", async () => {
    const { desk } = await requested();
    const restore = await saveDatabase();
    await desk.settle();
    await restore();
    await desk.register({ sellingWalletVkey: desk.sellers[1].vkey });
    await submitted(desk);
    await desk.work(desk.sellers[1]);
    expect(await submitted(desk)).toBe(0);

    await passTheHalt();
    await runPass(desk.chain, desk.sourceId);
    await desk.settle(desk.sellers[1]);
    await desk.settle();
    expect(await desk.tokens()).toMatchObject({ minted: 2 });
  });

  it("stops a wallet that was in the middle of its run, and has stored as many transactions as another has lost", async () => {
    const { desk } = await requested();
    const restore = await saveDatabase();
    await desk.settle();
    await restore();
    const [, other] = desk.sellers;
    await env.DB.prepare(
      "INSERT INTO hot_wallet (network, vkey, version, sequence) VALUES ('Preprod', ?, 1, 1)",
    )
      .bind(other.vkey)
      .run();
    await desk.register({ sellingWalletVkey: other.vkey });
    await submitted(desk);
    await desk.work(other);
    expect(await submitted(desk)).toBe(0);

    await passTheHalt();
    await runPass(desk.chain, desk.sourceId);
    await desk.settle(other);
    await desk.settle();
    expect(await desk.tokens()).toMatchObject({ minted: 2 });
  });

  it("does what nobody had sent yet", async () => {
    const { desk, id } = await requested();
    await desk.settle();
    const second = await desk.register({ name: "Another agent" });
    const restore = await saveDatabase();
    await desk.settle();
    await desk.chain.rollback(1);
    await restore();
    await desk.work();
    await passTheHalt();
    await desk.chain.advance(LONGER_THAN_THE_HALT_MS);
    await desk.chain.mine();
    await runPass(desk.chain, desk.sourceId);
    await desk.settle();
    for (const one of [id, second.data.id])
      expect(await desk.shown(one)).toMatchObject({ state: "RegistrationConfirmed" });
    expect(await desk.tokens()).toMatchObject({ minted: 2 });
  });
});

describe("a journal that does not answer", () => {
  it("lets nothing be sent, and what waits is sent once it answers", async () => {
    const { desk, id } = await requested();
    const gone = objectsLike("SPENDING_JOURNAL", () => {
      throw new Error("the object is gone");
    });
    await submitted(desk);
    await desk.work(desk.sellers[0], { SPENDING_JOURNAL: gone });
    expect(await submitted(desk)).toBe(0);
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({ state: "RegistrationConfirmed" });
    expect(await desk.tokens()).toMatchObject(MINTED_ONCE);
  });
});
