/** A small workload that has each kind of invocation: the work is real, on local chains. */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../devnet/client/wait.ts";
import { startReceiver } from "../../devnet/demo/receiver.ts";
import { makeFinalPayments } from "../support/final-payments.ts";
import { makeFinalRecords } from "../support/final-records.ts";
import { pagePath, pageStarts } from "../support/pages.ts";
import { loadRecords } from "../support/records.ts";
import { withSellerAndBuyer } from "../support/seller-and-buyer.ts";
import {
  type BenchContext,
  type BenchService,
  call,
  startBenchService,
} from "../support/service.ts";
import { commit, createEndpoint } from "../webhooks.ts";
import { startPaymentChain } from "../x402/chain.ts";
import { ourFacilitators } from "../x402/facilitators.ts";
import { startCountingProxy } from "../x402/proxy.ts";
import { LABEL_HEADER } from "./invocation.ts";
import { takeInvocations } from "./metered-bundle.ts";
import type { Stage } from "./units.ts";

/** What the stages deliver. */
const EVENT_KIND = "X402_PAYMENT_SETTLED";
const OTHER_KIND = "X402_PAYMENT_FAILED";
const ENDPOINTS = { few: 10, many: 1_000 };
const BLOCK_SECONDS = 2;
/** Payments under way at the same time. */
const PAYERS = 6;
const DAY_MS = 24 * 60 * 60 * 1000;
const POLL_MS = 20;
const STOPPED_AFTER_MS = 60_000;

/** Carries out all stages. */
export async function carryOut(context: BenchContext): Promise<Stage[]> {
  const few = (count: number) => (context.quick ? 2 : count);
  return [
    ...(await poll(context, few(100))),
    ...(await sell(context, few(5))),
    await settle(context, few(24)),
    await deliver(context, "few", few(20)),
    await deliver(context, "many", few(20)),
    ...(await move(context, context.quick ? 20 : 500)),
  ];
}

/** Meters work of services; what they did before does not count. */
async function meter<Name extends string>(
  services: Record<Name, BenchService>,
  count: number,
  work: () => Promise<unknown>,
): Promise<Stage[]> {
  const all = Object.entries<BenchService>(services);
  for (const [, service] of all) await takeInvocations(service);
  const before = all.map(([, service]) => service.cpuMs());
  await work();
  const stages: Stage[] = [];
  for (const [i, [name, service]] of all.entries()) {
    const invocations = await takeInvocations(service);
    stages.push({ name, count, cpuMs: service.cpuMs() - (before[i] ?? 0), invocations });
  }
  return stages;
}

async function meterOne(
  name: string,
  service: BenchService,
  count: number,
  work: () => Promise<unknown>,
): Promise<Stage> {
  const [stage] = await meter({ [name]: service }, count, work);
  return stage as Stage;
}

/** Polls of a purchase diff with a key of a client. */
async function poll(context: BenchContext, count: number): Promise<Stage[]> {
  const service = await startBenchService(context, { SYNC_EVERY_SECONDS: "0" });
  const { host } = service;
  try {
    await loadRecords(host.d1, 100);
    const body = { permission: "User" };
    const { token } = await call<{ token: string }>(service, "/api/v1/api-key", {
      method: "POST",
      body,
    });
    const starts = await pageStarts(host.d1, "purchase");
    const pathFrom = (place: number) => {
      const start = starts.at(place);
      if (!start) throw new Error("there are too few purchases");
      return pagePath("purchase", start, { limit: 10, includeHistory: false });
    };
    const ask = async (label: string, path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${host.url}${path}`, {
        headers: { token, [LABEL_HEADER]: label, ...headers },
      });
      await response.arrayBuffer();
      return response;
    };
    const etag = (await ask("first", pathFrom(-1))).headers.get("etag") ?? "";
    const kinds = [
      ["poll, caught up", -1, {}],
      ["poll, 10 changes", -10, {}],
      ["poll, If-None-Match", -1, { "if-none-match": etag }],
    ] as const;
    const stages: Stage[] = [];
    for (const [name, place, headers] of kinds)
      stages.push(
        await meterOne(name, service, count, async () => {
          for (let i = 0; i < count; i++) {
            const { status } = await ask(name.slice("poll, ".length), pathFrom(place), headers);
            if (status !== ("if-none-match" in headers ? 304 : 200))
              throw new Error(`${name}: ${status}`);
          }
        }),
      );
    return stages;
  } finally {
    await host.close();
  }
}

/** Sales from the quote and the purchase to the withdrawal, then runs of the cron. */
function sell(context: BenchContext, count: number): Promise<Stage[]> {
  return withSellerAndBuyer(context, "Web3ChainV2", async ({ services, lock, end }) => {
    const { payment, purchase } = services;
    if (!context.quick) await end(await lock(1));
    const sales = await meter({ payment, purchase }, count, async () => end(await lock(count)));
    const cron = await meterOne("minute", payment, count, async () => {
      for (let i = 0; i < count; i++) {
        const before = await lastPass(payment);
        await payment.host.scheduled();
        await until(async () => (await lastPass(payment)) !== before, {
          what: "a pass of the source",
          everyMs: POLL_MS,
          limitMs: STOPPED_AFTER_MS,
        });
      }
    });
    return [...sales, cron];
  });
}

/** When the last pass of the source was, epoch milliseconds. */
function lastPass({ host }: BenchService): Promise<number | null> {
  return host.d1.prepare("SELECT max(last_checked_at) AS at FROM source_cursor").first("at");
}

/** x402 payments on a chain of two-second blocks, a few at the same time. */
async function settle(context: BenchContext, count: number): Promise<Stage> {
  const chain = await startPaymentChain();
  const proxy = await startCountingProxy(chain.node.url);
  const receiver = await startReceiver();
  const service = await startBenchService(context, {
    LOOPBACK_ORIGINS: [proxy.url, receiver.url].join(),
  });
  try {
    await createEndpoint(service, `${receiver.url}/settled`, EVENT_KIND);
    const [facilitator] = await ourFacilitators(service, proxy, chain);
    if (!facilitator) throw new Error("there is no facilitator");
    const terms = chain.newTerms();
    const send = await facilitator.open(terms);
    const pay = async (some: number) => {
      const waiting = (await chain.sign(terms, some)).values();
      const payer = async () => {
        for (const payment of waiting) {
          const { success, errorMessage } = await send(payment);
          if (!success) throw new Error(`a settlement failed: ${errorMessage}`);
        }
      };
      await Promise.all(Array.from({ length: PAYERS }, payer));
    };
    await pay(1);
    await chain.node.rpc("evm_setIntervalMining", [BLOCK_SECONDS]);
    return await meterOne("settlement", service, count, async () => {
      await pay(count);
      await facilitator.finish(terms.payTo, count + 1);
      await until(() => receiver.arrivals("/settled").length > count, {
        what: "the events",
        everyMs: POLL_MS,
        limitMs: STOPPED_AFTER_MS,
      });
    });
  } finally {
    await service.host.close();
    await receiver.close();
    await proxy.close();
    await chain.node.close();
  }
}

/** Events that one of several endpoints receives, one after the other, and that the cron deletes. */
async function deliver(
  context: BenchContext,
  howMany: keyof typeof ENDPOINTS,
  count: number,
): Promise<Stage> {
  const endpoints = context.quick ? 20 : ENDPOINTS[howMany];
  const receiver = await startReceiver();
  const service = await startBenchService(context, {
    LOOPBACK_ORIGINS: receiver.url,
    WEBHOOK_ENDPOINTS_PER_KEY: String(endpoints),
    // A second.
    EVENT_RETENTION_DAYS: String(1 / 86_400),
  });
  try {
    await createEndpoint(service, `${receiver.url}/events`, EVENT_KIND);
    for (let i = 1; i < endpoints; i++)
      await createEndpoint(service, `${receiver.url}/${i}`, OTHER_KIND);
    const send = async (some: number) => {
      for (let sent = 0; sent < some; sent++) {
        const before = receiver.arrivals("/events").length;
        await commit(service.host.d1, 1, EVENT_KIND);
        await service.host.send("EVENTS", { v: 1, requestId: "bench" });
        await until(() => receiver.arrivals("/events").length > before, {
          what: "an event",
          everyMs: POLL_MS,
          limitMs: STOPPED_AFTER_MS,
        });
      }
    };
    await send(1);
    return await meterOne(`event, ${howMany} endpoints`, service, count, async () => {
      await send(count);
      const { d1 } = service.host;
      await d1.prepare(`UPDATE event SET created_at = created_at - ${DAY_MS}`).run();
      const stored = d1.prepare("SELECT count(*) AS n FROM event");
      const isPurged = async () => {
        await service.host.scheduled();
        // The newest stays.
        return (await stored.first<number>("n")) === 1;
      };
      await until(isPurged, { what: "the purge", everyMs: 1_000, limitMs: STOPPED_AFTER_MS });
    });
  } finally {
    await service.host.close();
    await receiver.close();
  }
}

/** Final escrows, then as many x402 payments, that the cron moves to an archive. */
async function move(context: BenchContext, count: number): Promise<Stage[]> {
  const folder = mkdtempSync(join(context.folder, "moved-"));
  await makeFinalRecords(context, folder, count / 2);
  const service = await startBenchService(context, { ARCHIVE_AFTER_MINUTES: "1" }, folder);
  const { host } = service;
  const moveAll = (name: string, table: string) =>
    meterOne(name, service, count, async () => {
      const left = host.d1.prepare(`SELECT count(*) AS n FROM ${table}`);
      const isMoved = async () => {
        await host.scheduled();
        return (await left.first<number>("n")) === 0;
      };
      await until(isMoved, { what: "the move", everyMs: POLL_MS, limitMs: STOPPED_AFTER_MS });
    });
  try {
    const escrows = await moveAll("move", "escrow");
    await makeFinalPayments(host.d1, count);
    return [escrows, await moveAll("move, x402", "x402_payment_attempt")];
  } finally {
    await host.close();
  }
}
