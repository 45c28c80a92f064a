/** What happened to an escrow, and the deadlines that are ahead, by time. */
import { dateText, distanceText, timeOf, words } from "../../ui/format.ts";
import { at, textAt } from "../../ui/path.ts";
import { Code } from "../../ui/value.tsx";
import type { EscrowRow } from "./sides.ts";

const DEADLINES = [
  ["payByTime", "Last time to lock funds"],
  ["submitResultTime", "Last time to submit the result"],
  ["unlockTime", "The seller may withdraw from here"],
  ["externalDisputeUnlockTime", "A dispute may be settled from here"],
] as const;

interface Entry {
  time: number;
  what: string;
  note?: string;
  txHash?: string;
  isBad?: boolean;
}

/** An escrow that is over has no deadline ahead. */
function entriesOf(row: EscrowRow, now: number): Entry[] {
  const isOver =
    row.NextAction.requestedAction === "None" && /^$|Withdrawn$/.test(row.onChainState ?? "");
  const list = (path: string) => (at(row, path) as unknown[] | undefined) ?? [];
  const current = at(row, "CurrentTransaction");
  const transactions = [...(current ? [current] : []), ...list("TransactionHistory")];
  const entries: (Omit<Entry, "time"> & { time: number | null })[] = [
    { time: timeOf(textAt(row, "createdAt")), what: "The record was made" },
    ...transactions.map((one) => ({
      time: Number(textAt(one, "blockTime")) * 1_000 || timeOf(textAt(one, "createdAt")),
      what: words(textAt(one, "newOnChainState") || "Transaction"),
      note: words(textAt(one, "status")),
      txHash: textAt(one, "txHash"),
      isBad: /Failed|RolledBack/.test(textAt(one, "status")),
    })),
    ...list("ActionHistory").map((one) => ({
      time: timeOf(textAt(one, "createdAt")),
      what: words(textAt(one, "requestedAction")),
      note: textAt(one, "errorNote"),
      isBad: textAt(one, "errorType") !== "",
    })),
    {
      time: timeOf(textAt(row, "nextActionLastChangedAt")),
      what: words(row.NextAction.requestedAction),
      note: row.NextAction.errorNote ?? "",
      isBad: row.NextAction.errorType !== null,
    },
    ...DEADLINES.map(([path, what]) => ({ time: timeOf(textAt(row, path)), what })).filter(
      ({ time }) => !isOver || Number(time) < now,
    ),
  ];
  return entries.filter((one): one is Entry => one.time !== null).sort((a, b) => a.time - b.time);
}

export function Timeline({ row, now }: { row: EscrowRow; now: number }) {
  return (
    <ol class="timeline">
      {entriesOf(row, now).map(({ time, what, note, txHash, isBad }) => (
        <li
          key={`${time} ${what} ${txHash ?? ""}`}
          class={`${time > now ? "future" : ""} ${isBad ? "bad" : ""}`}
        >
          <div>{what}</div>
          <small>
            {dateText(time)} ({distanceText(time, now)}){note && ` · ${note}`}
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
