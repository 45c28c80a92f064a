/**
 * The HTTP servers of a few agents in one, for the demo and the tests. `GET /{agent}/availability`
 * answers like an agent, until a test sets another behavior.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { keepingServer, listenLocally } from "../server/keeping.ts";

const AVAILABLE = { status: "available", type: "masumi-agent", message: "" };
const RESTLESS_MS = 20_000;
const SLOW_CHUNK_MS = 200;
const BOMB_BYTES = 8 * 1024 * 1024;
const HUGE_CHUNK = "x".repeat(64 * 1024);

/** How an agent answers. */
const BEHAVIOURS: Record<string, (response: ServerResponse, argument: string) => void> = {
  available: (response) => json(response, 200, AVAILABLE),
  /** Names an agent: the one whose identifier is the argument. */
  named: (response, agentIdentifier) => json(response, 200, { agentIdentifier }),
  unavailable: (response) => json(response, 200, { ...AVAILABLE, status: "unavailable" }),
  /** Something answers there, but no agent. */
  other: (response) => json(response, 200, { hello: "world" }),
  down: (response) => json(response, 503, { error: "down for maintenance" }),
  /** Down for a while, and up again for as long. */
  restless: (response) =>
    BEHAVIOURS[Math.floor(Date.now() / RESTLESS_MS) % 2 ? "down" : "available"]?.(response, ""),
  html: (response) => response.end("<html></html>"),
  redirect: (response, location) => response.writeHead(302, { location }).end(),
  /** Never answers. */
  silent: () => {},
  /** A body without an end, as fast as it is read. */
  huge(response) {
    const write = () => {
      while (!response.destroyed && response.write(HUGE_CHUNK));
    };
    response.on("drain", write);
    write();
  },
  /** A body of some kilobytes that expands to 8 MiB. */
  bomb: (response) =>
    response
      .writeHead(200, { "content-encoding": "gzip" })
      .end(gzipSync(Buffer.alloc(BOMB_BYTES, " "))),
  /** A body without an end, a few bytes at a time. */
  slow(response) {
    const timer = setInterval(() => response.write(" "), SLOW_CHUNK_MS);
    response.on("close", () => clearInterval(timer));
  },
};

/** A request at another path of an agent than `/availability`. */
export interface AgentRequest {
  agent: string;
  path: string;
  method: string;
  query: URLSearchParams;
  /** JSON; undefined where there is none. */
  body: unknown;
}

/** What an agent answers. */
export interface AgentAnswer {
  status: number;
  json: object;
}

type AnswerRequest = (request: AgentRequest) => Promise<AgentAnswer | null>;

export interface Agents {
  /** Origin without a trailing slash; an agent's `apiBaseUrl` is this, a slash and its name. */
  url: string;
  /** @throws RangeError when there is no such behaviour. */
  behave(agent: string, behaviour: string, argument?: string): void;
  /** Answers what no control request has given an answer for; null: 404. */
  answerWith(answerRequest: AnswerRequest): void;
  /** The longest time between two questions to one agent since the last call, milliseconds. */
  longestGapMs(): number;
  close(): Promise<void>;
}

/**
 * Starts the agents on a free port of 127.0.0.1. Tests in other processes set a behavior with `POST
 * /_control` and `{agent, behaviour, argument?}`. `{agent, path, answer}` sets an answer at another
 * path. `GET /_control` counts the requests to each agent. `GET /_control/{agent}` waits until the
 * last answer of an agent ends. It returns `{"finished": false}` if the caller closed the
 * connection before.
 *
 * @param portFile - keeps their port for the next start, since the registry has their URLs
 */
export async function startAgents(portFile?: string): Promise<Agents> {
  const behaviours = new Map<string, { behaviour: string; argument: string }>();
  const asked = new Map<string, number>();
  const lastAsked = new Map<string, number>();
  /** Answers at other paths, by `{agent}/{path}`. */
  const answers = new Map<string, unknown>();
  const lastAnswers = new Map<string, Promise<{ finished: boolean }>>();
  let longestGap = 0;
  let answerRequest: AnswerRequest = async () => null;

  function behave(agent: string, behaviour: string, argument = ""): void {
    if (!BEHAVIOURS[behaviour]) throw new RangeError(`no behaviour ${behaviour}`);
    behaviours.set(agent, { behaviour, argument });
  }

  async function control(
    request: IncomingMessage,
    response: ServerResponse,
    answeredBy = "",
  ): Promise<void> {
    const answer = lastAnswers.get(answeredBy);
    if (answer) {
      json(response, 200, await answer);
      return;
    }
    if (request.method === "POST") {
      const { agent, behaviour, argument, path, answer } = JSON.parse(await textOf(request));
      if (path === undefined) behave(agent, behaviour, argument);
      else answers.set(`${agent}/${path}`, answer);
    }
    json(response, 200, Object.fromEntries(asked));
  }

  async function answerOther(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url ?? "/", "http://agents");
    const [, agent = "", path = ""] = pathname.split("/");
    const text = await textOf(request);
    if (answers.has(`${agent}/${path}`)) {
      json(response, 200, answers.get(`${agent}/${path}`));
      return;
    }
    const method = request.method ?? "GET";
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const answer = await answerRequest({ agent, path, method, query, body });
    json(response, answer?.status ?? 404, answer?.json ?? {});
  }

  const server = keepingServer((request, response) => {
    const [, agent = "", path] = (request.url ?? "").split("/");
    if (agent === "_control") {
      control(request, response, path).catch((error: unknown) =>
        json(response, 400, { error: String(error) }),
      );
      return;
    }
    if (path !== "availability") {
      answerOther(request, response).catch((error: unknown) =>
        json(response, 502, { status: "error", message: String(error) }),
      );
      return;
    }
    asked.set(agent, (asked.get(agent) ?? 0) + 1);
    const now = Date.now();
    longestGap = Math.max(longestGap, now - (lastAsked.get(agent) ?? now));
    lastAsked.set(agent, now);
    const over = new Promise<{ finished: boolean }>((resolve) =>
      response.on("close", () => resolve({ finished: response.writableFinished })),
    );
    lastAnswers.set(agent, over);
    const { behaviour, argument } = behaviours.get(agent) ?? {
      behaviour: "available",
      argument: "",
    };
    BEHAVIOURS[behaviour]?.(response, argument);
  });
  const port = await listenLocally(server, portFile);
  return {
    url: `http://127.0.0.1:${port}`,
    behave,
    answerWith(other) {
      answerRequest = other;
    },
    longestGapMs() {
      const gap = longestGap;
      longestGap = 0;
      return gap;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
