/** One origin before as many EVM nodes as tests ask for, so that no test disturbs another's chain. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { keepingServer } from "../server/keeping.ts";
import { type EvmNode, startEvmNode } from "./node.ts";

export interface EvmServer {
  /** Origin without a trailing slash. */
  url: string;
  close(): Promise<void>;
}

/**
 * Starts the server. `GET /{name}` starts a node when there is none of that name and tells of it
 * (`{chainId, token, …}`); `POST /{name}` is its JSON-RPC endpoint. The name is the chain id,
 * optionally with a suffix: `/84532-faults`. `DELETE /{name}` crashes the node, `PUT /{name}` starts
 * it again.
 */
export async function startEvmServer(): Promise<EvmServer> {
  const nodes = new Map<string, Promise<EvmNode>>();
  const nodeOf = (name: string) => {
    const chainId = Number.parseInt(name, 10);
    if (!Number.isInteger(chainId)) throw new Error(`no chain id in ${name}`);
    const node = nodes.get(name) ?? startEvmNode(chainId);
    nodes.set(name, node);
    return node;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const node = await nodeOf(new URL(request.url ?? "/", "http://evm").pathname.slice(1));
    response.setHeader("content-type", "application/json");
    if (request.method === "GET") {
      const { chainId, token, feeToken, walletFactory } = node;
      response.end(JSON.stringify({ chainId, token, feeToken, walletFactory }));
      return;
    }
    if (request.method === "DELETE" || request.method === "PUT") {
      await (request.method === "DELETE" ? node.crash() : node.restart());
      response.end("{}");
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = { "content-type": "application/json" };
    const body = Buffer.concat(chunks);
    const forwarded = await fetch(node.url, { method: "POST", headers, body });
    response.statusCode = forwarded.status;
    response.end(await forwarded.text());
  };

  const server = keepingServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.statusCode = 500;
      response.end(String(error));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      for (const node of await Promise.allSettled(nodes.values()))
        if (node.status === "fulfilled") await node.value.close();
    },
  };
}
