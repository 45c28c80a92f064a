/** The way of the service to the EVM node, on which the node may refuse calls. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { keepingServer, listenLocally } from "../server/keeping.ts";

/** How a node refuses: by a status, or with an error of JSON-RPC. */
export const REFUSALS = [403, 429, 503, "limit exceeded", "header not found"] as const;
type Refusal = (typeof REFUSALS)[number];

export interface EvmGate {
  /** JSON-RPC endpoint. */
  url: string;
  /** @param refusal - null: every call passes */
  refuse(refusal: Refusal | null): void;
  close(): Promise<void>;
}

/** @param target - the node's JSON-RPC endpoint */
export async function startEvmGate(target: string): Promise<EvmGate> {
  let refusal: Refusal | null = null;

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const send = (status: number, json: string) =>
      response.writeHead(status, { "content-type": "application/json" }).end(json);
    if (typeof refusal === "number") send(refusal, "{}");
    else if (refusal !== null) send(200, refuseCalls(JSON.parse(body), refusal));
    else {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(target, { method: "POST", headers, body });
      send(answer.status, await answer.text());
    }
  }

  const server = keepingServer((request, response) => {
    // The node is down.
    pass(request, response).catch(() => request.socket.resetAndDestroy());
  });
  const port = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    refuse(next) {
      refusal = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refuseCalls(calls: { id: number } | { id: number }[], message: string): string {
  const refuseCall = ({ id }: { id: number }) => ({
    ...{ jsonrpc: "2.0", id },
    error: { code: -32_005, message },
  });
  return JSON.stringify(Array.isArray(calls) ? calls.map(refuseCall) : refuseCall(calls));
}
