/**
 * The histories of the records of a page. D1 returns the plain fields of each entry, and the Worker makes
 * their JSON. SQL that makes it takes several times as long, and returns twice the bytes.
 */
import { MISMATCH_STATUS } from "../model/transaction-record.ts";
import { quote, renderHistories } from "../store/render-record.ts";
import { renderTime } from "../store/render-time.ts";

/**
 * Maximum entries of a history in a response. A party may take thousands of steps. A text in D1 has
 * at most two megabytes, and an entry has about 300 bytes.
 */
const MAX_HISTORY_ENTRIES = 1_000;

/**
 * Between the entries of a history, and between the fields of an entry: no field contains either. Of all control
 * characters, these are among the few that the JSON of D1 escapes in two characters.
 */
const ENTRY_SEPARATOR = "\n";
const FIELD_SEPARATOR = "\t";

/** SQL of a row's fields as one text. Null is empty. */
const joinFieldsSql = (...fields: string[]) =>
  `concat_ws('${FIELD_SEPARATOR}', ${fields.join(", ")})`;

const orEmpty = (...columns: string[]) => columns.map((column) => `ifnull(${column}, '')`);

/** SQL of the histories of the record `page.id`, newest first, each with one entry more than are shown. */
export const HISTORIES_SQL = `,
  (SELECT group_concat(entry, '${ENTRY_SEPARATOR}') FROM (
     SELECT ${joinFieldsSql(
       ...["id", "created_at", "updated_at", "tx_hash", "status"],
       ...orEmpty("fees", "block_height", "block_time"),
       ...orEmpty("previous_on_chain_state", "new_on_chain_state"),
     )} AS entry
     FROM escrow_transaction
     WHERE record_id = page.id AND tx_hash IS NOT page.shown AND status <> '${MISMATCH_STATUS}'
     ORDER BY id DESC LIMIT ${MAX_HISTORY_ENTRIES + 1})) AS transactions,
  (SELECT group_concat(entry, '${ENTRY_SEPARATOR}') FROM (
     SELECT ${joinFieldsSql(
       ...["id", "created_at", "updated_at", "requested_action"],
       ...orEmpty("error_type"),
       // Any text, so its JSON: that has no control characters.
       "json_quote(error_note)",
     )} AS entry
     FROM escrow_action WHERE record_id = page.id
     ORDER BY id DESC LIMIT ${MAX_HISTORY_ENTRIES + 1})) AS actions`;

/** A row of `HISTORIES_SQL`; null: there are no entries. */
export interface HistoriesRow {
  transactions?: string | null;
  actions?: string | null;
}

/**
 * The histories of a record, and its end: what takes the place of the last brace of its text.
 *
 * @param tipHeight - that confirmations are counted to
 */
export function renderRowHistories(
  side: Parameters<typeof renderHistories>[0],
  { transactions, actions }: HistoriesRow,
  tipHeight: number,
): string {
  const sent = splitEntries(transactions);
  const ended = splitEntries(actions);
  return renderHistories(side, {
    transactions: renderEntries(sent, (fields) => renderTransaction(fields, tipHeight)),
    actions: renderEntries(ended, renderAction),
    isTruncated: Math.max(sent.length, ended.length) > MAX_HISTORY_ENTRIES,
  });
}

function splitEntries(text: string | null = null): string[] {
  return text === null ? [] : text.split(ENTRY_SEPARATOR);
}

function renderEntries(entries: readonly string[], render: (fields: string[]) => string): string {
  let text = "";
  for (const entry of entries.slice(0, MAX_HISTORY_ENTRIES))
    text += (text && ",") + render(entry.split(FIELD_SEPARATOR));
  return text;
}

/** A transaction as `renderRecord` shows the current one. */
function renderTransaction(fields: string[], tipHeight: number): string {
  const [id, createdAt, updatedAt, hash, status, fees, height, blockTime, before, after] = fields;
  const confirmations =
    status === "Confirmed" && height ? Math.max(tipHeight - Number(height) + 1, 1) : null;
  return `{"id":"${id}","createdAt":${renderTime(Number(createdAt))},"updatedAt":${renderTime(Number(updatedAt))},"txHash":"${hash}","status":"${status}","fees":${quote(fees)},"blockHeight":${height || null},"blockTime":${blockTime || null},"previousOnChainState":${quote(before)},"newOnChainState":${quote(after)},"confirmations":${confirmations}}`;
}

function renderAction(fields: string[]): string {
  const [id, createdAt, updatedAt, requestedAction, errorType, errorNote] = fields;
  return `{"id":"${id}","createdAt":${renderTime(Number(createdAt))},"updatedAt":${renderTime(Number(updatedAt))},"requestedAction":"${requestedAction}","errorType":${quote(errorType)},"errorNote":${errorNote}}`;
}
