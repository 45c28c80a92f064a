/** What requests cost, and how much of it is ours. */
import { startFloor } from "./floor.ts";
import { type LoadResult, runLoad } from "./load.ts";
import type { BenchService } from "./service.ts";
import { median } from "./statistics.ts";
import type { Row } from "./table.ts";

const CONNECTIONS = 16;

/** A kind of GET request. */
export interface Kind {
  /** Path and query, which may differ from request to request. */
  path(): string;
  /** How many rows an answer shows: the floor reads as many. */
  rows: number;
}

/** What is loaded in turns. */
interface Target {
  url(): string;
  cpuMs(): number;
  results: LoadResult[];
}

/**
 * Loads the service with each kind of request, and the floor with its counterpart. Each has its turn in
 * every round, so that a machine that is busy for a while does not slow only one of them. A figure is
 * the median of the rounds. `ours` is what a request takes above one query of as many rows and bytes.
 */
export async function measureAboveFloor(
  service: BenchService,
  kinds: readonly Kind[],
  quick: boolean,
): Promise<Row[]> {
  const timing = quick
    ? { rounds: 1, warmUpMs: 500, durationMs: 1_000 }
    : { rounds: 3, warmUpMs: 1_000, durationMs: 3_000 };
  const headers = { token: service.token };
  const floor = await startFloor();
  try {
    const target = (url: Target["url"], from: { cpuMs(): number }): Target => ({
      url,
      cpuMs: from.cpuMs,
      results: [],
    });
    const empty = target(floor.emptyUrl, floor);
    const pairs = [];
    for (const { path, rows } of kinds) {
      const url = () => `${service.host.url}${path()}`;
      const answer = await fetch(url(), { headers });
      const { length: bytes } = await answer.text();
      pairs.push({
        page: target(url, service),
        query: target(() => floor.queryUrl(rows, bytes), floor),
      });
    }
    const targets = [empty, ...pairs.flatMap(({ page, query }) => [page, query])];
    for (let round = 0; round < timing.rounds; round++)
      for (const one of targets)
        one.results.push(await runLoad({ ...one, ...timing, headers, connections: CONNECTIONS }));

    return pairs.map(({ page, query }) => ({
      "req/s": medianOf(page, "requestsPerSecond"),
      "p50 ms": medianOf(page, "p50Ms"),
      "p99 ms": medianOf(page, "p99Ms"),
      bytes: medianOf(page, "bytesPerResponse"),
      "CPU ms/req": medianOf(page, "cpuMsPerRequest"),
      "empty Worker": medianOf(empty, "cpuMsPerRequest"),
      "one query": medianOf(query, "cpuMsPerRequest"),
      ours: medianOf(page, "cpuMsPerRequest") - medianOf(query, "cpuMsPerRequest"),
    }));
  } finally {
    await floor.close();
  }
}

function medianOf({ results }: Target, name: keyof LoadResult): number {
  return median(results.map((result) => result[name]));
}
