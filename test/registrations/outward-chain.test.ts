import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { RegistrationFixture } from "../support/registry/registration-fixture.ts";

beforeEach(emptyTables);

/** So many registrations of one wallet, on a chain that makes blocks only when it is told to. */
async function waiting(count: number) {
  const fixture = await RegistrationFixture.open();
  await fixture.chain.holdBlocks();
  const ids: string[] = [];
  for (let i = 0; i < count; i++)
    ids.push((await fixture.register({ name: `Agent ${i}` })).data.id);
  return { fixture, ids };
}

/** Each transaction of the wallet, with the phase it is in. */
async function transactions(): Promise<{ hash: string; phase: string }[]> {
  const { results } = await env.DB.prepare(
    "SELECT hash, phase FROM wallet_transaction ORDER BY sequence",
  ).all<{ hash: string; phase: string }>();
  return results;
}

async function states(fixture: RegistrationFixture, ids: string[]): Promise<string[]> {
  return Promise.all(ids.map(async (id) => (await fixture.shown(id)).state));
}

describe("registrations of one wallet", () => {
  it("do not wait for blocks: each transaction spends the change of the one before it", async () => {
    const { fixture, ids } = await waiting(8);
    await fixture.work();
    expect(await states(fixture, ids)).toEqual(ids.map(() => "RegistrationInitiated"));
    expect(await fixture.chain.mempool()).toHaveLength(8);
    await fixture.chain.mine();
    await fixture.settle();
    expect(await states(fixture, ids)).toEqual(ids.map(() => "RegistrationConfirmed"));
    expect(await fixture.tokens()).toMatchObject({ minted: 8, burned: 0 });
  });

  it("mint a token each, although the second spends what the first failed to spend", async () => {
    const fixture = await RegistrationFixture.open();
    const first = (await fixture.register({ name: "First" })).data.id;
    await fixture.chain.faults({ match: "/tx/submit", status: 504 });
    await fixture.work();
    await fixture.chain.advance(15 * 60_000);
    await fixture.chain.mine();
    await fixture.work();
    await fixture.chain.faults();
    const second = (await fixture.register({ name: "Second" })).data.id;
    await fixture.work();
    expect(await states(fixture, [first, second])).toEqual([
      "RegistrationRequested",
      "RegistrationInitiated",
    ]);
    await fixture.settle();
    expect(await states(fixture, [first, second])).toEqual([
      "RegistrationConfirmed",
      "RegistrationConfirmed",
    ]);
    expect(await fixture.tokens()).toMatchObject({ minted: 2, burned: 0 });
  });

  it("are measured with the outputs of parents that the node does not know yet", async () => {
    const { fixture, ids } = await waiting(2);
    const reason = `Unknown transaction input (missing from UTxO set): ${"5a".repeat(32)}#1`;
    const EvaluationFailure = { CannotCreateEvaluationContext: { reason } };
    const body = JSON.stringify({ type: "jsonwsp/response", result: { EvaluationFailure } });
    await fixture.chain.stats();
    await fixture.chain.faults({
      match: "/utils/txs/evaluate",
      status: 200,
      body,
      after: 1,
      times: 1,
    });
    await fixture.work();
    expect(await states(fixture, ids)).toEqual(ids.map(() => "RegistrationInitiated"));
    expect((await fixture.chain.stats()).calls["POST /utils/txs/evaluate/utxos"]).toBe(3);
  });

  it("are done anew where the first of them expired, in their order, each once", async () => {
    const { fixture, ids } = await waiting(3);
    await fixture.work();
    const first = await transactions();
    await fixture.chain.evict();
    await fixture.chain.advance(15 * 60_000);
    await fixture.chain.mine();
    await fixture.work();
    expect((await transactions()).slice(0, 3).map(({ phase }) => phase)).toEqual([
      "Expired",
      "Orphaned",
      "Orphaned",
    ]);
    await fixture.skipPauses();
    await fixture.work();
    await fixture.chain.mine();
    await fixture.settle();
    expect(await states(fixture, ids)).toEqual(ids.map(() => "RegistrationConfirmed"));
    expect(await fixture.tokens()).toMatchObject({ minted: 3, burned: 0 });
    const landed = (await transactions()).filter(({ phase }) => phase === "Confirmed");
    expect(landed).toHaveLength(3);
    for (const { hash } of first) expect(landed.map((one) => one.hash)).not.toContain(hash);
  });

  it("are sent again where a node has dropped them without a word", async () => {
    const { fixture, ids } = await waiting(3);
    await fixture.work();
    const hashes = await fixture.chain.mempool();
    await fixture.chain.evict();
    await env.DB.prepare("UPDATE wallet_transaction SET updated_at = updated_at - 60000").run();
    await fixture.work();
    expect(await fixture.chain.mempool()).toEqual(hashes);
    await fixture.chain.mine();
    await fixture.settle();
    expect(await states(fixture, ids)).toEqual(ids.map(() => "RegistrationConfirmed"));
  });
});

describe("a registration whose record changes while its transaction is stored", () => {
  it.each([
    ["keeps its transaction when it asks for the same", "updated_at = 1", 2, 1],
    ["is made anew when it asks for something else", "send_funding = '7000000'", 2, 2],
  ])("%s", async (_, change, stores, measured) => {
    const { fixture, ids } = await waiting(1);
    let stored = 0;
    const DB = wrapD1(env.DB, async ({ kind, sql }, run) => {
      const isStored = sql.some((one) => one.includes("INSERT INTO wallet_transaction"));
      if (kind === "batch" && isStored && stored++ === 0)
        await env.DB.prepare(`UPDATE registration SET revision = revision + 1, ${change}`).run();
      return run();
    });
    await fixture.chain.stats();
    await fixture.work(undefined, { DB });
    expect(stored).toBe(stores);
    const { calls } = await fixture.chain.stats();
    expect(calls["POST /utils/txs/evaluate/utxos"]).toBe(measured);
    expect(calls["POST /tx/submit"]).toBe(1);
    expect(await transactions()).toHaveLength(1);
    expect(await states(fixture, ids)).toEqual(["RegistrationInitiated"]);
  });
});
