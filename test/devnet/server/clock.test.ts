import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DevnetNode } from "../../../devnet/server/node.ts";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { slotAt } from "../../../src/chain/slots.ts";
import { ask, brokenRules, control, submit } from "../ask.ts";
import { payment, plainWallet } from "../hand-built.ts";

const alice = plainWallet("alice");
const bob = plainWallet("bob");
const TO_BOB = [{ address: bob.address, lovelace: 2_000_000n }];
const HOUR_MS = 3_600_000;
/** A whole second, two days ago. */
const BEGINS = (Math.floor(Date.now() / 1000) - 2 * 24 * 3_600) * 1000;

let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet({ funds: [{ address: alice.address, lovelace: 1_000_000_000n }] });
});
afterAll(() => devnet.close());

async function create(options: object): Promise<DevnetNode> {
  const { body } = await control(devnet.url, "create", options);
  const node = devnet.chains.get(body.name);
  if (!node) throw new Error(JSON.stringify(body));
  return node;
}

const told = async (node: DevnetNode, action: string, body: object = {}) =>
  (await control(devnet.url, `${node.name}/${action}`, body)).body;
const latest = async (node: DevnetNode) => (await ask(node, "/blocks/latest")).body;

describe("a clock that stands", () => {
  it("begins where it is told, and moves by hand alone", async () => {
    const node = await create({ begins: BEGINS, clock: "stands" });
    expect(await latest(node)).toMatchObject({
      time: BEGINS / 1000,
      slot: slotAt("Preprod", BEGINS),
    });
    expect((await told(node, "mine")).time).toBe(BEGINS / 1000);
    expect((await told(node, "advance", { ms: HOUR_MS })).now).toBe(BEGINS + HOUR_MS);
    expect((await told(node, "mine")).time).toBe((BEGINS + HOUR_MS) / 1000);
    expect((await told(node, "clock")).now).toBe(BEGINS + HOUR_MS);
  });

  it("lets blocks be made at given times, and refuses to go back", async () => {
    const node = await create({ begins: BEGINS, clock: "stands" });
    for (const hours of [1, 5, 40]) {
      const at = BEGINS + hours * HOUR_MS;
      expect(await told(node, "mine", { at })).toMatchObject({ time: at / 1000 });
    }
    expect(await latest(node)).toMatchObject({ height: 3, time: (BEGINS + 40 * HOUR_MS) / 1000 });
    const back = await control(devnet.url, `${node.name}/mine`, { at: BEGINS });
    expect([back.status, back.body.error]).toEqual([400, "The ledger's clock only moves forward"]);
  });

  it("decides what is valid", async () => {
    const node = await create({ begins: BEGINS, clock: "stands" });
    const slot = slotAt("Preprod", BEGINS);
    const from = payment(node.chain, { from: alice, to: TO_BOB, validFrom: slot + 60 });
    expect(brokenRules(await submit(node, from))).toEqual([
      expect.stringContaining("OutsideValidityIntervalUTxO"),
    ]);
    await told(node, "advance", { ms: 60_000 });
    expect((await submit(node, from)).status).toBe(200);
  });

  it("runs on with the wall clock when it is told to, from its own time or from the present", async () => {
    const node = await create({ begins: BEGINS, clock: "stands" });
    const { now } = await told(node, "clock", { kind: "runs" });
    expect(now).toBeGreaterThanOrEqual(BEGINS);
    expect(now).toBeLessThan(BEGINS + HOUR_MS);
    const present = Date.now();
    const moved = await told(node, "clock", { at: present, kind: "runs" });
    expect(moved.now).toBeGreaterThanOrEqual(present);
    expect((await told(node, "mine")).time * 1000).toBeGreaterThan(present - 2_000);
    await told(node, "clock", { kind: "stands" });
    const [stands, still] = [await told(node, "clock"), await told(node, "clock")];
    expect(still).toEqual(stands);
  });
});

describe("blocks by themselves", () => {
  it("come after a past that was played, take the mempool, and stop when they are told to", async () => {
    const node = await create({ begins: BEGINS, clock: "stands", autoMine: true });
    for (const hours of [1, 20]) await told(node, "mine", { at: BEGINS + hours * HOUR_MS });
    const present = Date.now();
    await told(node, "clock", { at: present, kind: "runs" });
    await told(node, "blocks", { everyMs: 10 });
    await expect.poll(async () => (await latest(node)).time).toBeGreaterThan(present / 1000);
    const { body: hash } = await submit(node, payment(node.chain, { from: alice, to: TO_BOB }));
    await expect.poll(async () => (await ask(node, `/txs/${hash}`)).status).toBe(200);
    await expect.poll(async () => (await latest(node)).height).toBeGreaterThan(3);
    await told(node, "blocks", { everyMs: null });
    const { height } = await latest(node);
    expect((await told(node, "mine")).height).toBe(height + 1);
  });
});
