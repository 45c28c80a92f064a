import { formatWholeUnits } from "../../../chain/unit.ts";
import { type Database, openDb } from "../../../db/client.ts";
import type { AppContext } from "../../../http/context.ts";
import { toWireValueName } from "../../../http/names/wire-names.ts";
import { listTokens, type Token } from "../../../tokens/tokens.ts";
import type { EscrowRecord, Side, StoredFunds } from "../../model/escrow-record.ts";
import { nextActionOf } from "../../model/intent.ts";
import { type ListQuery, readListRecords } from "../list-page.ts";

/** CSV as RFC 4180 has it, that no spreadsheet takes for anything but text and numbers: pure. */

/**
 * What begins a formula in spreadsheets (OWASP, "CSV Injection"), alone or after blanks and invisible
 * characters that they drop. An apostrophe before it makes the cell a text.
 */
const FORMULA_PATTERN =
  /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u;

/** What separates cells or lines in some spreadsheet, and quotation marks. */
const SEPARATOR_PATTERN = /[",;|\p{Cc}\u2028\u2029]/u;

/** A cell; null is empty. */
type Cell = string | null;

/** A line, with its end. */
export function formatCsvLine(cells: readonly Cell[]): string {
  return `${cells.map(formatCsvCell).join(",")}\r\n`;
}

function formatCsvCell(cell: Cell): string {
  if (cell === null) return "";
  const safe = FORMULA_PATTERN.test(cell) ? `'${cell}` : cell;
  return SEPARATOR_PATTERN.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Units that have a name, by unit. */
type TokensByUnit = ReadonlyMap<string, Token>;

/** Columns in their order. Programs know them by name: new ones come last, and none changes its meaning. */
const COLUMNS: Readonly<Record<string, (record: EscrowRecord, units: TokensByUnit) => Cell>> = {
  id: ({ id }) => id,
  createdAt: ({ createdAt }) => new Date(createdAt).toISOString(),
  network: ({ network }) => network,
  paymentSourceType: ({ sourceType }) => toWireValueName(sourceType),
  onChainState: ({ state }) => state.onChainState,
  requestedAction: (record) => nextActionOf(record).requestedAction,
  errorType: (record) => nextActionOf(record).errorType,
  errorNote: (record) => nextActionOf(record).errorNote,
  agentIdentifier: ({ terms }) => terms.agentIdentifier,
  agentName: ({ terms }) => terms.agentName ?? null,
  // Most prices have one unit: then nobody has to take a list apart.
  unit: ({ terms: { funds } }) => funds[0]?.unit ?? null,
  amount: ({ terms: { funds } }) => funds[0]?.amount ?? null,
  ticker: ({ terms: { funds } }, units) => units.get(funds[0]?.unit ?? "")?.ticker ?? null,
  wholeAmount: ({ terms: { funds } }, units) => formatWholeAmount(funds[0], units),
  otherAmounts: ({ terms: { funds } }) => formatAmounts(funds.slice(1)),
  sellerReceived: ({ state }) => formatAmounts(state.settled?.seller ?? state.withdrawnForSeller),
  buyerReceived: ({ state }) => formatAmounts(state.settled?.buyer ?? state.withdrawnForBuyer),
  protocolFee: ({ state }) => formatAmounts(state.settled?.protocolFee ?? []),
  networkFee: ({ side, state }) => (side === "payment" ? state.sellerFees : state.buyerFees),
  payByTime: ({ terms }) => formatTime(terms.payByTime),
  submitResultTime: ({ terms }) => formatTime(terms.submitResultTime),
  unlockTime: ({ terms }) => formatTime(terms.unlockTime),
  externalDisputeUnlockTime: ({ terms }) => formatTime(terms.externalDisputeUnlockTime),
  walletAddress: ({ wallet }) => wallet?.address ?? null,
  counterpartyVkey: ({ side, terms, state }) =>
    side === "payment" ? (state.lock?.buyerVkey ?? terms.buyerVkey) : terms.sellerVkey,
  txHash: ({ state, progress }) =>
    (progress.pendingTransaction?.transaction ?? state.transaction)?.txHash ?? null,
  inputHash: ({ terms }) => terms.inputHash,
  resultHash: ({ state }) => state.resultHash,
  requestedById: ({ requestedById }) => requestedById,
  blockchainIdentifier: ({ blockchainIdentifier }) => blockchainIdentifier,
};

const COLUMN_NAMES: readonly string[] = Object.keys(COLUMNS);

/** The cells of a record, one for each column. */
function cellsOf(record: EscrowRecord, units: TokensByUnit): Cell[] {
  return Object.values(COLUMNS).map((cell) => cell(record, units));
}

/** Minor units and their unit, as in `10000000 <unit>; 5 <unit>`; the native coin is `lovelace`. */
function formatAmounts(funds: readonly StoredFunds[]): Cell {
  if (funds.length === 0) return null;
  return funds.map(({ amount, unit }) => `${amount} ${unit || "lovelace"}`).join("; ");
}

/** An amount in whole units, exactly; null where nobody has said how many decimals the unit has. */
function formatWholeAmount(funds: StoredFunds | undefined, units: TokensByUnit): Cell {
  const known = funds && units.get(funds.unit);
  return known ? formatWholeUnits(funds.amount, known.decimals) : null;
}

/** The last moment that a date can be. */
const MAX_DATE_MS = 8_640_000_000_000_000;

/** A time as the chain has it, Unix milliseconds of any size: those beyond any date stay as they are. */
function formatTime(milliseconds: string): Cell {
  const at = Number(milliseconds);
  return Math.abs(at) <= MAX_DATE_MS ? new Date(at).toISOString() : milliseconds;
}

/** Records that are read together. */
const READ_PAGE_SIZE = 500;

/** A file, and the id of its last record when more follow. */
interface CsvFile {
  text: string;
  nextCursor: string | null;
}

/**
 * The records of a list's query as CSV: a header, and a line for each. When more records follow,
 * the last line says so. A reader of the file does not see the headers of the response.
 */
export async function buildCsvFile(
  c: AppContext,
  session: Database,
  side: Side,
  query: ListQuery,
): Promise<CsvFile> {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const units = new Map((await listTokens(core)).map((unit) => [unit.unit, unit]));
  const lines = [formatCsvLine(COLUMN_NAMES)];
  let cursorId = query.cursorId;
  for (let left = query.limit; ; ) {
    // One more tells whether any follow.
    const limit = Math.min(left, READ_PAGE_SIZE) + 1;
    const page = { ...query, cursorId, limit, env: c.env };
    const records = await readListRecords(session, side, page);
    const hasMore = records.length === limit;
    for (const record of hasMore ? records.slice(0, -1) : records) {
      lines.push(formatCsvLine(cellsOf(record, units)));
      cursorId = record.id;
      left--;
    }
    if (!hasMore) return { text: lines.join(""), nextCursor: null };
    if (left === 0) break;
  }
  const note = `More follow: ask again with cursorId=${cursorId}`;
  lines.push(formatCsvLine([note, ...COLUMN_NAMES.slice(1).map(() => null)]));
  return { text: lines.join(""), nextCursor: cursorId ?? null };
}
