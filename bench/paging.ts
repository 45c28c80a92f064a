/** A client that catches up: all changed payments, page by page, by the rules of the interface. */
import { DIFFS, type DiffData } from "./support/pages.ts";
import { type BenchService, call } from "./support/service.ts";
import type { Row } from "./support/table.ts";

const LIMIT = 100;

/**
 * Pages through all payments from the beginning of time, one request after the other.
 *
 * @param expected - payments that there are
 * @throws when one was not returned
 */
export async function benchPaging(service: BenchService, expected: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const includeHistory of [false, true]) {
    const begun = performance.now();
    const { seen, pages } = await pageThrough(service, includeHistory);
    const seconds = (performance.now() - begun) / 1000;
    if (seen !== expected) throw new Error(`paging returned ${seen} of ${expected} payments`);
    rows.push({
      payments: seen,
      limit: LIMIT,
      history: includeHistory ? "yes" : "no",
      pages,
      seconds,
      "payments/s": seen / seconds,
    });
  }
  return rows;
}

async function pageThrough(service: BenchService, includeHistory: boolean) {
  const { path, list } = DIFFS.payment;
  const seen = new Set<string>();
  const query = new URLSearchParams({
    network: "Preprod",
    limit: String(LIMIT),
    includeHistory: String(includeHistory),
  });
  for (let pages = 1; ; pages++) {
    const payments = (await call<DiffData>(service, `${path}?${query}`))[list] ?? [];
    for (const { id } of payments) seen.add(id);
    const last = payments.at(-1);
    // The last item of the page before comes again; when it comes alone, there is nothing after it.
    if (last === undefined || last.id === query.get("cursorId")) return { seen: seen.size, pages };
    query.set("lastUpdate", last.onChainStateOrResultLastChangedAt);
    query.set("cursorId", last.id);
  }
}
