import { bytesToHex } from "@noble/hashes/utils.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { addressFromBytes, addressToBytes } from "../../../src/chain/address.ts";
import { ask, control } from "../ask.ts";
import { pay, payment, plainWallet } from "../hand-built.ts";

const alice = plainWallet("alice");
const bob = plainWallet("bob");
const FUNDS = [{ address: alice.address, lovelace: 1_000_000_000n }];

let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet({ funds: FUNDS });
});
afterAll(() => devnet.close());

describe("a call", () => {
  it("needs a project id, and a good one", async () => {
    const node = devnet.createChain("keys", { funds: FUNDS });
    const missing = await fetch(`${node.url}/blocks/latest`);
    expect(missing.status).toBe(403);
    expect(await missing.json()).toMatchObject({ status_code: 403, error: "Forbidden" });
    const bad = await ask(node, "/blocks/latest", { headers: { project_id: "bad" } });
    expect(bad.body).toEqual({
      status_code: 403,
      error: "Forbidden",
      message: "Invalid project token.",
    });
  });

  it("gets 404 for what the chain has never seen", async () => {
    const node = devnet.createChain("unseen", { funds: FUNDS });
    const hash = "00".repeat(32);
    const unit = "00".repeat(28);
    const paths = [
      `/addresses/${bob.address}`,
      `/addresses/${bob.address}/transactions`,
      `/addresses/${bob.address}/utxos`,
      `/txs/${hash}`,
      `/txs/${hash}/cbor`,
      `/blocks/${hash}`,
      "/blocks/1",
      `/assets/${unit}`,
      `/assets/policy/${unit}`,
      `/scripts/${unit}`,
      `/scripts/datum/${hash}/cbor`,
    ];
    for (const path of paths) {
      const { status, body } = await ask(node, path);
      expect([path, status, body.status_code]).toEqual([path, 404, 404]);
    }
  });

  it("gets 400 for a path, an identifier or a query that makes no sense", async () => {
    const node = devnet.createChain("senseless", { funds: FUNDS });
    const mainnetAddress = addressFromBytes(addressToBytes(alice.address).with(0, 0x61));
    const listing = `/addresses/${alice.address}/transactions`;
    const paths = [
      "/no/such/path",
      "/txs/12ab",
      "/blocks/minus-one",
      "/addresses/addr_test1junk/utxos",
      `/addresses/${mainnetAddress}/utxos`,
      "/assets/xyz",
      "/assets/policy/xyz",
      `${listing}?count=0`,
      `${listing}?count=101`,
      `${listing}?count=many`,
      `${listing}?page=0`,
      `${listing}?order=up`,
      `${listing}?from=abc`,
      `${listing}?from=5&to=4`,
      `${listing}?from=5:2&to=5:1`,
    ];
    for (const path of paths) {
      const { status, body } = await ask(node, path);
      expect([path, status, body.error]).toEqual([path, 400, "Bad Request"]);
    }
  });

  it("is counted under its path template", async () => {
    const node = devnet.createChain("counted", { funds: FUNDS });
    await ask(node, "/blocks/0");
    await ask(node, "/blocks/1");
    await ask(node, "/blocks/latest");
    const { body } = await control(devnet.url, "counted/stats", { reset: true });
    expect(body).toEqual({
      calls: { "GET /blocks/{hash_or_number}": 2, "GET /blocks/latest": 1 },
      total: 3,
    });
    expect((await control(devnet.url, "counted/stats")).body.total).toBe(0);
  });
});

describe("chains of one devnet", () => {
  it("share neither blocks nor transactions", async () => {
    const one = devnet.createChain("one", { funds: FUNDS, autoMine: true });
    const two = devnet.createChain("two", { funds: FUNDS, autoMine: true });
    const hash = pay(one.chain, alice, bob.address);
    expect((await ask(one, `/txs/${hash}`)).status).toBe(200);
    expect((await ask(two, `/txs/${hash}`)).status).toBe(404);
    expect(pay(two.chain, alice, bob.address)).not.toBe(hash);
    expect(two.chain.tip().hash).not.toBe(one.chain.tip().hash);
  });

  it("have the same transaction hashes on every run", () => {
    const node = devnet.createChain("seeded", { funds: FUNDS, seed: "fixed" });
    expect(pay(node.chain, alice, bob.address)).toBe(
      "fb904e74c995a87341e01d0a9a02bb902f429f2228616ab7c7461229414fbad2",
    );
  });

  it("refuse a second chain of the same name", () => {
    devnet.createChain("name", { funds: [] });
    expect(() => devnet.createChain("name", { funds: [] })).toThrow(RangeError);
    expect(() => devnet.createChain("na/me", { funds: [] })).toThrow(RangeError);
  });
});

describe("the ledger's clock", () => {
  it("dates blocks, and moves only forward", async () => {
    const { chain } = devnet.createChain("clock", { funds: FUNDS });
    const before = chain.mine();
    chain.advance(3_600_000);
    const after = chain.mine();
    expect(after.time - before.time).toBeGreaterThanOrEqual(3_600);
    expect(after.slot - before.slot).toBe(after.time - before.time);
    expect(Math.abs(chain.now() - after.time * 1000)).toBeLessThan(60_000);
    expect(() => chain.advance(-1)).toThrow(RangeError);
  });
});

describe("control over HTTP", () => {
  it("creates a chain with the devnet's funds and mines, submits and rolls back on it", async () => {
    const created = await control(devnet.url, "create", { name: "remote" });
    expect(created.body).toEqual({ name: "remote", url: `${devnet.url}/remote/api/v0` });
    const node = devnet.chains.get("remote");
    if (!node) throw new Error("The chain is not there");

    const cbor = payment(node.chain, {
      from: alice,
      to: [{ address: bob.address, lovelace: 2_000_000n }],
    });
    const submitted = await control(devnet.url, "remote/submit", { cbor: bytesToHex(cbor) });
    const { hash } = submitted.body;
    const mined = await control(devnet.url, "remote/mine", { blocks: 3 });
    expect(mined.body.height).toBe(3);
    expect((await ask(node, `/txs/${hash}`)).body.block_height).toBe(1);

    const gone = await control(devnet.url, "remote/rollback", { blocks: 3 });
    expect(gone.body).toEqual({ transactions: [bytesToHex(cbor)] });
    expect((await ask(node, `/txs/${hash}`)).status).toBe(404);
    const again = await control(devnet.url, "remote/replay", gone.body);
    expect(again.body).toEqual({ accepted: [hash], rejected: [] });
    await control(devnet.url, "remote/mine");
    expect((await ask(node, `/txs/${hash}`)).body.block_height).toBe(1);
    expect((await control(devnet.url, "remote/tip")).body.txs).toEqual([hash]);
  });

  it("advances the clock", async () => {
    const { chain } = devnet.createChain("remote-clock", { funds: FUNDS });
    const before = chain.now();
    const { body } = await control(devnet.url, "remote-clock/advance", { ms: 60_000 });
    expect(body.now - before).toBeGreaterThanOrEqual(60_000);
  });

  it("gives a chain of its own funds and a name when asked for none", async () => {
    const funds = [{ address: bob.address, lovelace: "7000000" }];
    const { body } = await control(devnet.url, "create", { funds, autoMine: true });
    const node = devnet.chains.get(body.name);
    expect(node?.url).toBe(body.url);
    expect(node?.chain.utxosAt(bob.address).map(({ amount }) => amount)).toEqual([
      [{ unit: "lovelace", quantity: 7_000_000n }],
    ]);
  });

  it("serves actions that others register", async () => {
    const { chain } = devnet.createChain("extended", { funds: FUNDS });
    devnet.onControl("height", async (target, body) => ({
      same: target === chain,
      height: target.tip().height,
      body,
    }));
    const { body } = await control(devnet.url, "extended/height", { a: 1 });
    expect(body).toEqual({ same: true, height: 0, body: { a: 1 } });
  });

  it("says what is wrong with a request", async () => {
    devnet.createChain("strict", { funds: FUNDS });
    const asked = async (path: string, body: unknown) => {
      const answer = await control(devnet.url, path, body);
      expect(answer.body.error).toEqual(expect.any(String));
      return answer.status;
    };
    expect(await asked("create", { name: "strict" })).toBe(400);
    expect(await asked("strict/rollback", { blocks: 1 })).toBe(400);
    expect(await asked("strict/rollback", {})).toBe(400);
    expect(await asked("strict/faults", { rules: [{ match: "(" }] })).toBe(400);
    expect(await asked("strict/faults", { rules: [{ unknown: 1 }] })).toBe(400);
    expect(await asked("strict/submit", { cbor: "00" })).toBe(422);
    expect(await asked("strict/no-such-action", {})).toBe(404);
    expect(await asked("no-such-chain/mine", {})).toBe(404);
    const got = await fetch(`${devnet.url}/_control/strict/mine`);
    expect(got.status).toBe(405);
  });
});

it("closing drops connections that wait for an answer", async () => {
  const closing = await startDevnet();
  const node = closing.createChain("closing", { funds: FUNDS });
  node.faults.add({ hang: true });
  const arrived = new Promise<void>((resolve) => {
    const { apply } = node.faults;
    node.faults.apply = (path) => {
      resolve();
      return apply(path);
    };
  });
  const waiting = ask(node, "/blocks/latest").then(
    () => "answered",
    () => "dropped",
  );
  await arrived;
  await closing.close();
  expect(await waiting).toBe("dropped");
  await expect(fetch(closing.url)).rejects.toThrow();
});
