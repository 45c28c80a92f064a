import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { objectsLike } from "../support/objects.ts";
import {
  BURNED_ONCE,
  deregistering,
  MINTED_ONCE,
  type RegistrationFixture,
  requested,
  UPDATED_ONCE,
  updating,
} from "../support/registry/registration-fixture.ts";
import { saveDatabase } from "../support/restore.ts";
import { runPass } from "../support/sources/sync.ts";

const LONGER_THAN_THE_HALT_MS = 9 * 60_000;

beforeEach(emptyTables);

/** Moves the end of the halt into the past: stamps follow the database's clock, which no test moves. */
async function passTheHalt(): Promise<void> {
  const { SPENDING_JOURNAL } = env;
  const journal = SPENDING_JOURNAL.get(SPENDING_JOURNAL.idFromName("Preprod"));
  await runInDurableObject(journal, (_, { storage: { sql } }) => {
    sql.exec("UPDATE journal SET halted_until = halted_until - ?", LONGER_THAN_THE_HALT_MS);
  });
}

/** What the network was sent since this was asked for the last time. */
async function submitted({ chain }: RegistrationFixture): Promise<number> {
  const { calls } = await chain.stats();
  return calls["/tx/submit"] ?? 0;
}

describe("a database that was set back", () => {
  it.each([
    ["mints", requested, "Registration", MINTED_ONCE],
    ["burns", deregistering, "Deregistration", BURNED_ONCE],
    ["updates", updating, "Update", UPDATED_ONCE],
  ] as const)(
    "%s nothing twice, once its sources have followed the chain",
    async (_, begin, name, tokens) => {
      const { fixture, id } = await begin();
      const restore = await saveDatabase();
      await fixture.settle();
      const { txHash } = (await fixture.shown(id)).CurrentTransaction ?? {};
      await restore();
      expect(await fixture.shown(id)).toMatchObject({ state: `${name}Requested` });

      await submitted(fixture);
      await fixture.work();
      await passTheHalt();
      await fixture.work();
      expect(await submitted(fixture)).toBe(0);

      await runPass(fixture.chain, fixture.sourceId);
      await fixture.settle();
      expect(await fixture.shown(id)).toMatchObject({
        state: `${name}Confirmed`,
        CurrentTransaction: { txHash, status: "Confirmed" },
      });
      expect(await fixture.tokens()).toMatchObject(tokens);
    },
  );

  it("stops the other wallets of its network as well", async () => {
    const { fixture } = await requested();
    const restore = await saveDatabase();
    await fixture.settle();
    await restore();
    await fixture.register({ sellingWalletVkey: fixture.sellers[1].vkey });
    await submitted(fixture);
    await fixture.work(fixture.sellers[1]);
    expect(await submitted(fixture)).toBe(0);

    await passTheHalt();
    await runPass(fixture.chain, fixture.sourceId);
    await fixture.settle(fixture.sellers[1]);
    await fixture.settle();
    expect(await fixture.tokens()).toMatchObject({ minted: 2 });
  });

  it("stops a wallet that was in the middle of its run, and has stored as many transactions as another has lost", async () => {
    const { fixture } = await requested();
    const restore = await saveDatabase();
    await fixture.settle();
    await restore();
    const [, other] = fixture.sellers;
    await env.DB.prepare(
      "INSERT INTO hot_wallet (network, vkey, version, sequence) VALUES ('Preprod', ?, 1, 1)",
    )
      .bind(other.vkey)
      .run();
    await fixture.register({ sellingWalletVkey: other.vkey });
    await submitted(fixture);
    await fixture.work(other);
    expect(await submitted(fixture)).toBe(0);

    await passTheHalt();
    await runPass(fixture.chain, fixture.sourceId);
    await fixture.settle(other);
    await fixture.settle();
    expect(await fixture.tokens()).toMatchObject({ minted: 2 });
  });

  it("does what nobody had sent yet", async () => {
    const { fixture, id } = await requested();
    await fixture.settle();
    const second = await fixture.register({ name: "Another agent" });
    const restore = await saveDatabase();
    await fixture.settle();
    await fixture.chain.rollback(1);
    await restore();
    await fixture.work();
    await passTheHalt();
    await fixture.chain.advance(LONGER_THAN_THE_HALT_MS);
    await fixture.chain.mine();
    await runPass(fixture.chain, fixture.sourceId);
    await fixture.settle();
    for (const one of [id, second.data.id])
      expect(await fixture.shown(one)).toMatchObject({ state: "RegistrationConfirmed" });
    expect(await fixture.tokens()).toMatchObject({ minted: 2 });
  });
});

describe("a journal that does not answer", () => {
  it("lets nothing be sent, and what waits is sent once it answers", async () => {
    const { fixture, id } = await requested();
    const gone = objectsLike("SPENDING_JOURNAL", () => {
      throw new Error("the object is gone");
    });
    await submitted(fixture);
    await fixture.work(fixture.sellers[0], { SPENDING_JOURNAL: gone });
    expect(await submitted(fixture)).toBe(0);
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({ state: "RegistrationConfirmed" });
    expect(await fixture.tokens()).toMatchObject(MINTED_ONCE);
  });
});
