/** A proxy before a JSON-RPC node that counts what is asked of it. */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface CountingProxy {
  /** Origin without a trailing slash. */
  url: string;
  /** JSON-RPC calls so far, each member of an array counted: hosted nodes bill these. */
  calls(): number;
  /** HTTP requests so far, each of which may hold several calls. */
  requests(): number;
  close(): Promise<void>;
}

/** Starts a proxy before the node at an origin. */
export async function startCountingProxy(node: string): Promise<CountingProxy> {
  const agent = new Agent({ keepAlive: true });
  let calls = 0;
  let requests = 0;

  const forward = async (incoming: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    requests++;
    const asked: unknown = JSON.parse(body.toString());
    calls += Array.isArray(asked) ? asked.length : 1;

    const headers = { "content-type": "application/json", "content-length": body.length };
    const outgoing = request(node, { method: "POST", agent, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", (error) => response.destroy(error));
    outgoing.end(body);
  };

  const server = createServer((incoming, response) => {
    forward(incoming, response).catch((error: Error) => response.destroy(error));
  });
  // As the node does: what is sent on a connection just as it closes would fail.
  server.keepAliveTimeout = 0;
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls: () => calls,
    requests: () => requests,
    async close() {
      server.closeAllConnections();
      agent.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
