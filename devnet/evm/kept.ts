/** An EVM node that outlives its process: a file stores its chain and its address. */

import { once } from "node:events";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Hex } from "viem";
import { keepingServer } from "../server/keeping.ts";
import { type EvmNode, EvmUnavailable, startEvmNode } from "./node.ts";

/** What the file holds, as JSON. */
interface Kept {
  /** TCP port on 127.0.0.1. */
  port: number;
  /** From `anvil_dumpState`. */
  chain: Hex;
}

/**
 * Starts a node that continues the chain of a file, or begins one when the file does not exist. The
 * file has each block before an answer can depend on it. A settlement that a caller has recorded is
 * therefore on the chain after any kind of end. The node listens at its former port, unless that is
 * in use. Only one process may use a file.
 *
 * @throws EvmUnavailable as `startEvmNode` does
 * @throws Error naming the file when it cannot be loaded
 */
export async function startKeptEvmNode(chainId: number, file: string): Promise<EvmNode> {
  const { node, port: wanted } = await resume(chainId, file);
  const server = keepingServer((request, response) => {
    forward(request, response).catch((error: unknown) => {
      response.writeHead(502).end(String(error));
    });
  });
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((done) => server.close(done));
    await node.close();
  };

  let savedHead = "";
  let saving = Promise.resolve();
  const saveNewBlocks = async () => {
    const { hash } = await node.rpc<{ hash: string }>("eth_getBlockByNumber", ["latest", false]);
    if (hash === savedHead) return;
    const { port } = server.address() as AddressInfo;
    const state: Kept = { port, chain: await node.rpc("anvil_dumpState") };
    // The file is replaced whole, so that there is always a chain in it.
    writeFileSync(`${file}.new`, JSON.stringify(state));
    renameSync(`${file}.new`, file);
    savedHead = hash;
  };
  const save = () => {
    saving = saving.then(saveNewBlocks);
    return saving;
  };
  const rpc = async <T>(method: string, params: unknown[] = []) => {
    const result = await node.rpc<T>(method, params);
    await save();
    return result;
  };

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const answer = await fetch(node.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: Buffer.concat(chunks),
    });
    const text = await answer.text();
    await save();
    response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  }

  try {
    const port = await listen(server, wanted);
    await save();
    return { ...node, url: `http://127.0.0.1:${port}`, rpc, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function resume(chainId: number, file: string): Promise<{ node: EvmNode; port: number }> {
  if (!existsSync(file)) return { node: await startEvmNode(chainId), port: 0 };
  try {
    const { port, chain } = JSON.parse(readFileSync(file, "utf8")) as Kept;
    return { node: await startEvmNode(chainId, chain), port };
  } catch (error) {
    if (error instanceof EvmUnavailable) throw error;
    throw new Error(`the EVM chain in ${file} cannot be loaded`, { cause: error });
  }
}

/** @returns the port, which is another one when the wanted one is in use */
async function listen(server: Server, wanted: number): Promise<number> {
  try {
    await once(server.listen(wanted, "127.0.0.1"), "listening");
  } catch (error) {
    if (wanted === 0 || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    return listen(server, 0);
  }
  return (server.address() as AddressInfo).port;
}
