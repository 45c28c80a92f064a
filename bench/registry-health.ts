/** Health checks of all agents: how long a round takes, how far apart checks get, what they write. */
import { setTimeout as sleep } from "node:timers/promises";
import type { D1Database } from "@cloudflare/workers-types";
import { until } from "../devnet/client/wait.ts";
import type { Agents } from "../devnet/demo/agents.ts";
import { openDb } from "../src/db/client.ts";
import { checkAgentHealth } from "../src/registry/health/check-agents.ts";
import { wrapD1 } from "../test/support/d1.ts";
import type { BenchService } from "./support/service.ts";
import type { Row } from "./support/table.ts";

/** Seconds between two checks of an agent in the bench: the usual half hour is too long to watch. */
export const CHECK_EVERY_S = 90;
/** Checks of one agent that is well, a day. */
const CHECKS_A_DAY = 48;

/** How long one round of all agents takes, how far apart checks get, and what they write. */
export async function benchHealth(
  { host }: BenchService,
  sourceId: string,
  count: number,
  agents: Agents,
  quick: boolean,
): Promise<Row[]> {
  const begun = performance.now();
  await host.scheduled();
  await until(async () => (await countOf(host.d1, "status = 'Online'")) === count + 1, {
    what: "all agents Online",
  });
  const cycleMs = performance.now() - begun;

  agents.longestGapMs();
  const watchMs = (quick ? 1.2 : 2.2) * CHECK_EVERY_S * 1000;
  for (const end = Date.now() + watchMs; Date.now() < end; await sleep(2_000))
    await host.scheduled();
  const longestGapMs = agents.longestGapMs();

  const written = await rowsWrittenByChecks(host.d1, sourceId);
  return [
    {
      agents: count + 1,
      "cycle s": cycleMs / 1000,
      "checks/s": (count + 1) / (cycleMs / 1000),
      "interval s": CHECK_EVERY_S,
      "longest gap s": longestGapMs / 1000,
      "rows/check": written,
      "rows/day": Math.round(written * (count + 1) * CHECKS_A_DAY),
    },
  ];
}

/** D1 rows that the check of an agent writes which answers as before. */
async function rowsWrittenByChecks(d1: D1Database, sourceId: string): Promise<number> {
  // Nobody else is due, so that no check of the service's own is counted, nor disturbs what follows.
  const never = Date.now() + 24 * 60 * 60_000;
  await d1.prepare("UPDATE registry_health SET due_at = ?").bind(never).run();
  await sleep(3_000);
  await d1
    .prepare(
      `UPDATE registry_health SET due_at = 0
       WHERE entry_id IN (SELECT entry_id FROM registry_health LIMIT 50)`,
    )
    .run();
  const before = await checksOf(d1);
  let written = 0;
  const counting = wrapD1(d1 as never, async (_, run) => {
    const result = await run();
    for (const one of Array.isArray(result) ? result : [result])
      written += (one as { meta?: { rows_written?: number } }).meta?.rows_written ?? 0;
    return result;
  });
  const [origin] = (
    await d1
      .prepare("SELECT api_base_url AS url FROM registry_entry LIMIT 1")
      .all<{ url: string }>()
  ).results;
  await checkAgentHealth(
    {
      db: openDb({ DB: counting }),
      network: "Preprod",
      sourceId,
      fetchOptions: { loopbackOrigins: [new URL(origin?.url ?? "").origin] },
      intervalMs: CHECK_EVERY_S * 1000,
      now: Date.now,
    },
    Date.now() + 60_000,
  );
  return written / ((await checksOf(d1)) - before);
}

async function checksOf(d1: D1Database): Promise<number> {
  const row = await d1
    .prepare("SELECT sum(checks) AS n FROM registry_health")
    .first<{ n: number }>();
  return row?.n ?? 0;
}

/** How many entries fulfil an SQL condition. */
export async function countOf(d1: D1Database, where: string): Promise<number> {
  const row = await d1
    .prepare(`SELECT count(*) AS n FROM registry_entry WHERE ${where}`)
    .first<{ n: number }>();
  return row?.n ?? 0;
}
