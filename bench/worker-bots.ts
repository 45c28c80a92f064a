/** How long the migration of a fleet of worker bots takes, and how it grows with the fleet. */
import { type BenchContext, type BenchService, startBenchService } from "./support/service.ts";
import { median } from "./support/statistics.ts";
import type { Row } from "./support/table.ts";

const VERSIONS = ["v1", "v2"] as const;
const ROUNDS = 5;
/** A call answers within this; a migration that does not is broken off. */
const DEADLINE_MS = 10_000;

/**
 * Migrates fleets of growing size forth and back in one call each. The audit rows of all rounds stay. A
 * cost that grows with history would therefore show in the last row, whose fleet is as large as the one
 * before.
 *
 * @throws when a bot is not moved
 */
export async function benchWorkerBots(context: BenchContext): Promise<Row[]> {
  const sizes = context.quick ? [100, 500] : [1_250, 2_500, 5_000, 10_000, 10_000];
  const service = await startBenchService(context);
  try {
    await insertVersions(service);
    const rows: Row[] = [];
    let moves = 0;
    for (const bots of sizes) {
      await insertBots(service, bots);
      const before = moves;
      const moving: number[] = [];
      const staying: number[] = [];
      const cpuBefore = service.cpuMs();
      for (let round = 0; round < ROUNDS; round++) {
        const to = VERSIONS[(round + 1) % VERSIONS.length] ?? VERSIONS[0];
        moving.push(await timeMigration(service, to, { total: bots, moved: bots }));
        staying.push(await timeMigration(service, to, { total: bots, moved: 0 }));
        moves += bots;
      }
      const ms = median(moving);
      rows.push({
        bots,
        "moves before": before,
        ms,
        "slowest ms": Math.max(...moving),
        "bots/s": bots / (ms / 1000),
        "ms, run again": median(staying),
        "CPU ms/1,000 bots": (service.cpuMs() - cpuBefore) / ROUNDS / (bots / 1000),
        "limit ms": DEADLINE_MS,
      });
    }
    return rows;
  } finally {
    await service.host.close();
  }
}

async function insertVersions({ host }: BenchService): Promise<void> {
  await host.d1
    .prepare(
      `INSERT INTO worker_bot_version (id, name, status, created_by_id, created_at, updated_at)
       SELECT value, value, 'Active', 'env-admin', 0, 0 FROM json_each(?)`,
    )
    .bind(JSON.stringify(VERSIONS))
    .run();
}

/** A new fleet on the first version, in place of the one before. */
async function insertBots({ host }: BenchService, count: number): Promise<void> {
  await host.d1.batch([
    host.d1.prepare("DELETE FROM worker_bot"),
    host.d1
      .prepare(
        `WITH RECURSIVE bot (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM bot WHERE n < ?)
         INSERT INTO worker_bot
           (id, name, version_id, status, created_by_id, created_at, updated_at)
         SELECT printf('01m000000000000000000%05d', n), 'bot', ?, 'Active', 'env-admin', 0, 0
         FROM bot`,
      )
      .bind(count, VERSIONS[0]),
  ]);
}

/** @returns milliseconds until the answer was read */
async function timeMigration(
  { host, token }: BenchService,
  toVersionId: string,
  expected: { total: number; moved: number },
): Promise<number> {
  const begun = performance.now();
  const response = await fetch(`${host.url}/v1/admin/worker-bots/versions/migrate`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ toVersionId, reason: "bench" }),
  });
  const text = await response.text();
  const ms = performance.now() - begun;
  if (!response.ok) throw new Error(`migrate: ${response.status} ${text}`);
  const { data } = JSON.parse(text) as { data: { total: number; moved: number } };
  if (data.total !== expected.total || data.moved !== expected.moved)
    throw new Error(`migrate: ${text}, but ${JSON.stringify(expected)} was expected`);
  return ms;
}
