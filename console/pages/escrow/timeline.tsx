/** What happened to an escrow, what was missed, and what is ahead, told apart. */
import { formatDate, formatRelativeTime, toEpochMs } from "../../ui/format.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import { Code } from "../../ui/value.tsx";
import { toWords } from "../../ui/words.ts";
import type { EscrowRow } from "./sides.ts";
import { toSeconds, transactionsOf } from "./transactions.ts";

interface TimelineEntry {
  time: number;
  what: string;
  note?: string;
  txHash?: string;
  isBad?: boolean;
}

function listPast(row: EscrowRow): TimelineEntry[] {
  const actions = (valueAt(row, "ActionHistory") as unknown[] | undefined) ?? [];
  const entries: (Omit<TimelineEntry, "time"> & { time: number | null })[] = [
    ...transactionsOf(row).map(({ state, status, ...rest }) => ({
      ...rest,
      what: toWords(state || "Transaction"),
      note: status === "Confirmed" ? "" : toWords(status),
    })),
    ...actions.map((one) => ({
      time: toEpochMs(textAt(one, "createdAt")),
      what: toWords(textAt(one, "requestedAction")),
      note: textAt(one, "errorNote"),
      isBad: textAt(one, "errorType") !== "",
    })),
    { time: toEpochMs(textAt(row, "createdAt")), what: "Recorded here" },
  ];
  return entries
    .filter((one): one is TimelineEntry => one.time !== null)
    .sort((a, b) => toSeconds(b.time) - toSeconds(a.time));
}

/** Times of the contract: what each is for, and whether it was met; undefined: it cannot be missed. */
const TIMES: readonly {
  path: string;
  what: string;
  isMet?: (row: EscrowRow) => boolean;
}[] = [
  {
    path: "payByTime",
    what: "Last time to lock the price",
    isMet: (row) => row.onChainState !== null,
  },
  {
    path: "submitResultTime",
    what: "Last time to submit the result",
    isMet: (row) => row.onChainState === "Disputed" || textAt(row, "resultHash") !== "",
  },
  { path: "unlockTime", what: "The seller may collect the payout" },
  { path: "externalDisputeUnlockTime", what: "Administrators may settle a dispute" },
];

/** Of an escrow that is over, nothing is ahead. */
function listTimes(row: EscrowRow, now: number) {
  const isOver =
    row.NextAction.requestedAction === "None" && /^$|Withdrawn$/.test(row.onChainState ?? "");
  const times = TIMES.flatMap(({ path, what, isMet }) => {
    const time = toEpochMs(textAt(row, path));
    return time === null || (time > now && isMet?.(row))
      ? []
      : [{ time, what, isMissed: isMet?.(row) === false }];
  });
  return {
    ahead: isOver ? [] : times.filter(({ time }) => time > now),
    missed: times.filter(({ time, isMissed }) => time <= now && isMissed),
  };
}

export function Timeline({ row, now }: { row: EscrowRow; now: number }) {
  const { ahead, missed } = listTimes(row, now);
  const parts = [
    ["Ahead", ahead.sort((a, b) => a.time - b.time), "future"],
    ["Missed", missed, "bad"],
    ["Happened", listPast(row), ""],
  ] as const;
  return (
    <>
      {parts.map(([title, entries, tone]) => (
        <Entries key={title} title={title} entries={entries} tone={tone} now={now} />
      ))}
    </>
  );
}

function Entries({
  title,
  entries,
  tone,
  now,
}: {
  title: string;
  entries: readonly TimelineEntry[];
  tone: string;
  now: number;
}) {
  if (entries.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ol class="timeline">
        {entries.map(({ time, what, note, txHash, isBad }) => (
          <li key={`${time} ${what} ${txHash ?? ""}`} class={isBad ? "bad" : tone}>
            <div>{what}</div>
            <small>
              {formatRelativeTime(time, now)} · {formatDate(time)}
              {note && ` · ${note}`}
            </small>
            {txHash && <Code text={txHash} explore="tx" />}
          </li>
        ))}
      </ol>
    </>
  );
}
