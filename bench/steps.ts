/** Results of one seller's wallet, from POST /payment/submit-result to the record: in how many blocks, at what cost. */
import { until } from "../devnet/client/wait.ts";
import type { DevnetNode } from "../devnet/server/node.ts";
import type { PaymentSourceType } from "../src/chain/network.ts";
import { meteredBundle, takeRows } from "./platform/metered-bundle.ts";
import {
  countIn,
  mineUntil,
  publishReferenceScript,
  quoteJobs,
  withAgent,
} from "./support/escrows.ts";
import { type BenchContext, type BenchService, call } from "./support/service.ts";
import { percentile } from "./support/statistics.ts";
import type { Row } from "./support/table.ts";

/** What a hundred results of one wallet are to take, by where the contract's script is. */
const GOAL_BLOCKS = {
  Web3ChainV1: { attached: 15, "by reference": 3 },
  Web3ChainV2: { attached: 6, "by reference": 3 },
} as const;
const GOAL_CALLS = { alone: 4, together: 1.5 } as const;
const GOAL_CPU_MS = { alone: 60, together: 20 } as const;
/** CPU ms of workerd per result, beyond which the bench fails: half more than was measured. */
const LIMIT_CPU_MS = { alone: 290, together: 105 } as const;
/** From a block to the record, while a wallet has a pending transaction. */
const GOAL_MOVED_S = 5;

const REACHED = { side: "payment", state: "ResultSubmitted" } as const;
const WATCH_MS = 20;
/** Looking at the records costs the service CPU: the error of what a block's way to them takes. */
const LOOK_MS = 500;
const STOPPED_AFTER_MS = 60_000;

interface Round {
  type: PaymentSourceType;
  script: "attached" | "by reference";
  count: number;
  /** Each is asked for when the one before it is on its record, and no cron runs meanwhile. */
  isAlone: boolean;
}

interface StepCosts {
  rows: Row[];
  /** The provider calls of each round, by path. */
  calls: Row[];
}

/**
 * Locks a hundred escrows, then requests some results one at a time, then the results of all others at
 * once. A block follows whenever the wallet has sent all it can. The same follows with a script that an
 * output carries. A service that counts D1 rows repeats everything.
 */
export async function benchSteps(context: BenchContext): Promise<StepCosts> {
  const counted = { ...context, bundle: meteredBundle(context) };
  const rows: Row[] = [];
  const calls: Row[] = [];
  for (const type of ["Web3ChainV1", "Web3ChainV2"] as const) {
    const rounds = roundsOf(type, context.quick);
    const timed = await eachRound(context, rounds, async (service, node, round, submit) => {
      const measured = await measure(service, node, round, submit);
      compare(context, round, measured);
      calls.push(...callsOf(node, round));
      return measured;
    });
    const costs = await eachRound(counted, rounds, async (service, _node, { count }, submit) => {
      await takeRows(service);
      await submit();
      const { read, written } = await takeRows(service);
      return { "rows read": read / count, "rows written": written / count };
    });
    rows.push(...timed.map((row, i) => ({ ...row, ...costs[i] })));
  }
  return { rows, calls };
}

function roundsOf(type: PaymentSourceType, quick: boolean): Round[] {
  return (["attached", "by reference"] as const).flatMap((script) => [
    { type, script, count: quick ? 1 : 5, isAlone: true },
    { type, script, count: quick ? 20 : 100, isAlone: false },
  ]);
}

/** The outcome of a round's requests. */
interface Submitted {
  /** With transactions. */
  blocks: number;
  /** Seconds from each block to its record. */
  recordSeconds: readonly number[];
}

/** Plays the rounds of a contract on a chain of their own, the escrows of each locked before it begins. */
function eachRound(
  context: BenchContext,
  rounds: readonly Round[],
  play: (
    service: BenchService,
    node: DevnetNode,
    round: Round,
    submit: () => Promise<Submitted>,
  ) => Promise<Row>,
): Promise<Row[]> {
  const [{ type }] = rounds as [Round];
  return withAgent(context, type, async (service, node) => {
    const rows: Row[] = [];
    for (const [i, round] of rounds.entries()) {
      if (round.script === "by reference" && rounds[i - 1]?.script === "attached")
        await publishReferenceScript(service, node);
      const escrows = await lock(service, node, round);
      const submit = () => (round.isAlone ? submitEach : submitAll)(service, node, escrows);
      rows.push(await play(service, node, round, submit));
    }
    return rows;
  });
}

function callsOf({ calls }: DevnetNode, { type, script, count }: Round): Row[] {
  return [...calls]
    .toSorted(([, a], [, b]) => b - a)
    .map(([path, made]) => ({
      contract: type,
      script,
      results: count,
      path,
      "calls/result": made / count,
    }));
}

async function measure(
  service: BenchService,
  node: DevnetNode,
  { type, script, count, isAlone }: Round,
  submit: () => Promise<Submitted>,
): Promise<Row> {
  const fees = await feesOf(service);
  node.calls.clear();
  const [begun, cpu] = [performance.now(), service.cpuMs()];
  const { blocks, recordSeconds } = await submit();
  const seconds = (performance.now() - begun) / 1000;
  const calls = [...node.calls.values()].reduce((sum, one) => sum + one, 0);
  const cpuMs = service.cpuMs() - cpu;
  const kind = isAlone ? "alone" : "together";
  return {
    contract: type,
    script,
    results: count,
    asked: isAlone ? "one at a time" : "together",
    blocks,
    "goal blocks": isAlone ? count : GOAL_BLOCKS[type][script],
    seconds,
    "block to record s": isAlone ? percentile(recordSeconds, 0.5).toFixed(1) : "",
    "goal s": isAlone ? `${GOAL_MOVED_S}` : "",
    "calls/result": calls / count,
    "goal calls": GOAL_CALLS[kind],
    "CPU ms/result": cpuMs / count,
    "goal CPU": GOAL_CPU_MS[kind],
    "fee/result": Math.round(((await feesOf(service)) - fees) / count),
  };
}

/** Fails the bench where a round takes more blocks than its goal, or more CPU than its limit. */
function compare({ limits }: BenchContext, { type, script, count, isAlone }: Round, row: Row) {
  const what = `steps: ${count} results of ${type}, script ${script}`;
  const [blocks, goal] = [Number(row.blocks), Number(row["goal blocks"])];
  limits.counted(blocks > goal ? `${what}: ${blocks} blocks, at most ${goal}` : null);
  const [cpuMs, most] = [
    Number(row["CPU ms/result"]),
    LIMIT_CPU_MS[isAlone ? "alone" : "together"],
  ];
  limits.timed(cpuMs > most ? `${what}: ${cpuMs} ms of CPU each, at most ${most}` : null);
}

/** Native minor units that all transactions of the wallets cost so far. */
async function feesOf({ host }: BenchService): Promise<number> {
  const row = await host.d1
    .prepare("SELECT total(fee) AS fees FROM wallet_transaction")
    .first<{ fees: number }>();
  return row?.fees ?? 0;
}

/** Buys as many jobs, and waits until they are locked. @returns their identifiers */
async function lock(
  service: BenchService,
  node: DevnetNode,
  { type, count }: Round,
): Promise<string[]> {
  const jobs = await quoteJobs(service, type, count);
  for (const body of jobs) await call(service, "/api/v1/purchase", { method: "POST", body });
  await mineUntil(service, node, { side: "payment", state: "FundsLocked" }, count);
  return jobs.map(({ blockchainIdentifier }) => blockchainIdentifier);
}

/** Requests one result after the other, each when the one before it is on its record. */
async function submitEach(
  service: BenchService,
  { chain }: DevnetNode,
  escrows: readonly string[],
): Promise<Submitted> {
  const before = await countIn(service, REACHED);
  const recordSeconds: number[] = [];
  for (const [i, escrow] of escrows.entries()) {
    await submit(service, escrow);
    const isHanded = () => chain.mempool().length > 0;
    await until(isHanded, { what: "a result", everyMs: WATCH_MS, limitMs: STOPPED_AFTER_MS });
    chain.mine();
    const mined = performance.now();
    const isMoved = async () => (await countIn(service, REACHED)) > before + i;
    await until(isMoved, { what: "its record", everyMs: LOOK_MS, limitMs: STOPPED_AFTER_MS });
    recordSeconds.push((performance.now() - mined) / 1000);
  }
  return { blocks: escrows.length, recordSeconds };
}

/** Requests all results, and makes blocks until they are on the chain. */
async function submitAll(
  service: BenchService,
  node: DevnetNode,
  escrows: readonly string[],
): Promise<Submitted> {
  const before = await countIn(service, REACHED);
  for (const escrow of escrows) await submit(service, escrow);
  const blocks = await mineUntil(service, node, REACHED, before + escrows.length);
  return { blocks, recordSeconds: [] };
}

const submit = (service: BenchService, blockchainIdentifier: string) =>
  call(service, "/api/v1/payment/submit-result", {
    method: "POST",
    body: { network: "Preprod", blockchainIdentifier, submitResultHash: "ab".repeat(32) },
  });
