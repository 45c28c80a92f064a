/** Lists beside the diffs, and a key's own status: what an answer costs, and how much of that is ours. */
import { until } from "../devnet/client/wait.ts";
import { startReceiver } from "../devnet/demo/receiver.ts";
import { openDb } from "../src/db/client.ts";
import { measureAboveFloor } from "./support/above-floor.ts";
import { type BenchContext, call, startBenchService } from "./support/service.ts";
import type { Row } from "./support/table.ts";
import { writeSettlement } from "./x402/rows.ts";

const ROWS = 100;
const KIND = "X402_PAYMENT_SETTLED";
const TERMS = {
  network: "eip155:84532",
  asset: `0x${"a1".repeat(20)}`,
  amount: "10000",
  payTo: `0x${"b2".repeat(20)}`,
};

/** With what is aimed at: a tenth of the CPU milliseconds that the existing services take. */
const listsOf = (webhookId: string) =>
  [
    { path: "/api-key-status", list: null, rows: 1, goal: 1.7 },
    { path: `/x402/payments?take=${ROWS}`, list: "PaymentAttempts", rows: ROWS, goal: 5.1 },
    {
      path: `/webhooks/deliveries?limit=${ROWS}&webhookId=${webhookId}`,
      list: "Deliveries",
      rows: ROWS,
      goal: null,
    },
    { path: `/audit?limit=${ROWS}`, list: "AuditEntries", rows: ROWS, goal: null },
  ] as const;

/** Loads the service with each list, of a hundred rows that the service wrote itself. */
export async function benchLists(context: BenchContext): Promise<Row[]> {
  const receiver = await startReceiver();
  const bench = await startBenchService(context, { LOOPBACK_ORIGINS: receiver.url });
  try {
    // Unlike the one of the configuration, it has a row.
    const { token } = await call<{ token: string }>(bench, "/api/v1/api-key", {
      method: "POST",
      body: { permission: "Admin" },
    });
    const service = { ...bench, token };
    const body = { url: receiver.url, Events: [KIND] };
    const { id: webhookId } = await call<{ id: string }>(service, "/api/v1/webhooks", {
      method: "POST",
      body,
    });
    const core = openDb({ DB: service.host.d1 });
    for (let written = 0; written < ROWS; written++) {
      await writeSettlement(core, TERMS);
      await call(service, "/api/v1/webhooks/rotate-secret", {
        method: "POST",
        body: { webhookId, force: true },
      });
    }
    await service.host.scheduled();
    await until(() => receiver.arrivals("/").length >= ROWS, { what: "all deliveries" });
    const lists = listsOf(webhookId);
    for (const { path, list } of lists) {
      const data = await call<Record<string, unknown[]>>(service, `/api/v1${path}`);
      if (list !== null && data[list]?.length !== ROWS)
        throw new Error(`GET ${path}: not the page of ${ROWS} that was written`);
    }
    const kinds = lists.map(({ path, rows }) => ({ path: () => `/api/v1${path}`, rows }));
    const measured = await measureAboveFloor(service, kinds, context.quick);
    return lists.map(({ path, rows, goal }, i) => ({
      request: `GET ${path.replace(/\?.*/, "")}`,
      rows,
      ...measured[i],
      goal: goal ?? "–",
    }));
  } finally {
    await bench.host.close();
    await receiver.close();
  }
}
