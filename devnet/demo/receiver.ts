/**
 * A small receiver of webhooks on 127.0.0.1. It stores requests by path, and answers as its query
 * says. `npm start` shows it in a browser.
 *
 *     POST /inbox                            answers 200.
 *     POST /inbox?answer=503&retryAfter=7    answers as told.
 *     POST /inbox?answer=307&location=…      answers as told, with `Location`.
 *     POST /inbox?answer=redirect            answers 302 to another inbox, `/redirected`.
 *     POST /inbox?answer=late&ms=500         answers 200 after that time.
 *     POST /inbox?answer=reset               resets the connection.
 *     POST /inbox?answer=hang                never answers.
 *     POST /inbox?answer=hold                answers 200 when the inbox is released.
 *     POST /inbox?answer=stall               answers 200, and stops in the middle of the body.
 *     POST /inbox?answer=hints               answers 103, and then 200.
 *     POST /inbox?answer=cut                 answers 200, and ends in the middle of the body.
 *     POST /inbox?answer=garbled             answers 200 with another encoding than it declares.
 *     PUT  /inbox                            answers by the plan in the body from now on: see `Plan`.
 *     PATCH /inbox                           releases the inbox.
 *     GET  /inbox                            returns what has arrived, as JSON.
 *     DELETE /inbox                          returns the same, and forgets it.
 *     GET  /                                 returns the last of all requests, as text.
 */

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import { keepingServer, listenLocally } from "../server/keeping.ts";

/** One request that has arrived. */
export interface Arrival {
  /** Epoch milliseconds. */
  at: number;
  headers: Record<string, string>;
  body: string;
  /** How it was answered, as a query like those above. Empty: 200, at once. */
  answered: string;
}

/**
 * Answers of an inbox, as queries like those above. The n-th new message, by its `webhook-id`, gets
 * the n-th list; after the last list the first follows. Each delivery of a message gets the next
 * answer of its list, and 200 after the last.
 */
export type Plan = readonly (readonly string[])[];

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

/**
 * Starts a receiver.
 *
 * @param portFile - keeps its port for the next start, since webhooks have its URL
 */
export async function startReceiver(portFile?: string): Promise<Receiver> {
  const inboxes = new Map<string, Arrival[]>();
  const plans = new Map<string, (messageId: string) => string>();
  const secrets = new Map<string, string>();
  const shown: string[] = [];
  const releases = new Map<string, PromiseWithResolvers<void>>();

  /** Resolves when an inbox is released. */
  function release(path: string): PromiseWithResolvers<void> {
    const known = releases.get(path) ?? Promise.withResolvers();
    releases.set(path, known);
    return known;
  }

  function receive(path: string, arrival: Arrival): void {
    const inbox = inboxes.get(path) ?? [];
    inboxes.set(path, inbox);
    if (inbox.length < MAX_KEPT) inbox.push(arrival);
    shown.push(describe(path, arrival, secrets.get(path)));
    if (shown.length > SHOWN) shown.shift();
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, search } = new URL(request.url ?? "/", "http://receiver");
    if (request.method === "POST") {
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      const body = await textOf(request);
      const answered = plans.get(path)?.(headers["webhook-id"] ?? "") ?? search.slice(1);
      receive(path, { at: Date.now(), headers, body, answered });
      const how = new URLSearchParams(answered);
      if (how.get("answer") === "hold") {
        await release(path).promise;
        how.delete("answer");
      }
      answer(response, how);
    } else if (request.method === "PUT") {
      plans.set(path, following(JSON.parse(await textOf(request))));
      response.end();
    } else if (request.method === "PATCH") {
      release(path).resolve();
      response.end();
    } else if (path === "/") {
      response.setHeader("content-type", "text/plain; charset=utf-8").end(overview(shown));
    } else {
      const arrivals = JSON.stringify(inboxes.get(path) ?? []);
      if (request.method === "DELETE") inboxes.delete(path);
      response.setHeader("content-type", "application/json").end(arrivals);
    }
  }

  const server = keepingServer((request, response) => {
    // A caller may close the connection during its request.
    handle(request, response).catch(() => response.destroy());
  });
  const port = await listenLocally(server, portFile);
  return {
    url: `http://127.0.0.1:${port}`,
    arrivals: (path) => inboxes.get(path) ?? [],
    trust: (path, secret) => secrets.set(path, secret),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** The answer to each request of a message, by its id. */
function following(plan: Plan): (messageId: string) => string {
  const messages = new Map<string, { answers: readonly string[]; times: number }>();
  return (id) => {
    const known = messages.get(id);
    const message = known ?? { answers: plan[messages.size % plan.length] ?? [], times: 0 };
    messages.set(id, message);
    return message.answers[message.times++] ?? "";
  };
}

/** More than the first part of an answer that stalls. */
const STALLED_LENGTH = "1000";

function answer(response: ServerResponse, how: URLSearchParams): void {
  const kind = how.get("answer") ?? "200";
  switch (kind) {
    case "hang":
      return;
    case "stall":
      response.setHeader("content-length", STALLED_LENGTH).write("thank ");
      return;
    case "hints":
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.end("thank you");
      return;
    case "cut":
      response.setHeader("content-length", STALLED_LENGTH);
      response.write("thank ", () => response.destroy());
      return;
    case "garbled":
      response.setHeader("content-encoding", "gzip").end("thank you");
      return;
    case "reset":
      response.socket?.resetAndDestroy();
      return;
    case "late": {
      const timer = setTimeout(() => response.end("thank you"), Number(how.get("ms")));
      response.on("close", () => clearTimeout(timer));
      return;
    }
  }
  const retryAfter = how.get("retryAfter");
  if (retryAfter !== null) response.setHeader("retry-after", retryAfter);
  const location = kind === "redirect" ? "/redirected" : how.get("location");
  if (location !== null) response.setHeader("location", location);
  response.statusCode = kind === "redirect" ? 302 : Number(kind);
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
      text?: string;
      content?: string;
    };
    const { type = "message", sequence = "-", data, text, content } = event;
    const chat = text ?? content;
    if (chat !== undefined) return chat.replaceAll("\n", ", ");
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

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
