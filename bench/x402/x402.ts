/** Settlements a second, and one alone, by one facilitator wallet: ours next to the x402 SDK's, on one node. */
import { onPlatform } from "../platform/metered-bundle.ts";
import { type BenchContext, startBenchService } from "../support/service.ts";
import { median, percentile } from "../support/statistics.ts";
import type { Row } from "../support/table.ts";
import { type PaymentChain, startPaymentChain } from "./chain.ts";
import { type Facilitator, ourFacilitators, startSdkFacilitator } from "./facilitators.ts";
import { startCountingProxy } from "./proxy.ts";
import { rowsWritten } from "./rows.ts";

const WARM_UP = 10;

export interface X402Figures {
  rows: Row[];
  writes: Row[];
}

interface Plan {
  /** Seconds from block to block; null: the node makes one as soon as there are transactions. */
  blockSeconds: number | null;
  payments: number;
  rounds: number;
}

/** Payments one by one when each waits for a block. */
const MAX_WAITING_PAYMENTS = 10;

/** A facilitator, and how the bench sends it payments. */
interface Contender {
  facilitator: Facilitator;
  order: "at once" | "one by one";
  /** Whether settlements may fail: the figures are then those of the others. */
  mayFail: boolean;
}

/**
 * Sends different payments to each facilitator and counts on the chain what arrives at a separate
 * payee. Each facilitator settles one payment after another, and then all at once, where the SDK's fails. Its client repeats this service's payments until each succeeds.
 *
 * @throws Error when an expected settlement fails, or a payee's balance is wrong
 */
export async function benchX402(context: BenchContext): Promise<X402Figures> {
  const chain = await startPaymentChain();
  try {
    const proxy = await startCountingProxy(chain.node.url);
    const service = await startBenchService(onPlatform(context), { LOOPBACK_ORIGINS: proxy.url });
    const sdk = await startSdkFacilitator(chain);
    try {
      const writes = [await rowsWritten(service, context, chain)];
      const ours = await ourFacilitators(service, proxy, chain);
      const contenders: Contender[] = [
        ...ours.map((facilitator) => ({ facilitator, order: "at once" as const, mayFail: false })),
        ...ours.map((facilitator) => ({
          facilitator,
          order: "one by one" as const,
          mayFail: false,
        })),
        { facilitator: sdk, order: "one by one", mayFail: false },
        { facilitator: sdk, order: "at once", mayFail: true },
      ];
      for (const contender of contenders) await settleAll(chain, contender, WARM_UP);

      const rows: Row[] = [];
      for (const plan of plans(context.quick))
        rows.push(...(await carryOut(plan, chain, contenders)));
      return { rows, writes };
    } finally {
      await sdk.close();
      await service.host.close();
      await proxy.close();
    }
  } finally {
    await chain.node.close();
  }
}

function plans(quick: boolean): Plan[] {
  return quick
    ? [
        { blockSeconds: null, payments: 20, rounds: 1 },
        { blockSeconds: 2, payments: 10, rounds: 1 },
      ]
    : [
        { blockSeconds: null, payments: 100, rounds: 3 },
        { blockSeconds: null, payments: 400, rounds: 1 },
        { blockSeconds: 2, payments: 400, rounds: 1 },
      ];
}

/** @returns a row for each contender: the medians of the rounds, in which everybody has a turn */
async function carryOut(
  { blockSeconds, payments, rounds }: Plan,
  chain: PaymentChain,
  contenders: Contender[],
): Promise<Row[]> {
  if (blockSeconds === null) await chain.node.rpc("evm_setAutomine", [true]);
  else await chain.node.rpc("evm_setIntervalMining", [blockSeconds]);

  const results = contenders.map((): Result[] => []);
  const countOf = ({ order }: Contender) =>
    blockSeconds !== null && order === "one by one"
      ? Math.min(payments, MAX_WAITING_PAYMENTS)
      : payments;
  for (let round = 0; round < rounds; round++)
    for (const [i, contender] of contenders.entries())
      results[i]?.push(await settleAll(chain, contender, countOf(contender)));

  return contenders.map((contender, i) => {
    const { facilitator, order } = contender;
    const medianOf = (name: keyof Result) =>
      median((results[i] ?? []).map((result) => result[name]));
    return {
      facilitator: facilitator.name,
      blocks: blockSeconds === null ? "instant" : `every ${blockSeconds} s`,
      payments: countOf(contender),
      sent: order,
      "sent again": medianOf("secondTries"),
      failed: medianOf("failed"),
      "settled/s": medianOf("perSecond"),
      "p50 ms": medianOf("p50Ms"),
      "p99 ms": medianOf("p99Ms"),
      "CPU ms": medianOf("cpuMs"),
      "RPC calls": medianOf("calls"),
      requests: medianOf("requests"),
    };
  });
}

/** The last three are for each payment that was sent, settled or not. */
interface Result {
  secondTries: number;
  failed: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  cpuMs: number;
  calls: number;
  requests: number;
}

async function settleAll(
  chain: PaymentChain,
  { facilitator, order, mayFail }: Contender,
  count: number,
): Promise<Result> {
  const { name, proxy, cpuMs } = facilitator;
  const terms = chain.newTerms();
  const settle = await facilitator.open(terms);
  const payments = await chain.sign(terms, count);
  const latencies: number[] = [];
  const failures: string[] = [];
  let secondTries = 0;
  const send = async (payment: (typeof payments)[number]) => {
    const sent = performance.now();
    let answer = await settle(payment);
    if (!answer.success && !mayFail) {
      secondTries++;
      answer = await settle(payment);
    }
    const { success, errorReason, errorMessage } = answer;
    latencies.push(performance.now() - sent);
    if (!success) failures.push(`${errorReason} ${errorMessage ?? ""}`);
  };

  const before = { cpuMs: cpuMs(), calls: proxy.calls(), requests: proxy.requests() };
  const begun = performance.now();
  if (order === "at once") await Promise.all(payments.map(send));
  else for (const payment of payments) await send(payment);
  const seconds = (performance.now() - begun) / 1000;

  const settled = count - failures.length;
  const transfers = await chain.transfersTo(terms.payTo);
  if (failures.length > 0 && !mayFail)
    throw new Error(`${name}: ${failures.length} of ${count} failed, the first: ${failures[0]}`);
  if (transfers !== settled)
    throw new Error(`${name}: ${transfers} transfers for ${settled} settlements`);
  await facilitator.finish(terms.payTo, settled);
  return {
    secondTries,
    failed: failures.length,
    perSecond: settled / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    cpuMs: (cpuMs() - before.cpuMs) / count,
    calls: (proxy.calls() - before.calls) / count,
    requests: (proxy.requests() - before.requests) / count,
  };
}
