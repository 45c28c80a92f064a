/** What happened to an escrow, and the deadlines that are ahead, by time. */
import { formatDate, formatRelativeTime, splitWords, toEpochMs } from "../../ui/format.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import { Code } from "../../ui/value.tsx";
import type { EscrowRow } from "./sides.ts";

const DEADLINES = [
  ["payByTime", "Last time to lock funds"],
  ["submitResultTime", "Last time to submit the result"],
  ["unlockTime", "The seller may withdraw from here"],
  ["externalDisputeUnlockTime", "A dispute may be settled from here"],
] as const;

interface TimelineEntry {
  time: number;
  what: string;
  note?: string;
  txHash?: string;
  isBad?: boolean;
}

/** An escrow that is over has no deadline ahead. */
function timelineEntriesOf(row: EscrowRow, now: number): TimelineEntry[] {
  const isOver =
    row.NextAction.requestedAction === "None" && /^$|Withdrawn$/.test(row.onChainState ?? "");
  const listAt = (path: string) => (valueAt(row, path) as unknown[] | undefined) ?? [];
  const current = valueAt(row, "CurrentTransaction");
  const transactions = [...(current ? [current] : []), ...listAt("TransactionHistory")];
  const entries: (Omit<TimelineEntry, "time"> & { time: number | null })[] = [
    { time: toEpochMs(textAt(row, "createdAt")), what: "The record was made" },
    ...transactions.map((one) => ({
      time: Number(textAt(one, "blockTime")) * 1_000 || toEpochMs(textAt(one, "createdAt")),
      what: splitWords(textAt(one, "newOnChainState") || "Transaction"),
      note: splitWords(textAt(one, "status")),
      txHash: textAt(one, "txHash"),
      isBad: /Failed|RolledBack/.test(textAt(one, "status")),
    })),
    ...listAt("ActionHistory").map((one) => ({
      time: toEpochMs(textAt(one, "createdAt")),
      what: splitWords(textAt(one, "requestedAction")),
      note: textAt(one, "errorNote"),
      isBad: textAt(one, "errorType") !== "",
    })),
    {
      time: toEpochMs(textAt(row, "nextActionLastChangedAt")),
      what: splitWords(row.NextAction.requestedAction),
      note: row.NextAction.errorNote ?? "",
      isBad: row.NextAction.errorType !== null,
    },
    ...DEADLINES.map(([path, what]) => ({ time: toEpochMs(textAt(row, path)), what })).filter(
      ({ time }) => !isOver || Number(time) < now,
    ),
  ];
  return entries
    .filter((one): one is TimelineEntry => one.time !== null)
    .sort((a, b) => a.time - b.time);
}

export function Timeline({ row, now }: { row: EscrowRow; now: number }) {
  return (
    <ol class="timeline">
      {timelineEntriesOf(row, now).map(({ time, what, note, txHash, isBad }) => (
        <li
          key={`${time} ${what} ${txHash ?? ""}`}
          class={`${time > now ? "future" : ""} ${isBad ? "bad" : ""}`}
        >
          <div>{what}</div>
          <small>
            {formatDate(time)} ({formatRelativeTime(time, now)}){note && ` · ${note}`}
          </small>
          {txHash && (
            <div>
              <Code text={txHash} />
            </div>
          )}
        </li>
      ))}
    </ol>
  );
}
