import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import worker from "../../src/worker.ts";
import { call, emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { insertKey } from "../support/keys.ts";
import { createRegistrySource, metadataOf, V1, V2 } from "../support/registry/registry-sync.ts";
import { createSource } from "../support/sources/sync.ts";

const READS = 250;
const ROUNDS = 3;
const AGENTS = 6;
const SLOT = { cron: "* * * * *", scheduledTime: Date.UTC(2026, 7, 1, 12, 0) };

const { BLOCKFROST_URL_PREPROD, PROVIDER_CALLS_PER_SECOND } = env;
let chain: TestChain;

beforeEach(async () => {
  await emptyTables();
  chain = await TestChain.create();
  // The objects that the cron wakes get their variables from here as well.
  Object.assign(env, { BLOCKFROST_URL_PREPROD: chain.url, PROVIDER_CALLS_PER_SECOND: "10" });
});
afterEach(() => {
  Object.assign(env, { BLOCKFROST_URL_PREPROD, PROVIDER_CALLS_PER_SECOND });
  vi.restoreAllMocks();
});

interface CursorRow {
  position: string | null;
  error: string | null;
  checkedAt: number | null;
  isUnderWay: number;
}

async function cursors(): Promise<CursorRow[]> {
  const { results } = await env.DB.prepare(
    `SELECT position, error, last_checked_at AS checkedAt, lease_until IS NOT NULL AS isUnderWay
     FROM source_cursor
     UNION ALL SELECT recent, error, last_checked_at, 0 FROM registry_cursor`,
  ).all<CursorRow>();
  return results;
}

test("250 parallel reads by one User key, three times in a row, delay no pass of the sync and fail no pass", async () => {
  // A wallet belongs to one source.
  await createSource(chain, V1, (name) => name.endsWith("-0"));
  await createSource(chain, V2, (name) => !name.endsWith("-0"));
  await createRegistrySource(chain);
  for (let i = 0; i < AGENTS; i++)
    await chain.act([{ do: "mint", as: `agent-${i}`, version: V1, metadata: metadataOf(`a${i}`) }]);
  const { wallets } = await chain.wallets();
  const vkey = wallets.find(({ name }) => name === "seller-0")?.vkey;
  const path = `/api/v1/registry/wallet?network=Preprod&walletVKey=${vkey}`;
  const read = async (token: string) => {
    const { status, headers } = await call(path, { headers: { token } });
    return { status, retryAfter: headers.get("retry-after") };
  };
  const [greedy, other] = [await insertKey({}), await insertKey({})];
  const errors = vi.spyOn(console, "error");
  const answers: Awaited<ReturnType<typeof read>>[] = [];

  for (let round = 0; round < ROUNDS; round++) {
    const steps = [V1, V2].map((version) => ({ do: "lock", as: `${version}-${round}`, version }));
    const locks = await chain.act(steps);
    const since = Date.now();
    const reads = Array.from({ length: READS }, () => read(greedy));
    await worker.scheduled(createScheduledController(SLOT), env);
    answers.push(...(await Promise.all(reads)));
    // One tick of the cron, one pass: nobody wakes the objects again.
    const isDone = async () => {
      const rows = await cursors();
      const isOver = rows.every((row) => (row.checkedAt ?? 0) >= since && row.isUnderWay === 0);
      return isOver && locks.every(({ txHash }) => JSON.stringify(rows).includes(txHash));
    };
    await vi.waitUntil(isDone, { timeout: 120_000, interval: 20 });
    expect((await cursors()).map(({ error }) => error)).toEqual([null, null, null]);
    // What sync needs goes before; what it left after the first round is enough for everybody.
    if (round === 0) expect(await read(other)).toMatchObject({ status: 200 });
  }

  expect(errors.mock.calls.flat().filter((line) => /sync[._]failed/.test(line))).toEqual([]);
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(answers.length);
  for (const one of refused)
    expect(one).toEqual({ status: 503, retryAfter: expect.stringMatching(/^[1-9]\d*$/) });
});
