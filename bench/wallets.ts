/** What many transactions of one wallet cost, done together and one at a time. */
import { until } from "../devnet/client/wait.ts";
import { publishScripts } from "../devnet/demo/actors/publish.ts";
import { ACTOR_FUNDS, BUYERS } from "../devnet/demo/actors/wallets.ts";
import type { DevnetNode } from "../devnet/server/node.ts";
import { startDevnet } from "../devnet/server/server.ts";
import { createSource, register, SELLER } from "./support/selling.ts";
import {
  type BenchContext,
  type BenchService,
  call,
  startBenchService,
} from "./support/service.ts";
import type { Row } from "./support/table.ts";

const BUYER = BUYERS[0];
const POLL_MS = 100;
const ASK_MS = 500;
/** A mempool that did not grow for so long has all that the wallet hands over before a block. */
const QUIET_MS = 1_500;
const STOPPED_AFTER_MS = 120_000;

/** Something that a wallet is asked for, many times. */
interface Work {
  name: string;
  count: number;
  ask(service: BenchService, n: number): Promise<unknown>;
  /** How many were done, as the records say. */
  done: string;
}

/**
 * Requests everything at once, and makes a block whenever the wallet has sent all it can. Then it
 * requests each task when the one before it is done, as a service does that waits for blocks. Each run
 * has a separate chain and database.
 */
export async function benchWallets(context: BenchContext): Promise<Row[]> {
  const registrations: Work = {
    name: "registrations",
    count: context.quick ? 10 : 100,
    ask: (service, n) => register(service, `Measured agent ${n + 1}`),
    done: "SELECT count(*) AS done FROM registration WHERE state = 'RegistrationConfirmed'",
  };
  const transfers: Work = {
    name: "transfers",
    count: context.quick ? 20 : 200,
    ask: transfer,
    done: "SELECT count(*) AS done FROM transfer WHERE state = 'Confirmed'",
  };
  const rows: Row[] = [];
  for (const work of [registrations, transfers])
    for (const isTogether of [true, false]) rows.push(await measure(context, work, isTogether));
  return rows;
}

async function measure(context: BenchContext, work: Work, isTogether: boolean): Promise<Row> {
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
      await createSource(service);
      node.calls.clear();
      const [begun, before] = [performance.now(), service.cpuMs()];
      let blocks = 0;
      for (let asked = 0; asked < work.count; ) {
        const until = isTogether ? work.count : asked + 1;
        for (; asked < until; asked++) await work.ask(service, asked);
        blocks += await finish(service, node, work, asked);
      }
      const cpuMs = service.cpuMs() - before;
      const { transactions, fees } = await sent(service);
      const calls = [...node.calls.values()].reduce((sum, one) => sum + one, 0);
      return {
        work: `${work.count} ${work.name}`,
        asked: isTogether ? "together" : "one at a time",
        transactions,
        blocks,
        "calls/task": calls / work.count,
        "CPU ms/task": cpuMs / work.count,
        "fee/task": fees / work.count,
        seconds: (performance.now() - begun) / 1000,
      };
    } finally {
      await service.host.close();
    }
  } finally {
    await devnet.close();
  }
}

/** Makes blocks until so many tasks are done. @returns how many blocks had transactions */
async function finish(
  { host }: BenchService,
  { chain }: DevnetNode,
  { done }: Work,
  count: number,
): Promise<number> {
  let blocks = 0;
  let seen = 0;
  let since = performance.now();
  let asked = 0;
  const isDone = async () => {
    // A question costs the service CPU too.
    if (performance.now() - asked < ASK_MS) return false;
    asked = performance.now();
    return ((await host.d1.prepare(done).first<{ done: number }>())?.done ?? 0) >= count;
  };
  const look = async () => {
    const waiting = chain.mempool().length;
    if (waiting === 0 && blocks > 0 && (await isDone())) return true;
    if (waiting !== seen) [seen, since] = [waiting, performance.now()];
    const isQuiet = waiting > 0 && (waiting === count || performance.now() - since > QUIET_MS);
    if (!isQuiet) return false;
    chain.mine();
    blocks++;
    // The cron's part: what was sent is looked for at once.
    await host.scheduled();
    return false;
  };
  await until(look, { what: "all tasks", everyMs: POLL_MS, limitMs: STOPPED_AFTER_MS });
  return blocks;
}

async function sent({ host }: BenchService): Promise<{ transactions: number; fees: number }> {
  const row = await host.d1
    .prepare("SELECT count(*) AS transactions, sum(fee) AS fees FROM wallet_transaction")
    .first<{ transactions: number; fees: number }>();
  if (row === null) throw new Error("the wallet has sent nothing");
  return row;
}

function transfer(service: BenchService): Promise<unknown> {
  return call(service, "/api/v1/wallet/transfer-funds", {
    method: "POST",
    body: {
      fromWalletAddress: SELLER.address,
      toAddress: BUYER.address,
      minorUnitAmount: "2000000",
    },
  });
}
