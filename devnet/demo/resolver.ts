/**
 * A resolver of names for the tests (DNS over HTTPS, JSON form). Tests set the records of each
 * name, so a name can change between two questions.
 *
 *     GET  /dns-query?name=a.dev&type=AAAA   returns the records of that type, after the aliases.
 *     POST /_control {name, answer}          sets the records of a name: see `NameAnswer`.
 *     GET  /_control?name=a.dev              counts the questions for a name: `{"questions": 2}`.
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { keepingServer } from "../server/keeping.ts";

const BOMB_RECORD = { name: "bomb.dev", type: 1, TTL: 0, data: "8.8.8.8" };

/** Ways in which a resolver fails. */
const FAILURES: Record<string, (response: ServerResponse) => void> = {
  /** The server of the name failed, or its signatures do not hold (RFC 1035 §4.1.1). */
  servfail: (response) => json(response, 200, { Status: 2 }),
  unavailable: (response) => response.writeHead(503).end(),
  nonsense: (response) => response.end("<html></html>"),
  reset: (response) => response.destroy(),
  /** More records than a message of DNS can have, compressed. */
  bomb: (response) =>
    response
      .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
      .end(gzipSync(JSON.stringify({ Status: 0, Answer: Array(50_000).fill(BOMB_RECORD) }))),
  hang: () => {},
};

/**
 * IPv4 and IPv6 addresses, and aliases, which end in a dot. A text is the name of a failure. Null
 * is a name that does not exist.
 */
type NameAnswer = readonly string[] | string | null;

export interface NameResolver {
  /** Origin without a trailing slash. */
  url: string;
  close(): Promise<void>;
}

/** Starts a resolver on a free port of 127.0.0.1. */
export async function startNameResolver(): Promise<NameResolver> {
  const answers = new Map<string, NameAnswer>();
  const questions = new Map<string, number>();

  async function control(request: IncomingMessage, response: ServerResponse, name: string) {
    if (request.method !== "POST") {
      json(response, 200, { questions: questions.get(name) ?? 0 });
      return;
    }
    const control = JSON.parse(await textOf(request)) as { name: string; answer: NameAnswer };
    if (typeof control.answer === "string" && !FAILURES[control.answer])
      throw new RangeError(`no failure ${control.answer}`);
    answers.set(control.name, control.answer);
    json(response, 200, {});
  }

  function resolve(response: ServerResponse, name: string, type: string): void {
    questions.set(name, (questions.get(name) ?? 0) + 1);
    const answer = answers.get(name) ?? null;
    if (answer === null) json(response, 200, { Status: 3 });
    else if (typeof answer === "string") FAILURES[answer]?.(response);
    else json(response, 200, { Status: 0, Answer: recordsOf(name, answer, type) });
  }

  const server = keepingServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://resolver");
    const name = searchParams.get("name") ?? "";
    if (pathname === "/dns-query") resolve(response, name, searchParams.get("type") ?? "A");
    else
      control(request, response, name).catch((error: unknown) =>
        json(response, 400, { error: String(error) }),
      );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Record types (RFC 1035, RFC 3596). */
const TYPES: Record<string, number> = { A: 1, CNAME: 5, AAAA: 28 };

/** What stands in an answer to a question for one type; undefined when that is nothing. */
function recordsOf(name: string, records: readonly string[], asked: string) {
  const found = records.flatMap((data) => {
    const type = data.endsWith(".") ? "CNAME" : data.includes(":") ? "AAAA" : "A";
    return type === asked || type === "CNAME" ? [{ name, type: TYPES[type], TTL: 0, data }] : [];
  });
  return found.length === 0 ? undefined : found;
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
