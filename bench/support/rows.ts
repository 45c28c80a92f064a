/** D1 rows that a diff page reads as the table grows, for every combination of its filters. */
import { getTableColumns } from "drizzle-orm";
import { PAYMENT_SOURCE_TYPES } from "../../src/chain/network.ts";
import { escrow } from "../../src/escrow/store/tables.ts";
import { type PageStart, pageStarts, rowsReadBy } from "./pages.ts";
import { CONTRACTS, loadRecords } from "./records.ts";
import { type BenchContext, startBenchService } from "./service.ts";
import type { Row } from "./table.ts";

const LIMITS = [10, 100];
/**
 * Of each record of the page and the one after it, its row and its document; and the height of the tip. A
 * page with a record that waits for its wallet also reads whether something blocks its source.
 */
const allowed = (limit: number) => 2 * limit + 4;

const FILTERS = [
  ["any", undefined] as const,
  ...Object.entries(CONTRACTS).map(([name, one]) => [name, one.contractAddress] as const),
  ["unknown", "addr_test1wunknown"] as const,
].flatMap(([contract, filterSmartContractAddress]) =>
  [undefined, ...PAYMENT_SOURCE_TYPES].map((filterPaymentSourceType) => ({
    contract,
    filter: { filterSmartContractAddress, filterPaymentSourceType },
  })),
);

const SIDES = ["purchase", "payment"] as const;

/** The most rows that a page of a filter read, and each page that read too many. */
export interface RowsRead {
  rows: Row[];
  excesses: string[];
}

/**
 * Reads the first, the middle and the last page of both diffs at 2,000 and at 200,000 records. A
 * page may read two rows for each record and one more record, the tip, and what holds up the one source.
 */
export async function benchRowsRead(context: BenchContext): Promise<RowsRead> {
  const [small, copies] = context.quick ? [400, 4] : [2_000, 99];
  const { host } = await startBenchService(context);
  try {
    await loadRecords(host.d1, small / 2);
    const before = await readPages(host.d1);
    await multiplyRecords(host.d1, copies);
    const after = await readPages(host.d1);

    const rows = FILTERS.map(({ contract, filter }, i) => ({
      contract,
      type: filter.filterPaymentSourceType ?? "any",
      ...columns(small, before.most[i]),
      ...columns(small * (copies + 1), after.most[i]),
    }));
    return { rows, excesses: [...before.excesses, ...after.excesses] };
  } finally {
    await host.close();
  }
}

const columns = (records: number, most: number[] = []) =>
  Object.fromEntries(LIMITS.map((limit, i) => [`${limit} of ${records}`, most[i] ?? 0]));

/** `most` holds for each filter, for each limit, the most rows that a page read. */
async function readPages(d1: D1Database): Promise<{ most: number[][]; excesses: string[] }> {
  const excesses: string[] = [];
  const most = FILTERS.map(() => LIMITS.map(() => 0));
  for (const side of SIDES) {
    const starts = await pageStarts(d1, side);
    for (const [i, { filter }] of FILTERS.entries()) {
      for (const [j, limit] of LIMITS.entries()) {
        for (const start of firstMiddleLast(starts, limit)) {
          const query = { ...filter, limit, includeHistory: false };
          const read = await rowsReadBy(d1, side, start, query);
          const ofFilter = most[i] ?? [];
          ofFilter[j] = Math.max(ofFilter[j] ?? 0, read);
          if (read > allowed(limit))
            excesses.push(`${read} rows read: ${side} ${JSON.stringify({ ...query, ...start })}`);
        }
      }
    }
  }
  return { most, excesses };
}

function firstMiddleLast(starts: PageStart[], limit: number): PageStart[] {
  const last = starts.length - limit;
  return [0, Math.floor(last / 2), last].map((i) => {
    const start = starts[i];
    if (!start) throw new Error(`there are fewer than ${limit} records`);
    return start;
  });
}

const ESCROW_COLUMN_NAMES = Object.values(getTableColumns(escrow)).map(({ name }) => name);

/** SQL of the columns that a copy has otherwise. */
const COPIED: Record<string, string> = {
  id: "id || '-' || n",
  blockchain_identifier: "''",
  identifier_hash: "identifier_hash || '-' || n",
  utxo: "utxo || n",
  chain_changed_at: "chain_changed_at + n * ms",
  action_changed_at: "action_changed_at + n * ms",
  changed_at: "changed_at + n * ms",
};

/**
 * Copies every record, each copy changed after those before it. The text of the copies is cut to
 * nothing: what a row holds does not count, only that it is there.
 */
async function multiplyRecords(d1: D1Database, copies: number): Promise<void> {
  await d1
    .prepare(
      `WITH RECURSIVE copy (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < ?),
         span AS (SELECT max(chain_changed_at) - min(chain_changed_at) + 1 AS ms FROM escrow)
       INSERT INTO escrow (${ESCROW_COLUMN_NAMES.join()})
       SELECT ${ESCROW_COLUMN_NAMES.map((name) => COPIED[name] ?? name).join()}
       FROM escrow, copy, span`,
    )
    .bind(copies)
    .run();
  await d1
    .prepare(
      `WITH RECURSIVE copy (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < ?)
       INSERT INTO escrow_open (id, network, revision, doc_version, doc)
       SELECT id || '-' || n, network, revision, doc_version, '{}' FROM escrow_open, copy`,
    )
    .bind(copies)
    .run();
}
