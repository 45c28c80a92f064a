import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { startKeptEvmNode } from "../../../devnet/evm/kept.ts";
import { BANK, type EvmNode, MULTICALL3 } from "../../../devnet/evm/node.ts";

const CHAIN_ID = 31_337;

let folder: string;
let nodes: EvmNode[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kept-evm-"));
  nodes = [];
});
afterEach(async () => {
  for (const node of nodes) await node.close();
  rmSync(folder, { recursive: true });
});

async function startFrom(file: string): Promise<EvmNode> {
  const node = await startKeptEvmNode(CHAIN_ID, file);
  nodes.push(node);
  return node;
}

/** Asks a node as the service does. */
async function ask<T>({ url }: EvmNode, method: string, ...params: unknown[]): Promise<T> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(url, { method: "POST", body });
  return ((await response.json()) as { result: T }).result;
}

it("a kept node has every block that it has told of in its file", async () => {
  const file = join(folder, "evm-chain");
  const node = await startFrom(file);
  const hash = await ask<string>(node, "eth_sendTransaction", { from: BANK, to: BANK });
  const receipt = await vi.waitUntil(() => ask<object>(node, "eth_getTransactionReceipt", hash), {
    interval: 0,
    timeout: 60_000,
  });
  const copy = join(folder, "copy");
  copyFileSync(file, copy);

  const again = await startFrom(copy);
  expect(await ask(again, "eth_getTransactionReceipt", hash)).toEqual(receipt);
  for (const [method, ...params] of [
    ["eth_getBlockByNumber", "latest", true],
    ["eth_getTransactionCount", BANK, "latest"],
    ["eth_getCode", again.token, "latest"],
    ["eth_getCode", MULTICALL3, "latest"],
  ] as const)
    expect(await ask(again, method, ...params)).toEqual(await ask(node, method, ...params));
});

it("a kept node listens where it did before, or elsewhere while that is taken", async () => {
  const file = join(folder, "evm-chain");
  const first = await startFrom(file);
  const copy = join(folder, "copy");
  copyFileSync(file, copy);
  expect((await startFrom(copy)).url).not.toBe(first.url);
  await first.close();
  expect((await startFrom(file)).url).toBe(first.url);
});

it("a kept node whose file holds no chain does not start, and says which file", async () => {
  const file = join(folder, "evm-chain");
  writeFileSync(file, JSON.stringify({ port: 0, chain: "0x00" }));
  await expect(startFrom(file)).rejects.toThrow(file);
});
