import { afterAll, beforeAll, expect, it } from "vitest";
import type { DevnetNode } from "../../../devnet/server/node.ts";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { ask } from "../ask.ts";
import { pay, plainWallet } from "../hand-built.ts";

const alice = plainWallet("alice");
const bob = plainWallet("bob");
const BLOCKS = 50;
const PER_BLOCK = 5;

let devnet: Devnet;
let node: DevnetNode;
/** Hashes of bob's 250 transactions, five in each of the blocks 1 to 50. */
const hashes: string[] = [];

beforeAll(async () => {
  devnet = await startDevnet();
  const funds = [{ address: alice.address, lovelace: 100_000_000_000n }];
  node = devnet.createChain("paging", { funds });
  for (let block = 0; block < BLOCKS; block++) {
    for (let i = 0; i < PER_BLOCK; i++) hashes.push(pay(node.chain, alice, bob.address));
    node.chain.mine();
  }
});
afterAll(() => devnet.close());

async function listed(query: string): Promise<string[]> {
  const { body } = await ask(node, `/addresses/${bob.address}/transactions${query}`);
  return body.map((row: { tx_hash: string }) => row.tx_hash);
}

it("pages of 100 follow each other without gap or overlap, and end with a short one", async () => {
  const pages = await Promise.all([1, 2, 3, 4].map((page) => listed(`?page=${page}`)));
  expect(pages.map((page) => page.length)).toEqual([100, 100, 50, 0]);
  expect(pages.flat()).toEqual(hashes);
});

it("descending order starts at the newest", async () => {
  expect(await listed("?order=desc&count=7&page=2")).toEqual(hashes.toReversed().slice(7, 14));
});

it("from and to are inclusive, and mean whole blocks unless they have an index", async () => {
  const between = (from: number, to: number) => hashes.slice(from, to);
  expect(await listed("?from=31")).toEqual(between(150, 250));
  expect(await listed("?from=31&page=2")).toEqual([]);
  expect(await listed("?from=30:3&to=31:1")).toEqual(between(148, 152));
  expect(await listed("?from=50&to=50")).toEqual(between(245, 250));
  expect(await listed("?to=2")).toEqual(between(0, 10));
  expect(await listed("?from=2&to=3&order=desc&count=3")).toEqual(
    between(5, 15).reverse().slice(0, 3),
  );
  expect(await listed("?from=51")).toEqual([]);
});

it("rows tell height, index and time of the block", async () => {
  const { body } = await ask(node, `/addresses/${bob.address}/transactions?from=7:2&to=7:2`);
  const block = (await ask(node, "/blocks/7")).body;
  expect(body).toEqual([
    { tx_hash: hashes[32], tx_index: 2, block_height: 7, block_time: block.time },
  ]);
  expect(block.confirmations).toBe(BLOCKS - 7);
});

it("outputs are paged too", async () => {
  const pages = await Promise.all(
    [1, 2, 3].map((page) => ask(node, `/addresses/${bob.address}/utxos?page=${page}`)),
  );
  const rows: { tx_hash: string }[] = pages.flatMap(({ body }) => body);
  expect(rows.map((row) => row.tx_hash)).toEqual(hashes);
});
