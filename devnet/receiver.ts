/**
 * A small receiver of webhooks on 127.0.0.1: it keeps what arrives, by path, and answers as its
 * query says. `npm start` shows it in a browser; tests make it misbehave.
 *
 *     POST /inbox                            answers 200
 *     POST /inbox?answer=503&retryAfter=7    answers as told
 *     POST /inbox?answer=redirect            answers 302; the target is another inbox, `/redirected`
 *     POST /inbox?answer=reset               cuts the connection
 *     POST /inbox?answer=hang                never answers
 *     GET  /inbox                            what has arrived there, as JSON
 *     GET  /                                 the last of all that has arrived, as text
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";

/** One request that has arrived. */
export interface Arrival {
  /** Epoch milliseconds. */
  at: number;
  headers: Record<string, string>;
  body: string;
}

export interface Receiver {
  /** Origin without a trailing slash. */
  url: string;
  /** What has arrived at a path such as `/inbox`, oldest first. */
  arrivals(path: string): readonly Arrival[];
  /** Verifies what arrives at a path from now on, and shows the outcome. */
  trust(path: string, secret: string): void;
  close(): Promise<void>;
}

const SHOWN = 200;
const MAX_KEPT = 100_000;

/** Starts a receiver on a free port. */
export async function startReceiver(): Promise<Receiver> {
  const inboxes = new Map<string, Arrival[]>();
  const secrets = new Map<string, string>();
  const shown: string[] = [];

  function receive(path: string, arrival: Arrival): void {
    const inbox = inboxes.get(path) ?? [];
    inboxes.set(path, inbox);
    if (inbox.length < MAX_KEPT) inbox.push(arrival);
    shown.push(describe(path, arrival, secrets.get(path)));
    if (shown.length > SHOWN) shown.shift();
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams } = new URL(request.url ?? "/", "http://receiver");
    if (request.method !== "POST") {
      const isOverview = path === "/";
      response.setHeader(
        "content-type",
        isOverview ? "text/plain; charset=utf-8" : "application/json",
      );
      response.end(isOverview ? overview(shown) : JSON.stringify(inboxes.get(path) ?? []));
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    receive(path, { at: Date.now(), headers, body: Buffer.concat(chunks).toString("utf8") });
    answer(response, searchParams);
  }

  const server = createServer((request, response) => {
    // A caller that goes away in the middle of its request is no fault of ours.
    handle(request, response).catch(() => response.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals: (path) => inboxes.get(path) ?? [],
    trust: (path, secret) => secrets.set(path, secret),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function answer(response: ServerResponse, how: URLSearchParams): void {
  const wanted = how.get("answer") ?? "200";
  if (wanted === "hang") return;
  if (wanted === "reset") {
    response.destroy();
    return;
  }
  const retryAfter = how.get("retryAfter");
  if (retryAfter !== null) response.setHeader("retry-after", retryAfter);
  if (wanted === "redirect") response.setHeader("location", "/redirected");
  response.statusCode = wanted === "redirect" ? 302 : Number(wanted);
  response.end("thank you");
}

function overview(lines: readonly string[]): string {
  return `${lines.length === 0 ? "nothing has arrived yet" : [...lines].reverse().join("\n")}\n`;
}

/** One line: when, where, what, and whether the signature holds. */
function describe(
  path: string,
  { at, headers, body }: Arrival,
  secret: string | undefined,
): string {
  const time = new Date(at).toISOString();
  return [time, path, summary(body), secret ? check(secret, headers, body) : "not verified"].join(
    "  ",
  );
}

function summary(body: string): string {
  try {
    const event = JSON.parse(body) as {
      type?: string;
      sequence?: number;
      data?: { id?: string; onChainState?: string };
    };
    const { type = "message", sequence = "-", data } = event;
    return `${type} #${sequence} ${data?.id ?? ""} ${data?.onChainState ?? ""}`.trim();
  } catch {
    return "no JSON";
  }
}

function check(secret: string, headers: Record<string, string>, body: string): string {
  try {
    new Webhook(secret).verify(body, headers);
    return "verified";
  } catch (error) {
    return `NOT VERIFIED: ${error instanceof Error ? error.message : error}`;
  }
}
