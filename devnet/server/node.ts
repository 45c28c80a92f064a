import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { isRangeRefused, type Profile, toSubmitAnswer, UNSERVED } from "../blockfrost/profiles.ts";
import { BlockfrostError, errorBody, invalidPath, notFound } from "../blockfrost/request.ts";
import { matchRoute, type RouteMatch } from "../blockfrost/router.ts";
import { assertMatchesSpecification } from "../blockfrost/schema.ts";
import type { Chain } from "../ledger/chain.ts";
import { answerOgmios } from "../ogmios/ogmios.ts";
import { createFaults, type Fault, type Faults } from "./faults.ts";

/** One chain and its provider under a base path. */
export interface DevnetNode {
  name: string;
  /** Base URL of the provider's API, without a trailing slash. */
  url: string;
  chain: Chain;
  faults: Faults;
  /** Calls that arrived, counted per method and path template (`GET /txs/{hash}`). */
  calls: Map<string, number>;
  /**
   * Makes a block every so many milliseconds from now on, in place of one for each transaction; null
   * stops that.
   */
  mineEvery(milliseconds: number | null): void;
  /**
   * Answers one call; `target` is what follows the base URL, with its query. Rules of faults and counts name
   * calls at another profile than `api` with the profile before them, as `dolos:/blocks/latest`.
   */
  handle(
    target: string,
    request: IncomingMessage,
    response: ServerResponse,
    profile?: Profile,
  ): Promise<void>;
}

interface Answer {
  status: number;
  body: string;
  retryAfter?: string;
}

/** The project id that is refused; any other one is as good as the next. */
const BAD_PROJECT_ID = "bad";

export function createNode(name: string, url: string, chain: Chain): DevnetNode {
  const faults = createFaults();
  const calls = new Map<string, number>();

  async function answer(
    call: Call,
    request: IncomingMessage,
    fault: Fault,
    profile: Profile,
  ): Promise<Answer> {
    const body = await readBody(request);
    if (fault.status !== undefined) return refusal(fault.status, fault);
    const { node: owner = 0 } = fault;
    if (profile === "ogmios")
      return answerOgmios(
        { chain, view: chain.view(fault), node: owner, dropRows: fault.dropRows },
        body,
      );
    checkProjectId(request.headers.project_id);
    if (!call.route) throw invalidPath();
    const { key } = call.route;
    if (UNSERVED[profile].some((pattern) => pattern.test(key)))
      throw profile === "ryo" ? invalidPath() : notFound();
    if (isRangeRefused(profile, new URLSearchParams(call.query), chain.view(fault).tip.height))
      return { status: 400, body: "" };

    const { template, params, handler } = call.route;
    const query = new URLSearchParams(call.query);
    for (const name of fault.ignore ?? []) query.delete(name);
    const contentType = request.headers["content-type"] ?? "";
    const view = chain.view(fault);
    const result = handler({ params, query, body, contentType, chain, node: owner, view });
    assertMatchesSpecification(template, 200, result);
    const kept = Array.isArray(result) ? keptRows(result, fault) : result;
    return { status: 200, body: JSON.stringify(kept) };
  }

  async function handle(
    target: string,
    request: IncomingMessage,
    response: ServerResponse,
    profile: Profile = "api",
  ) {
    const call = readCall(target, request);
    const prefix = profile === "api" ? "" : `${profile}:`;
    const key = call.route && `${prefix}${call.route.key}`;
    if (key) calls.set(key, (calls.get(key) ?? 0) + 1);
    const fault = faults.apply(`${prefix}${target}`);
    if (fault.delay) await wait(fault.delay, undefined, { ref: false });
    if (fault.hang) return;
    if (fault.reset) {
      request.socket.resetAndDestroy();
      return;
    }
    const answered = await answer(call, request, fault, profile).catch(refusalOf);
    const isSubmission = call.route?.key === "POST /tx/submit";
    const { retryAfter } = answered;
    const { status, body } = isSubmission ? toSubmitAnswer(profile, answered) : answered;
    response.statusCode = status;
    response.setHeader("content-type", "application/json");
    if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
    response.end(fault.truncate ? body.slice(0, body.length / 2) : body);
  }

  let producer: NodeJS.Timeout | undefined;

  function mineEvery(milliseconds: number | null): void {
    clearInterval(producer);
    if (milliseconds === null) return;
    chain.autoMine = false;
    producer = setInterval(() => chain.mine(), milliseconds);
    producer.unref();
  }

  return { name, url, chain, faults, calls, mineEvery, handle };
}

function keptRows(rows: { tx_hash?: string }[], { dropRows, hideTransaction }: Fault) {
  const kept = dropRows ? rows.slice(0, -dropRows) : rows;
  return hideTransaction ? kept.filter((row) => row.tx_hash !== hideTransaction) : kept;
}

interface Call {
  /** `null` when nothing is served there. */
  route: RouteMatch | null;
  query: string;
}

function readCall(target: string, { method = "GET" }: IncomingMessage): Call {
  const [path = "", query = ""] = target.split("?");
  return { route: matchRoute(method, path), query };
}

function refusal(status: number, { body, retryAfter }: Fault): Answer {
  return {
    status,
    body: body ?? JSON.stringify(errorBody(status)),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
}

/** Anything but a `BlockfrostError` is a bug here, and says so to whoever is developing. */
function refusalOf(error: unknown): Answer {
  const message = error instanceof Error ? error.message : String(error);
  const status = error instanceof BlockfrostError ? error.status : 500;
  return { status, body: JSON.stringify(errorBody(status, message)) };
}

function checkProjectId(id: string | string[] | undefined): void {
  if (id === undefined) {
    throw new BlockfrostError(
      403,
      "Missing project token. Please include project_id in your request.",
    );
  }
  if (id === BAD_PROJECT_ID) throw new BlockfrostError(403, "Invalid project token.");
}

export async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return new Uint8Array(Buffer.concat(chunks));
}
