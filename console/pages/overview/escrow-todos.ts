/** Escrows that need a person: what went wrong, what is disputed, and what has to be done in time. */
import { callApi } from "../../api/request.ts";
import { formatRelativeTime, splitWords, toEpochMs } from "../../ui/format.ts";
import { textAt } from "../../ui/path.ts";
import { network, pageHref } from "../../ui/route.ts";
import { type EscrowRow, SIDES, type Side } from "../escrow/sides.ts";
import type { Todo } from "./todo-sources.ts";

const HOUR_MS = 3_600_000;
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

function describeError({ NextAction: { errorType } }: EscrowRow): string {
  return errorType === null || errorType === "Unknown" ? "a person has to decide" : errorType;
}

const displayNameOf = (row: EscrowRow) => textAt(row, "agentName") || row.id;

export async function readManualActionTodos(side: Side, signal: AbortSignal): Promise<Todo[]> {
  const rows = await readEscrows(side, { filterNeedsManualAction: "true" }, signal);
  return rows.map((row) => ({
    isBad: true,
    what: `${side === "payment" ? "Payment" : "Purchase"} ${displayNameOf(row)}: ${describeError(row)}`,
    todo: row.NextAction.errorNote ?? "Open it: what happens next, and what can be done, is there.",
    href: pageHref(side, row.id),
    same: `${row.blockchainIdentifier} ${row.NextAction.errorNote}`,
  }));
}

interface Dispute {
  id: string;
  kind: "Payment" | "Purchase";
  blockchainIdentifier: string;
  settleFrom: string;
  Proposal: { state: string; missingSignatures: number } | null;
}

export async function readDisputeTodos(signal: AbortSignal): Promise<Todo[]> {
  const query = { network: network.value, limit: LIST_LIMIT };
  const { Disputes } = await callApi<{ Disputes: Dispute[] }>(
    { method: "GET", path: "/dispute", query },
    signal,
  );
  return Disputes.map(({ id, kind, blockchainIdentifier, settleFrom, Proposal }) => {
    const isSigning = Proposal?.state === "Collecting";
    return {
      isBad: true,
      what: isSigning
        ? `A dispute is not signed: ${kind.toLowerCase()} ${id} lacks ${Proposal.missingSignatures}`
        : `Dispute: ${kind.toLowerCase()} ${id}`,
      todo: `${isSigning ? "Have administrators sign the proposal" : "Propose a split, or have either side give in"}. It may be settled ${formatStartTime(Number(settleFrom))}.`,
      href: pageHref("disputes", "", { on: id }),
      same: `${blockchainIdentifier} disputed`,
    };
  });
}

const formatStartTime = (time: number) =>
  time > Date.now() ? formatRelativeTime(time, Date.now()) : "now";

/** Of each side, what has to be done in a state, the time by which, and what comes of a missed one. */
const DEADLINES = [
  ...(["FundsLocked", "RefundRequested"] as const).flatMap((state) => [
    {
      side: "payment" as const,
      state,
      path: "submitResultTime",
      todo: "Submit the result, or the buyer gets the money back.",
      missed: "The result was not submitted in time: the buyer gets the money back.",
    },
    {
      side: "purchase" as const,
      state,
      path: "submitResultTime",
      todo: null,
      missed:
        "The seller has missed its deadline. The refund is automatic, unless the wallet's drives are nothing.",
    },
  ]),
  {
    side: "purchase" as const,
    state: "ResultSubmitted",
    path: "unlockTime",
    todo: "Dispute the result before then, if it is no good.",
    missed: null,
  },
];

/** Rounded down: within a minute the same is asked for, so that an unchanged answer is known again. */
const roundToMinute = (time: number) =>
  new Date(Math.floor(time / MINUTE_MS) * MINUTE_MS).toISOString();

/** Only what is due within the hour, or was missed, is asked for. */
export async function readDeadlineTodos(signal: AbortSignal): Promise<Todo[]> {
  const now = Date.now();
  const found = await Promise.all(
    DEADLINES.map(async ({ side, state, path, todo, missed }) => {
      const query = {
        filterOnChainState: state,
        filterDeadlineFrom: missed === null ? roundToMinute(now) : "",
        filterDeadlineTo: roundToMinute((todo === null ? now : now + HOUR_MS) + MINUTE_MS),
      };
      const rows = await readEscrows(side, query, signal);
      return rows.flatMap((row) => {
        const time = toEpochMs(textAt(row, path));
        if (time === null || time > now + HOUR_MS) return [];
        const [what, does] =
          time < now ? ["missed its deadline", missed] : [formatRelativeTime(time, now), todo];
        if (does === null) return [];
        const title = `${side === "payment" ? "Payment" : "Purchase"} ${displayNameOf(row)}: ${what}`;
        const same = time < now ? { same: `${row.blockchainIdentifier} late` } : {};
        return [{ time, what: title, todo: does, href: pageHref(side, row.id), ...same }];
      });
    }),
  );
  // What is still to be done in time stands before what is too late.
  const isLate = (time: number) => Number(time < now);
  return found.flat().sort((a, b) => isLate(a.time) - isLate(b.time) || a.time - b.time);
}

interface Task {
  id: string;
  kind: "Payment" | "Purchase";
  step: string;
  status: string;
  reason: string;
  deadline: string | null;
}

/** Steps of managed wallets that need a person's decision, or whose deadline is near. */
export async function readTaskTodos(signal: AbortSignal): Promise<Todo[]> {
  const query = { network: network.value, limit: LIST_LIMIT };
  const { Tasks } = await callApi<{ Tasks: Task[] }>(
    { method: "GET", path: "/task", query },
    signal,
  );
  return Tasks.flatMap(({ id, kind, step, status, reason, deadline }) => {
    const time = toEpochMs(deadline) ?? Number.POSITIVE_INFINITY;
    if (status === "NeedsPerson" || time > Date.now() + HOUR_MS) return [];
    const href = pageHref(kind.toLowerCase(), id);
    const what = `${kind} ${id}: ${splitWords(step)} ${formatRelativeTime(time, Date.now())}`;
    return [{ what, todo: `It is not done yet: ${reason}.`, href }];
  });
}
