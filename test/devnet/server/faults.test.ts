import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { DevnetNode } from "../../../devnet/server/node.ts";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { ask, control } from "../ask.ts";
import { pay, plainWallet } from "../hand-built.ts";

const alice = plainWallet("alice");
const bob = plainWallet("bob");
const LISTING = `/addresses/${bob.address}/transactions`;

let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet();
});
afterAll(() => devnet.close());

/** A chain of five blocks, each with a payment to bob. */
let node: DevnetNode;
let hashes: string[];
let count = 0;
beforeEach(() => {
  const funds = [{ address: alice.address, lovelace: 1_000_000_000n }];
  node = devnet.createChain(`faults-${count++}`, { funds, autoMine: true });
  hashes = [1, 2, 3, 4, 5].map(() => pay(node.chain, alice, bob.address));
});

async function listed(query = ""): Promise<string[]> {
  const { body } = await ask(node, LISTING + query);
  return body.map((row: { tx_hash: string }) => row.tx_hash);
}

const height = async () => (await ask(node, "/blocks/latest")).body.height;

describe("a rule", () => {
  it("answers with a status, its headers and the usual body", async () => {
    node.faults.add({ status: 429, retryAfter: "7" });
    const { status, headers, body } = await ask(node, "/blocks/latest");
    expect([status, headers.get("retry-after")]).toEqual([429, "7"]);
    expect(body).toEqual({
      status_code: 429,
      error: "Project Over Limit",
      message: "Project Over Limit",
    });
  });

  it("answers with a body of its own, be it JSON or not", async () => {
    node.faults.add({ status: 520, body: "<html>" });
    const headers = { project_id: "x" };
    const response = await fetch(`${node.url}/blocks/latest`, { headers });
    expect([response.status, await response.text()]).toEqual([520, "<html>"]);
  });

  it("hits only what matches, query included, and counts what it passes over and hits", async () => {
    node.faults.add({ match: "transactions\\?page=2", status: 500, after: 1, times: 2 });
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) statuses.push((await ask(node, `${LISTING}?page=2`)).status);
    expect(statuses).toEqual([200, 500, 500, 200, 200]);
    expect((await ask(node, `${LISTING}?page=1`)).status).toBe(200);
  });

  it("hides one transaction", async () => {
    node.faults.add({ match: `^/txs/${hashes[2]}`, status: 404 });
    expect((await ask(node, `/txs/${hashes[2]}/cbor`)).status).toBe(404);
    expect((await ask(node, `/txs/${hashes[1]}/cbor`)).status).toBe(200);
    expect(await listed()).toEqual(hashes);
  });

  it("delays an answer", async () => {
    node.faults.add({ delay: 80 });
    const start = performance.now();
    expect(await height()).toBe(5);
    expect(performance.now() - start).toBeGreaterThanOrEqual(75);
  });

  it("leaves a call without an answer", async () => {
    node.faults.add({ hang: true });
    const call = ask(node, "/blocks/latest", { signal: AbortSignal.timeout(100) });
    await expect(call).rejects.toMatchObject({ name: "TimeoutError" });
  });

  it("resets the connection", async () => {
    node.faults.add({ reset: true, times: 1 });
    await expect(ask(node, "/blocks/latest")).rejects.toMatchObject({
      cause: { code: "ECONNRESET" },
    });
    expect(await height()).toBe(5);
  });

  it("cuts the body in half", async () => {
    node.faults.add({ truncate: true, times: 1 });
    await expect(ask(node, "/blocks/latest")).rejects.toThrow(SyntaxError);
  });

  it("drops the last rows of a listing", async () => {
    node.faults.add({ match: "/transactions", dropRows: 2 });
    expect(await listed()).toEqual(hashes.slice(0, 3));
  });

  it("shows a transaction later than those after it", async () => {
    node.faults.add({ match: "/transactions", hideTransaction: hashes[2] ?? "" });
    expect(await listed()).toEqual(hashes.filter((hash) => hash !== hashes[2]));
    expect((await ask(node, `/txs/${hashes[2]}/cbor`)).status).toBe(200);
  });

  it("passes over a query parameter", async () => {
    node.faults.add({ ignore: ["from"] });
    expect(await listed("?from=4&count=3")).toEqual(hashes.slice(0, 3));
  });

  it("is forgotten when the rules are cleared", async () => {
    node.faults.add({ status: 500 });
    node.faults.clear();
    expect(await height()).toBe(5);
  });

  it("does not keep a call from being counted", async () => {
    node.faults.add({ status: 500 });
    await ask(node, "/blocks/latest");
    expect(node.calls.get("GET /blocks/latest")).toBe(1);
  });

  it("lies over those before it: late and limping at once", async () => {
    node.faults.add({ behind: 1 });
    node.faults.add({ match: "/transactions", dropRows: 1 });
    expect(await height()).toBe(4);
    expect(await listed()).toEqual(hashes.slice(0, 3));
  });
});

describe("a lagging node", () => {
  it("shows an older chain, whole and consistent", async () => {
    const spent = (await ask(node, `/txs/${hashes[2]}/utxos`)).body.outputs[1];
    expect(spent.consumed_by_tx).toBe(hashes[3]);
    node.faults.add({ behind: 2 });
    expect(await height()).toBe(3);
    expect(await listed()).toEqual(hashes.slice(0, 3));
    expect((await ask(node, `/txs/${hashes[3]}`)).status).toBe(404);
    expect((await ask(node, "/blocks/4")).status).toBe(404);
    expect((await ask(node, "/blocks/3")).body).toMatchObject({
      confirmations: 0,
      next_block: null,
    });
    const unspent = (await ask(node, `/txs/${hashes[2]}/utxos`)).body.outputs[1];
    expect(unspent.consumed_by_tx).toBeNull();
  });

  it("may lag with its listing while its tip does not", async () => {
    node.faults.add({ match: "^/addresses/", behind: 2 });
    expect(await height()).toBe(5);
    expect(await listed()).toEqual(hashes.slice(0, 3));
  });

  it("may show a transaction whose outputs are not among the unspent ones yet", async () => {
    node.faults.add({ match: "^/addresses/[^/]+/utxos", behind: 1 });
    const unspent = async () =>
      (await ask(node, `/addresses/${alice.address}/utxos`)).body.map(
        (row: { tx_hash: string }) => row.tx_hash,
      );
    expect((await ask(node, `/txs/${hashes[4]}`)).status).toBe(200);
    expect(await unspent()).toEqual([hashes[3]]);
    node.faults.clear();
    expect(await unspent()).toEqual([hashes[4]]);
  });

  it("may show what a transaction made before it shows the transaction", async () => {
    node.faults.add({ match: "^/txs/", behind: 1 });
    expect((await ask(node, `/txs/${hashes[4]}`)).status).toBe(404);
    const { body } = await ask(node, `/addresses/${alice.address}/utxos`);
    expect(body).toMatchObject([{ tx_hash: hashes[4] }]);
  });

  it("stops at the first block", async () => {
    node.faults.add({ behind: 100 });
    expect(await height()).toBe(0);
    expect((await ask(node, LISTING)).status).toBe(404);
  });
});

describe("a switch of forks", () => {
  it("happens between two pages of one listing", async () => {
    node.chain.rollback(3);
    const fresh = pay(node.chain, alice, bob.address, 9_000_000n);
    node.faults.add({ match: "/transactions", fork: 0, times: 1 });
    expect(await listed("?count=2&page=2")).toEqual(hashes.slice(2, 4));
    expect(await listed("?count=2&page=2")).toEqual([fresh]);
    expect(await height()).toBe(3);
  });

  it("can lead to any fork that was left, seen from any height", async () => {
    node.chain.rollback(1);
    node.chain.mine();
    node.chain.rollback(2);
    node.faults.add({ fork: 1 });
    expect(await listed()).toEqual(hashes);
    node.faults.add({ behind: 1 });
    expect(await listed()).toEqual(hashes.slice(0, 4));
    node.faults.clear();
    node.faults.add({ fork: 2 });
    expect((await ask(node, "/blocks/latest")).status).toBe(500);
  });
});

describe("control", () => {
  it("sets rules from another process, and replaces those before", async () => {
    const path = `${node.name}/faults`;
    await control(devnet.url, path, { rules: [{ status: 500 }] });
    expect((await ask(node, "/blocks/latest")).status).toBe(500);
    await control(devnet.url, path, { rules: [{ behind: 1 }] });
    expect(await height()).toBe(4);
    await control(devnet.url, path, { rules: [] });
    expect(await height()).toBe(5);
  });
});
