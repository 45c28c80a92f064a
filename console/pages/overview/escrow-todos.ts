/** Escrows that need a person: what went wrong, what is disputed, and what nobody collects. */
import { callApi } from "../../api/request.ts";
import { formatRelativeTime, shortenId, toEpochMs, toSentence } from "../../ui/format.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import { network, pageHref } from "../../ui/route.ts";
import { toWords } from "../../ui/words.ts";
import { describeDispute, listEscrowsOnce } from "../disputes/disputes.ts";
import { type EscrowRow, type Funds, SIDES, type Side } from "../escrow/sides.ts";
import type { Todo, TodoKindName } from "./todo-kinds.ts";

const MINUTE_MS = 60_000;
const LIST_LIMIT = "100";

async function readEscrows(side: Side, query: Record<string, string>, signal: AbortSignal) {
  const data = await callApi<Record<string, EscrowRow[]>>(
    {
      method: "GET",
      path: `/${side}`,
      query: { network: network.value, limit: LIST_LIMIT, ...query },
    },
    signal,
  );
  return data[SIDES[side].list] ?? [];
}

const displayNameOf = (row: unknown) => textAt(row, "agentName") || shortenId(textAt(row, "id"));
const fundsOf = (side: Side, row: EscrowRow) =>
  (valueAt(row, SIDES[side].funds) as Funds[] | undefined) ?? [];

function kindOf({ onChainState, NextAction }: EscrowRow): TodoKindName {
  if (onChainState === "FundsOrDatumInvalid") return "mismatch";
  return NextAction.errorType === "InsufficientFunds" ? "unfunded" : "decision";
}

export async function readManualActionTodos(side: Side, signal: AbortSignal): Promise<Todo[]> {
  const rows = await readEscrows(side, { filterNeedsManualAction: "true" }, signal);
  return rows.map((row) => ({
    kind: kindOf(row),
    name: displayNameOf(row),
    href: pageHref(side, row.id),
    listHref: pageHref(side, "", {
      filterNeedsManualAction: "true",
      filterOnChainState: row.onChainState ?? "",
    }),
    funds: fundsOf(side, row),
    same: `${row.blockchainIdentifier} ${row.NextAction.errorNote}`,
  }));
}

interface Dispute {
  id: string;
  settleFrom: string;
  Funds: Funds[];
  Proposal: { state: string; missingSignatures: number } | null;
}

export async function readDisputeTodos(signal: AbortSignal): Promise<Todo[]> {
  const query = { network: network.value, limit: LIST_LIMIT };
  const { Disputes } = await callApi<{ Disputes: Dispute[] }>(
    { method: "GET", path: "/dispute", query },
    signal,
  );
  const open = listEscrowsOnce(Disputes).filter(
    ({ Proposal }) => !/^Settle/.test(Proposal?.state ?? ""),
  );
  return open.map((row) => ({
    kind: row.Proposal?.state === "Collecting" ? "unsigned" : "dispute",
    name: `${describeDispute(row)}, ${formatStartTime(Number(row.settleFrom))}`,
    href: pageHref("disputes", "", { on: row.id }),
    listHref: pageHref("disputes"),
    funds: row.Funds,
  }));
}

const formatStartTime = (time: number) =>
  time > Date.now()
    ? `may be settled ${formatRelativeTime(time, Date.now())}`
    : "may be settled now";

/** A refund that the service collects has come by then. */
const LATE_AFTER_MS = 15 * MINUTE_MS;

/** Rounded down: within a minute the same is requested, so that an unchanged answer is known again. */
const roundToMinute = (time: number) =>
  new Date(Math.floor(time / MINUTE_MS) * MINUTE_MS).toISOString();

/** Purchases without a result, whose refund nobody collects. */
export async function readLateTodos(signal: AbortSignal): Promise<Todo[]> {
  const query = { filterDeadlineTo: roundToMinute(Date.now() - LATE_AFTER_MS) };
  const found = await Promise.all(
    (["FundsLocked", "RefundRequested"] as const).map((state) =>
      readEscrows("purchase", { ...query, filterOnChainState: state }, signal),
    ),
  );
  return found.flat().flatMap((row) => {
    const time = toEpochMs(textAt(row, "submitResultTime"));
    if (time === null || time > Date.now() - LATE_AFTER_MS) return [];
    return {
      kind: "late",
      name: displayNameOf(row),
      href: pageHref("purchase", row.id),
      listHref: pageHref("purchase", "", { filterOnChainState: row.onChainState ?? "" }),
      funds: fundsOf("purchase", row),
      time,
      same: `${row.blockchainIdentifier} late`,
    };
  });
}

interface Task {
  id: string;
  kind: "Payment" | "Purchase";
  step: string;
  status: string;
  reason: string;
  deadline: string | null;
  failedTries: number;
}

const DEADLINE_NEAR_MS = 60 * MINUTE_MS;

/** Tasks of the network: those that failed and whose deadline is near, and how many there are. */
export async function readTasks(signal: AbortSignal): Promise<{ todos: Todo[]; count: number }> {
  const query = { network: network.value, limit: LIST_LIMIT };
  const { Tasks } = await callApi<{ Tasks: Task[] }>(
    { method: "GET", path: "/task", query },
    signal,
  );
  const todos = Tasks.flatMap(
    ({ id, kind, step, status, reason, deadline, failedTries }): Todo[] => {
      const time = toEpochMs(deadline) ?? Number.POSITIVE_INFINITY;
      if (status === "NeedsPerson" || failedTries === 0 || time > Date.now() + DEADLINE_NEAR_MS)
        return [];
      return [
        {
          kind: "task",
          name: `${toWords(step).toLowerCase()} ${formatRelativeTime(time, Date.now())}`,
          href: pageHref(kind.toLowerCase(), id),
          listHref: pageHref("tasks"),
          advice: toSentence(reason),
          time,
        },
      ];
    },
  );
  return { todos, count: Tasks.filter(({ status }) => status !== "NeedsPerson").length };
}
