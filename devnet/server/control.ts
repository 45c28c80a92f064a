/**
 * The chains' controls over HTTP, for tests that run in another process. Bodies and answers are
 * JSON; amounts are decimal text, transactions hex.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { z } from "zod";
import type { Block } from "../ledger/blocks.ts";
import type { Chain } from "../ledger/chain.ts";
import { MempoolFull } from "../ledger/mempool.ts";
import { LedgerRejection } from "../ledger/rejection.ts";
import type { FaultRule } from "./faults.ts";
import { type DevnetNode, readBody } from "./node.ts";

/** Answers one action on one chain; the result is sent as JSON. */
export type ControlHandler = (chain: Chain, body: unknown, node: DevnetNode) => Promise<unknown>;

export interface Control {
  on(action: string, handler: ControlHandler): void;
  handle(target: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

const hex = z.string().regex(/^([0-9a-f]{2})*$/i);
const count = z.int().min(0);
const node = count.default(0);
const clockKind = z.enum(["runs", "stands"]);
const limit = z.int().positive().exactOptional();

const createBody = z.strictObject({
  name: z.string().exactOptional(),
  funds: z
    .array(z.strictObject({ address: z.string(), lovelace: z.coerce.bigint() }))
    .exactOptional(),
  autoMine: z.boolean().exactOptional(),
  begins: z.number().exactOptional(),
  clock: clockKind.exactOptional(),
  limits: z
    .strictObject({
      transactionSize: limit,
      transactionMemory: limit,
      transactionSteps: limit,
      blockSize: limit,
      blockMemory: limit,
      blockSteps: limit,
    })
    .exactOptional(),
});

const faultRule = z
  .strictObject({
    match: z.string(),
    after: count,
    times: count,
    delay: z.number().min(0),
    hang: z.boolean(),
    reset: z.boolean(),
    status: z.int().min(200).max(599),
    retryAfter: z.string(),
    body: z.string(),
    node: count,
    behind: count,
    fork: count,
    ignore: z.array(z.string()),
    dropRows: count,
    hideTransaction: hex,
    truncate: z.boolean(),
  })
  .partial();

/** Actions of every chain. */
const ACTIONS: Record<string, ControlHandler> = {
  /** `{}` → the tip. */
  tip: async (chain) => blockJson(chain.tip()),

  /**
   * `{blocks?: 1, at?, node?: 0, failed?: []}` → the new tip. The first block takes what fits of the
   * node's mempool, the next ones what is left. `at` moves the clock first, epoch milliseconds; the
   * scripts of `failed`, hashes, fail in the first block.
   */
  mine: async (chain, body) => {
    const options = z.strictObject({
      blocks: count.default(1),
      at: z.number().optional(),
      node,
      failed: z.array(hex).default([]),
    });
    const { blocks, at, node: by, failed } = options.parse(body);
    if (at !== undefined) chain.moveTo(at);
    for (let i = 0; i < blocks; i++) chain.mine({ node: by, failed: i === 0 ? failed : [] });
    return blockJson(chain.tip());
  },

  /** `{everyMs}` → `{}`: a block every so often from now on; null: no automatic blocks. */
  blocks: async (_chain, body, served) => {
    const { everyMs } = z.strictObject({ everyMs: z.number().min(1).nullable() }).parse(body);
    served.mineEvery(everyMs);
    return {};
  },

  /** `{node?: 0}` → `{hashes}` of what waits in the node's mempool, in its order. */
  mempool: async (chain, body) => {
    const { node: of } = z.strictObject({ node }).parse(body);
    return { hashes: chain.mempool(of) };
  },

  /** `{hashes?, node?: 0}` → `{hashes}` that the node's mempool dropped, descendants included. */
  evict: async (chain, body) => {
    const options = z.strictObject({ hashes: z.array(hex).optional(), node });
    const { hashes, node: from } = options.parse(body);
    return { hashes: chain.evict(hashes, from) };
  },

  /** `{}` → `{}`: every node receives the others' mempools. */
  gossip: async (chain) => {
    chain.gossip();
    return {};
  },

  /** `{blocks, replay?: false}` → the transactions that are gone, and what became of them. */
  rollback: async (chain, body) => {
    const options = z.strictObject({ blocks: count, replay: z.boolean().default(false) });
    const { blocks, replay } = options.parse(body);
    const gone = chain.rollback(blocks);
    return { transactions: gone.map(bytesToHex), ...(replay ? chain.replay(gone) : {}) };
  },

  /** `{transactions: [hex]}`, of a rollback → which were accepted again. */
  replay: async (chain, body) => {
    const { transactions } = z.strictObject({ transactions: z.array(hex) }).parse(body);
    return chain.replay(transactions.map(hexToBytes));
  },

  /** `{ms}` → the ledger's time, epoch milliseconds. */
  advance: async (chain, body) => {
    const { ms } = z.strictObject({ ms: z.number().min(0) }).parse(body);
    chain.advance(ms);
    return { now: chain.now() };
  },

  /** `{at?, kind?}` → the ledger's time: moved to `at` first, then it runs on or stands. */
  clock: async (chain, body) => {
    const options = z.strictObject({ at: z.number().optional(), kind: clockKind.optional() });
    const { at, kind } = options.parse(body);
    if (at !== undefined) chain.moveTo(at);
    if (kind !== undefined) chain.setClock(kind);
    return { now: chain.now() };
  },

  /** `{cbor, node?: 0}` → `{hash}`. */
  submit: async (chain, body) => {
    const { cbor, node: to } = z.strictObject({ cbor: hex, node }).parse(body);
    return { hash: chain.submit(hexToBytes(cbor), to) };
  },

  /** `{rules: FaultRule[]}`: replaces all rules. */
  faults: async (_chain, body, { faults }) => {
    const { rules } = z.strictObject({ rules: z.array(faultRule) }).parse(body);
    faults.clear();
    // JSON has no undefined, so what zod calls `| undefined` is a member that is not there.
    for (const rule of rules) faults.add(rule as FaultRule);
    return {};
  },

  /** `{reset?: false}` → `{calls: {"GET /txs/{hash}": n}, total}` since the last reset. */
  stats: async (_chain, body, { calls }) => {
    const { reset } = z.strictObject({ reset: z.boolean().default(false) }).parse(body);
    const counted = Object.fromEntries(calls);
    if (reset) calls.clear();
    return { calls: counted, total: Object.values(counted).reduce((sum, n) => sum + n, 0) };
  },
};

/**
 * `POST /_control/create` makes a chain (`{name?, funds?, autoMine?, begins?, clock?, limits?}` →
 * `{name, url}`). `POST /_control/{chain}/{action}` acts on a chain. A malformed request gets a
 * 400, an unknown chain or action a 404, and a transaction that the ledger refuses a 422. Each
 * answer has `{error}`.
 */
export function createControl(
  chains: ReadonlyMap<string, DevnetNode>,
  create: (request: z.infer<typeof createBody>) => DevnetNode,
): Control {
  const actions = new Map(Object.entries(ACTIONS));

  async function run(target: string, request: IncomingMessage): Promise<unknown> {
    const text = new TextDecoder().decode(await readBody(request));
    const body: unknown = text === "" ? {} : JSON.parse(text);
    if (request.method !== "POST") throw new ControlError(405, "Controls are for POST");
    const [, , first = "", action] = target.split("/");
    if (first === "create" && action === undefined) {
      const { name, url } = create(createBody.parse(body));
      return { name, url };
    }
    const node = chains.get(first);
    const handler = actions.get(action ?? "");
    if (!node || !handler) throw new ControlError(404, `There is no control ${target}`);
    return handler(node.chain, body, node);
  }

  return {
    on(action, handler) {
      actions.set(action, handler);
    },
    async handle(target, request, response) {
      const answer = await run(target, request).then(
        (body) => ({ status: 200, body }),
        (error: unknown) => ({ status: statusOf(error), body: { error: messageOf(error) } }),
      );
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(JSON.stringify(answer.body));
    },
  };
}

class ControlError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function statusOf(error: unknown): number {
  if (error instanceof ControlError) return error.status;
  if (error instanceof LedgerRejection || error instanceof MempoolFull) return 422;
  const senseless = [z.ZodError, RangeError, SyntaxError];
  return senseless.some((type) => error instanceof type) ? 400 : 500;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function blockJson({ height, hash, slot, time, txs }: Block) {
  return { height, hash, slot, time, txs: txs.map((tx) => tx.hash) };
}
