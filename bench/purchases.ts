/** From POST /purchase to the locked escrow: how soon, how many, in how many blocks, at what cost. */
import { until } from "../devnet/client/wait.ts";
import type { DevnetNode } from "../devnet/server/node.ts";
import type { PaymentSourceType } from "../src/chain/network.ts";
import { meteredBundle, onPlatform, takeRows } from "./platform/metered-bundle.ts";
import { countIn, mineUntil, quoteJobs, withAgent } from "./support/escrows.ts";
import { type BenchContext, type BenchService, call } from "./support/service.ts";
import { percentile } from "./support/statistics.ts";
import type { Row } from "./support/table.ts";

/** Requests under way at once, when all are asked for together. */
const CONNECTIONS = 16;
/** How often the bench reads the node's mempool: the error of a latency. */
const WATCH_MS = 5;
const STOPPED_AFTER_MS = 60_000;
const LOCKED = { side: "purchase", state: "FundsLocked" } as const;

const GOAL_P95_MS = 2_500;
/** For a hundred purchases of one wallet. */
const GOAL_BLOCKS = 2;

/** A contract, and how its purchases are asked for. */
interface Round {
  type: PaymentSourceType;
  count: number;
  isTogether: boolean;
}

/** When each transaction was first seen in the node's mempool, by hash. */
type SeenTimes = Map<string, number>;

interface Asked {
  /** Of the purchase. */
  id: string;
  at: number;
}

/**
 * Buys jobs of one agent with one wallet. First it buys one at a time, each when the lock before it was
 * sent to the node. Then it buys a hundred at once, with a block whenever the wallet has sent all it
 * can. A service that counts D1 rows repeats everything.
 */
export async function benchPurchases(context: BenchContext): Promise<Row[]> {
  const { quick } = context;
  const counted = { ...context, bundle: meteredBundle(context, context.platform) };
  const rows: Row[] = [];
  for (const type of ["Web3ChainV1", "Web3ChainV2"] as const) {
    const rounds: Round[] = [
      { type, count: quick ? 3 : 30, isTogether: false },
      { type, count: quick ? 20 : 100, isTogether: true },
    ];
    const timed = await withAgent(onPlatform(context), type, (service, node) =>
      inTurn(rounds, (round) => measure(service, node, round)),
    );
    const costs = await withAgent(counted, type, (service, node) =>
      inTurn(rounds, async (round) => {
        const quotes = await quoteJobs(service, type, round.count);
        await takeRows(service);
        await purchase(service, node, quotes, round);
        const { read, written } = await takeRows(service);
        return { "rows read": read / round.count, "rows written": written / round.count };
      }),
    );
    rows.push(...timed.map((row, i) => ({ ...row, ...costs[i] })));
  }
  return rows;
}

async function inTurn<Result>(
  rounds: readonly Round[],
  run: (round: Round) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const round of rounds) results.push(await run(round));
  return results;
}

async function measure(service: BenchService, node: DevnetNode, round: Round): Promise<Row> {
  const { type, count, isTogether } = round;
  const quotes = await quoteJobs(service, type, round.count);
  const before = service.cpuMs();
  const { asked, acceptMs, seenAt, blocks } = await purchase(service, node, quotes, round);
  const cpuMs = service.cpuMs() - before;
  const latencies = await latenciesOf(service, asked, seenAt);
  return {
    contract: type,
    purchases: count,
    asked: isTogether ? "together" : "one at a time",
    "accepted/s": (1000 * count) / acceptMs,
    "handed p50 ms": percentile(latencies, 0.5),
    "p95 ms": percentile(latencies, 0.95),
    "goal p95": GOAL_P95_MS,
    blocks,
    "goal blocks": isTogether ? String(GOAL_BLOCKS) : "",
    "CPU ms": cpuMs / count,
  };
}

/** Buys the quoted jobs, and waits until all of them are locked. */
async function purchase(
  service: BenchService,
  node: DevnetNode,
  quotes: readonly object[],
  { isTogether }: Round,
) {
  const { chain } = node;
  const seenAt: SeenTimes = new Map();
  const watch = () => {
    for (const hash of chain.mempool()) if (!seenAt.has(hash)) seenAt.set(hash, performance.now());
  };
  const watching = setInterval(watch, WATCH_MS);
  try {
    const locked = await countIn(service, LOCKED);
    const asked: Asked[] = [];
    let acceptMs = 0;
    let blocks = 0;
    const ask = async (body: object) => {
      const at = performance.now();
      const { id } = await call<{ id: string }>(service, "/api/v1/purchase", {
        method: "POST",
        body,
      });
      asked.push({ id, at });
    };
    if (isTogether) {
      const begun = performance.now();
      const waiting = quotes.values();
      const connection = async () => {
        for (const body of waiting) await ask(body);
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, connection));
      acceptMs = performance.now() - begun;
    } else {
      for (const body of quotes) {
        const begun = performance.now();
        await ask(body);
        acceptMs += performance.now() - begun;
        const isSeen = () => seenAt.size > blocks;
        await until(isSeen, { what: "a lock", everyMs: WATCH_MS, limitMs: STOPPED_AFTER_MS });
        chain.mine();
        blocks++;
      }
    }
    blocks += await mineUntil(service, node, LOCKED, locked + quotes.length);
    return { asked, acceptMs, seenAt, blocks };
  } finally {
    clearInterval(watching);
  }
}

/** Milliseconds from each request to its transaction in the node's mempool. */
async function latenciesOf({ host }: BenchService, asked: readonly Asked[], seenAt: SeenTimes) {
  const { results } = await host.d1
    .prepare("SELECT record_id AS id, tx_hash AS txHash FROM escrow_transaction")
    .all<{ id: string; txHash: string }>();
  const byId = Map.groupBy(results, ({ id }) => id);
  return asked.map(({ id, at }) => {
    const times = (byId.get(id) ?? []).flatMap(({ txHash }) => seenAt.get(txHash) ?? []);
    if (times.length === 0)
      throw new Error(`no transaction of the purchase ${id} reached the node`);
    return Math.min(...times) - at;
  });
}
