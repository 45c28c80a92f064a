/** Diff pages under load: how many a second, how late, at what cost, and how much of that is ours. */
import type { Side } from "../src/escrow/model/escrow-record.ts";
import { measureAboveFloor } from "./support/above-floor.ts";
import {
  DIFFS,
  type DiffData,
  type PageStart,
  pagePath,
  pageStarts,
  rowsReadBy,
} from "./support/pages.ts";
import { type BenchService, call } from "./support/service.ts";
import type { Row } from "./support/table.ts";

const ROWS_READ_SAMPLES = 20;

/** One kind of page. */
interface PageKind {
  side: Side;
  limit: 10 | 100;
  includeHistory: boolean;
  /** A random record that a full page begins with. */
  randomStart(): PageStart;
}

/** What a page may take above the floor, in CPU milliseconds: what is aimed at. */
const goalOf = ({ limit, includeHistory }: PageKind) =>
  includeHistory ? 1.5 : limit === 10 ? 0.25 : 0.8;

/**
 * Loads each of the two diffs with short and long pages, with and without histories, first of open records.
 * Then the records lose what the end of an escrow deletes, and pages render each.
 */
export async function benchDiffs(service: BenchService, quick: boolean): Promise<Row[]> {
  const kinds = await pageKinds(service);
  const open = await measureKinds(service, kinds, quick);
  await service.host.d1.prepare("DELETE FROM escrow_open").run();
  const ended = await measureKinds(service, kinds, quick);
  return [
    ...open.map((row) => ({ records: "open", ...row })),
    ...ended.map((row) => ({ records: "ended", ...row, goal: row.limit === 100 ? 8 : "" })),
  ];
}

async function measureKinds(
  service: BenchService,
  kinds: readonly PageKind[],
  quick: boolean,
): Promise<Row[]> {
  for (const kind of kinds) await checkPage(service, kind);
  const measured = await measureAboveFloor(
    service,
    kinds.map((kind) => ({
      path: () => pagePath(kind.side, kind.randomStart(), kind),
      rows: kind.limit,
    })),
    quick,
  );
  const rows: Row[] = [];
  for (const [i, kind] of kinds.entries())
    rows.push({
      diff: kind.side,
      limit: kind.limit,
      history: kind.includeHistory ? "yes" : "no",
      ...measured[i],
      goal: goalOf(kind),
      "rows read": await meanRowsRead(service, kind),
    });
  return rows;
}

async function pageKinds({ host }: BenchService): Promise<PageKind[]> {
  const kinds: PageKind[] = [];
  for (const side of ["purchase", "payment"] as const) {
    const starts = await pageStarts(host.d1, side);
    for (const includeHistory of [false, true])
      for (const limit of [10, 100] as const) {
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
