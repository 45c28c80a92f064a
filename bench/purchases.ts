/** From POST /purchase to the locked escrow: how soon, how many, in how many blocks, at what cost. */
import { randomBytes } from "node:crypto";
import { until } from "../devnet/client/wait.ts";
import { publishScripts } from "../devnet/demo/actors/publish.ts";
import { ACTOR_FUNDS } from "../devnet/demo/actors/wallets.ts";
import type { DevnetNode } from "../devnet/server/node.ts";
import { startDevnet } from "../devnet/server/server.ts";
import type { PaymentSourceType } from "../src/chain/network.ts";
import { countedBundle, takeRows } from "./support/counted.ts";
import { createSource, register } from "./support/selling.ts";
import {
  type BenchContext,
  type BenchService,
  call,
  startBenchService,
} from "./support/service.ts";
import { percentile } from "./support/statistics.ts";
import type { Row } from "./support/table.ts";

const NETWORK = "Preprod";
const PRICE = "5000000";
const HOUR_MS = 3_600_000;
/** Requests under way at once, when all are asked for together. */
const CONNECTIONS = 16;
/** How often it is looked what the node has: the error of a latency. */
const WATCH_MS = 5;
const POLL_MS = 100;
const ASK_MS = 1_000;
/** A mempool that did not grow for so long has all that the wallet hands over before a block. */
const QUIET_MS = 1_500;
const STOPPED_AFTER_MS = 60_000;

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
type Handed = Map<string, number>;

interface Asked {
  /** Of the purchase. */
  id: string;
  at: number;
}

/**
 * Buys jobs of one agent with one wallet: one at a time, each when the one before it was handed to the node,
 * then a hundred at once, with a block whenever the wallet has handed over what it can. All is done a second
 * time by a service that counts D1 rows.
 */
export async function benchPurchases(context: BenchContext): Promise<Row[]> {
  const { quick } = context;
  const counted = {
    ...context,
    bundle: countedBundle(context.bundle, context.folder),
  };
  const rows: Row[] = [];
  for (const type of ["Web3ChainV1", "Web3ChainV2"] as const) {
    const rounds: Round[] = [
      { type, count: quick ? 3 : 30, isTogether: false },
      { type, count: quick ? 20 : 100, isTogether: true },
    ];
    const timed = await withService(context, type, (service, node) =>
      inTurn(rounds, (round) => measure(service, node, round)),
    );
    const costs = await withService(counted, type, (service, node) =>
      inTurn(rounds, async (round) => {
        const quotes = await quote(service, round);
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

/** A service with a source, a wallet that buys, and an agent on a chain of their own. */
async function withService<Result>(
  context: BenchContext,
  type: PaymentSourceType,
  run: (service: BenchService, node: DevnetNode) => Promise<Result>,
): Promise<Result> {
  const devnet = await startDevnet();
  try {
    const node = devnet.createChain("bench", { funds: ACTOR_FUNDS });
    publishScripts(node.chain);
    node.chain.mine();
    const service = await startBenchService(context, {
      BLOCKFROST_URL_PREPROD: node.url,
      LOOPBACK_ORIGINS: devnet.url,
      PROVIDER_CALLS_PER_SECOND: "1000000",
    });
    try {
      await createSource(service, type);
      await openAgent(service, node);
      return await run(service, node);
    } finally {
      await service.host.close();
    }
  } finally {
    await devnet.close();
  }
}

async function openAgent(service: BenchService, { chain }: DevnetNode): Promise<void> {
  const Pricing = [{ unit: "", amount: PRICE }];
  await register(service, "Measured agent", { pricingType: "Fixed", Pricing });
  const look = async () => {
    if (chain.mempool().length > 0) chain.mine();
    await service.host.scheduled();
    return (await agentOf(service)) !== null;
  };
  await until(look, { what: "an agent", everyMs: POLL_MS, limitMs: STOPPED_AFTER_MS });
}

async function agentOf(service: BenchService): Promise<string | null> {
  type Assets = { Assets: { state: string; agentIdentifier: string }[] };
  const { Assets } = await call<Assets>(service, `/api/v1/registry?network=${NETWORK}`);
  const [agent] = Assets;
  return agent?.state === "RegistrationConfirmed" ? agent.agentIdentifier : null;
}

/** Has as many jobs quoted as are bought. @returns bodies of POST /purchase */
async function quote(service: BenchService, { type, count }: Round): Promise<object[]> {
  const agentIdentifier = await agentOf(service);
  const index = type === "Web3ChainV2" && { supportedPaymentSourceIndex: 0 };
  const bodies: object[] = [];
  for (let i = 0; i < count; i++) {
    const job = {
      network: NETWORK,
      agentIdentifier,
      inputHash: randomBytes(32).toString("hex"),
      identifierFromPurchaser: randomBytes(10).toString("hex"),
      ...index,
    };
    const quoted = await call<Record<string, string>>(service, "/api/v1/payment", {
      method: "POST",
      body: { ...job, payByTime: inHours(2), submitResultTime: inHours(4) },
    });
    bodies.push({
      ...job,
      blockchainIdentifier: quoted.blockchainIdentifier,
      sellerVkey: quoted.sellerVKey,
      payByTime: quoted.payByTime,
      submitResultTime: quoted.submitResultTime,
      unlockTime: quoted.unlockTime,
      externalDisputeUnlockTime: quoted.externalDisputeUnlockTime,
      ...(index && { sellerReturnAddress: quoted.sellerReturnAddress }),
    });
  }
  return bodies;
}

const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();

async function measure(service: BenchService, node: DevnetNode, round: Round): Promise<Row> {
  const { type, count, isTogether } = round;
  const quotes = await quote(service, round);
  const before = service.cpuMs();
  const { asked, acceptMs, handed, blocks } = await purchase(service, node, quotes, round);
  const cpuMs = service.cpuMs() - before;
  const latencies = await latenciesOf(service, asked, handed);
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

/** Buys what was quoted, and waits until all of it is locked. */
async function purchase(
  service: BenchService,
  node: DevnetNode,
  quotes: readonly object[],
  { isTogether }: Round,
) {
  const { chain } = node;
  const handed: Handed = new Map();
  const watch = () => {
    for (const hash of chain.mempool()) if (!handed.has(hash)) handed.set(hash, performance.now());
  };
  const watching = setInterval(watch, WATCH_MS);
  try {
    const locked = await countLocked(service);
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
        const isHanded = () => handed.size > blocks;
        await until(isHanded, { what: "a lock", everyMs: WATCH_MS, limitMs: STOPPED_AFTER_MS });
        chain.mine();
        blocks++;
      }
    }
    blocks += await lockAll(service, node, locked + quotes.length);
    return { asked, acceptMs, handed, blocks };
  } finally {
    clearInterval(watching);
  }
}

/** Makes blocks until so many purchases are locked. @returns how many blocks had transactions */
async function lockAll(service: BenchService, { chain }: DevnetNode, count: number) {
  let blocks = 0;
  let [seen, since, asked] = [0, performance.now(), performance.now()];
  const look = async () => {
    const waiting = chain.mempool().length;
    if (waiting !== seen) [seen, since] = [waiting, performance.now()];
    if (waiting > 0 && performance.now() - since > QUIET_MS) {
      chain.mine();
      blocks++;
    }
    // A question costs the service CPU too.
    if (waiting > 0 || performance.now() - asked < ASK_MS) return false;
    asked = performance.now();
    // The cron's part: what was sent is looked for at once.
    await service.host.scheduled();
    return (await countLocked(service)) >= count;
  };
  await until(look, { what: "all locks", everyMs: WATCH_MS, limitMs: STOPPED_AFTER_MS });
  return blocks;
}

async function countLocked({ host }: BenchService): Promise<number> {
  const row = await host.d1
    .prepare(
      `SELECT count(*) AS locked FROM escrow
       WHERE side = 'purchase' AND on_chain_state = 'FundsLocked'`,
    )
    .first<{ locked: number }>();
  return row?.locked ?? 0;
}

/** Milliseconds from each request to its transaction in the node's mempool. */
async function latenciesOf({ host }: BenchService, asked: readonly Asked[], handed: Handed) {
  const { results } = await host.d1
    .prepare("SELECT record_id AS id, tx_hash AS txHash FROM escrow_transaction")
    .all<{ id: string; txHash: string }>();
  const byId = Map.groupBy(results, ({ id }) => id);
  return asked.map(({ id, at }) => {
    const times = (byId.get(id) ?? []).flatMap(({ txHash }) => handed.get(txHash) ?? []);
    if (times.length === 0) throw new Error(`no transaction of the purchase ${id} was handed over`);
    return Math.min(...times) - at;
  });
}
