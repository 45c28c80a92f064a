/** Diff pages under load: how many a second, how late, at what cost. */
import type { Side } from "../src/escrow/record.ts";
import { type LoadResult, runLoad } from "./support/load.ts";
import {
  DIFFS,
  type DiffData,
  type PageStart,
  pagePath,
  pageStarts,
  rowsReadBy,
} from "./support/pages.ts";
import { type BenchService, call } from "./support/service.ts";
import { median } from "./support/statistics.ts";
import type { Row } from "./support/table.ts";

const CONNECTIONS = 16;
const ROWS_READ_SAMPLES = 20;

/** One kind of page. */
interface PageKind {
  side: Side;
  limit: number;
  includeHistory: boolean;
  /** A random record that a full page begins with. */
  randomStart(): PageStart;
}

/**
 * Loads each of the two diffs with short and long pages, with and without histories. Every kind
 * gets its turn in every round, so that a machine that is busy for a while does not slow one kind
 * only; a figure is the median of the rounds.
 */
export async function benchDiffs(service: BenchService, quick: boolean): Promise<Row[]> {
  const timing = quick
    ? { rounds: 1, warmUpMs: 500, durationMs: 1_000 }
    : { rounds: 3, warmUpMs: 1_000, durationMs: 3_000 };
  const kinds = await pageKinds(service);
  for (const kind of kinds) await checkPage(service, kind);

  const results = kinds.map((): LoadResult[] => []);
  for (let round = 0; round < timing.rounds; round++)
    for (const [i, kind] of kinds.entries())
      results[i]?.push(
        await runLoad({
          url: () => `${service.host.url}${pagePath(kind.side, kind.randomStart(), kind)}`,
          headers: { token: service.token },
          connections: CONNECTIONS,
          cpuMs: service.cpuMs,
          ...timing,
        }),
      );

  const rowsRead: number[] = [];
  for (const kind of kinds) rowsRead.push(await meanRowsRead(service, kind));
  return kinds.map(({ side, limit, includeHistory }, i) => {
    const medianOf = (name: keyof LoadResult) =>
      median((results[i] ?? []).map((result) => result[name]));
    return {
      diff: side,
      limit,
      history: includeHistory ? "yes" : "no",
      "req/s": medianOf("requestsPerSecond"),
      "p50 ms": medianOf("p50Ms"),
      "p99 ms": medianOf("p99Ms"),
      "CPU ms/req": medianOf("cpuMsPerRequest"),
      "rows read": rowsRead[i] ?? 0,
      bytes: medianOf("bytesPerResponse"),
    };
  });
}

async function pageKinds({ host }: BenchService): Promise<PageKind[]> {
  const kinds: PageKind[] = [];
  for (const side of ["purchase", "payment"] as const) {
    const starts = await pageStarts(host.d1, side);
    for (const includeHistory of [false, true])
      for (const limit of [10, 100]) {
        const randomStart = () => {
          const start = starts[Math.floor(Math.random() * (starts.length - limit + 1))];
          if (!start) throw new Error(`there are fewer than ${limit} records`);
          return start;
        };
        kinds.push({ side, limit, includeHistory, randomStart });
      }
  }
  return kinds;
}

async function meanRowsRead({ host }: BenchService, kind: PageKind): Promise<number> {
  const { side, limit, includeHistory } = kind;
  let sum = 0;
  for (let i = 0; i < ROWS_READ_SAMPLES; i++)
    sum += await rowsReadBy(host.d1, side, kind.randomStart(), { limit, includeHistory });
  return sum / ROWS_READ_SAMPLES;
}

/** A page that is not what is meant to be measured must not be measured. */
async function checkPage(service: BenchService, kind: PageKind): Promise<void> {
  const { side, limit, includeHistory } = kind;
  const start = kind.randomStart();
  const path = pagePath(side, start, kind);
  const records = (await call<DiffData>(service, path))[DIFFS[side].list] ?? [];
  const past = includeHistory ? 3 : 0;
  const isComplete = records.every(
    ({ CurrentTransaction, TransactionHistory, ActionHistory = [] }) =>
      CurrentTransaction !== null &&
      TransactionHistory.length === past &&
      ActionHistory.length === (side === "purchase" ? past : 0),
  );
  if (records.length !== limit || records[0]?.id !== start.id || !isComplete)
    throw new Error(`GET ${path}: not the page of ${limit} that was loaded`);
}
