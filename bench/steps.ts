/** Results of one seller's wallet, from POST /payment/submit-result to the chain: in how many blocks, at what cost. */
import type { DevnetNode } from "../devnet/server/node.ts";
import type { PaymentSourceType } from "../src/chain/network.ts";
import { countedBundle, takeRows } from "./support/counted.ts";
import { mineUntil, quoteJobs, withAgent } from "./support/escrows.ts";
import { type BenchContext, type BenchService, call } from "./support/service.ts";
import type { Row } from "./support/table.ts";

/** For a hundred results of one wallet whose transactions hold the script. */
const GOAL_BLOCKS = { Web3ChainV1: 15, Web3ChainV2: 6 } as const;
const GOAL_CALLS = { alone: 4, together: 1.5 } as const;

interface Round {
  type: PaymentSourceType;
  count: number;
}

interface StepCosts {
  rows: Row[];
  /** The provider calls of each round, by path. */
  calls: Row[];
}

/**
 * Has a hundred escrows locked, then the result of one of them asked for, and then those of all others at
 * once, with a block whenever the wallet has handed over what it can. All is done a second time by a service
 * that counts D1 rows.
 */
export async function benchSteps(context: BenchContext): Promise<StepCosts> {
  const counted = { ...context, bundle: countedBundle(context.bundle, context.folder) };
  const rows: Row[] = [];
  const calls: Row[] = [];
  for (const type of ["Web3ChainV1", "Web3ChainV2"] as const) {
    const rounds: Round[] = [1, context.quick ? 20 : 100].map((count) => ({ type, count }));
    const timed = await withAgent(context, type, async (service, node) => {
      const measured: Row[] = [];
      for (const round of rounds) {
        measured.push(await measure(service, node, round, measured));
        calls.push(...callsOf(node, round));
      }
      return measured;
    });
    const costs = await withAgent(counted, type, async (service, node) => {
      const read: Row[] = [];
      for (const { count } of rounds) {
        const escrows = await lock(service, node, type, count);
        await takeRows(service);
        await submitAll(service, node, escrows, read.length);
        const rowsOf = await takeRows(service);
        read.push({ "rows read": rowsOf.read / count, "rows written": rowsOf.written / count });
      }
      return read;
    });
    rows.push(...timed.map((row, i) => ({ ...row, ...costs[i] })));
  }
  return { rows, calls };
}

function callsOf({ calls }: DevnetNode, { type, count }: Round): Row[] {
  return [...calls]
    .toSorted(([, a], [, b]) => b - a)
    .map(([path, made]) => ({
      contract: type,
      results: count,
      path,
      "calls/result": made / count,
    }));
}

async function measure(
  service: BenchService,
  node: DevnetNode,
  { type, count }: Round,
  before: readonly Row[],
): Promise<Row> {
  const escrows = await lock(service, node, type, count);
  node.calls.clear();
  const [begun, cpu] = [performance.now(), service.cpuMs()];
  const blocks = await submitAll(service, node, escrows, before.length);
  const calls = [...node.calls.values()].reduce((sum, one) => sum + one, 0);
  const isAlone = count === 1;
  return {
    contract: type,
    results: count,
    blocks,
    "goal blocks": isAlone ? 1 : GOAL_BLOCKS[type],
    seconds: (performance.now() - begun) / 1000,
    "calls/result": calls / count,
    "goal calls": isAlone ? GOAL_CALLS.alone : GOAL_CALLS.together,
    "CPU ms/result": (service.cpuMs() - cpu) / count,
  };
}

/** Buys as many jobs, and waits until they are locked. @returns their identifiers */
async function lock(
  service: BenchService,
  node: DevnetNode,
  type: PaymentSourceType,
  count: number,
): Promise<string[]> {
  const jobs = await quoteJobs(service, type, count);
  for (const body of jobs) await call(service, "/api/v1/purchase", { method: "POST", body });
  await mineUntil(service, node, { side: "payment", state: "FundsLocked" }, count);
  return jobs.map(({ blockchainIdentifier }) => blockchainIdentifier);
}

/** Asks for all results, and makes blocks until they are on the chain. @returns how many */
async function submitAll(
  service: BenchService,
  node: DevnetNode,
  escrows: readonly string[],
  submitted: number,
): Promise<number> {
  for (const blockchainIdentifier of escrows)
    await call(service, "/api/v1/payment/submit-result", {
      method: "POST",
      body: { network: "Preprod", blockchainIdentifier, submitResultHash: "ab".repeat(32) },
    });
  const reached = { side: "payment", state: "ResultSubmitted" } as const;
  return mineUntil(service, node, reached, submitted + escrows.length);
}
