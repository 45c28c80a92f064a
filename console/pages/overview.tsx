/** What needs a person, first; then whether money moves. */
import { OFTEN_MS, useLive } from "../api/live.ts";
import { call } from "../api/request.ts";
import { may } from "../api/session.ts";
import { Problem } from "../ui/action-dialog.tsx";
import { distanceText, spanText, timeOf } from "../ui/format.ts";
import { Reading } from "../ui/list.tsx";
import { textAt } from "../ui/path.ts";
import { network, pageHref } from "../ui/route.ts";
import { clock } from "../ui/value.tsx";
import { type EscrowRow, SIDES, type Side } from "./escrow-sides.ts";
import { FirstRun } from "./first-run.tsx";
import { type Todo, TROUBLES, troublesOf } from "./troubles.ts";
import { Volumes } from "./volumes.tsx";

interface Health {
  status: "ok" | "degraded";
  reasons: { kind: string; count: number }[];
  sources: { id: string; network: string; lastSyncAgeMs: number | null; error: string | null }[];
}

const HOUR_MS = 3_600_000;
const MOST = "100";

async function escrows(side: Side, query: Record<string, string>, signal: AbortSignal) {
  const data = await call<Record<string, EscrowRow[]>>(
    {
      method: "GET",
      path: `/${side}`,
      query: { network: network.value, limit: MOST, ...query },
    },
    signal,
  );
  return data[SIDES[side].list] ?? [];
}

const name = (row: EscrowRow) => textAt(row, "agentName") || row.id;

async function needsPerson(side: Side, signal: AbortSignal): Promise<Todo[]> {
  const rows = await escrows(side, { filterNeedsManualAction: "true" }, signal);
  return rows.map((row) => ({
    isBad: true,
    what: `${side === "payment" ? "Payment" : "Purchase"} ${name(row)}: ${row.NextAction.errorType ?? "a person has to decide"}`,
    todo: row.NextAction.errorNote ?? "Open it: what happens next, and what can be done, is there.",
    href: pageHref(side, row.id),
  }));
}

async function disputes(side: Side, signal: AbortSignal): Promise<Todo[]> {
  const rows = await escrows(side, { filterOnChainState: "Disputed" }, signal);
  return rows.map((row) => {
    const from = timeOf(textAt(row, "externalDisputeUnlockTime"));
    const when = from === null ? "" : ` Administrators may settle it ${soon(from)}.`;
    return {
      isBad: true,
      what: `Dispute: ${side} ${name(row)}`,
      todo: `Either side can give in.${when}`,
      href: pageHref(side, row.id),
    };
  });
}

const soon = (time: number) => (time > Date.now() ? distanceText(time, Date.now()) : "now");

/** Of each side, what has to be done in a state, and the time by which. */
const DEADLINES = [
  [
    "payment",
    "FundsLocked",
    "submitResultTime",
    "Submit the result, or the buyer gets the money back.",
  ],
  [
    "payment",
    "RefundRequested",
    "submitResultTime",
    "Submit the result, or the buyer gets the money back.",
  ],
  [
    "purchase",
    "ResultSubmitted",
    "unlockTime",
    "Dispute the result before then, if it is no good.",
  ],
] as const;

async function deadlines(signal: AbortSignal): Promise<Todo[]> {
  const now = Date.now();
  const found = await Promise.all(
    DEADLINES.map(async ([side, filterOnChainState, path, todo]) => {
      const rows = await escrows(side, { filterOnChainState }, signal);
      return rows.flatMap((row) => {
        const time = timeOf(textAt(row, path));
        if (time === null || time < now || time > now + HOUR_MS) return [];
        const what = `${side === "payment" ? "Payment" : "Purchase"} ${name(row)}: ${distanceText(time, now)}`;
        return [{ time, what, todo, href: pageHref(side, row.id) }];
      });
    }),
  );
  return found.flat().sort((a, b) => a.time - b.time);
}

/** A part that cannot be read is told of, and hides no other. */
interface Part {
  todos: Todo[];
  error: string | null;
}

async function part(name: string, read: Promise<Todo[]>): Promise<Part> {
  try {
    return { todos: await read, error: null };
  } catch (error) {
    return { todos: [], error: `${name}: ${error instanceof Error ? error.message : error}` };
  }
}

async function readAll(signal: AbortSignal) {
  const health = await call<Health>({ method: "GET", path: "/health" }, signal);
  const lists = TROUBLES.filter(({ needs }) => may(needs)).map((trouble) =>
    part(trouble.title, troublesOf(trouble, signal)),
  );
  const parts = await Promise.all([
    part("Payments", needsPerson("payment", signal)),
    part("Purchases", needsPerson("purchase", signal)),
    part("Disputes", disputes("payment", signal)),
    part("Disputes", disputes("purchase", signal)),
    part("Deadlines", deadlines(signal)),
    ...lists,
  ]);
  return {
    health,
    todos: parts.flatMap(({ todos }) => todos),
    errors: parts.flatMap(({ error }) => error ?? []),
  };
}

/** What `/health` tells of what the lists below do not show. */
const HEALTH_TODOS: Record<string, string> = {
  SOURCE_STUCK:
    "A source was not read for too long: see Sources for its error; most often it is the provider's key or its quota.",
  WALLET_STUCK:
    "A wallet cannot go on: see Wallets for what it lacks or who spends from it elsewhere.",
  ENDPOINT_DISABLED:
    "An endpoint was disabled: mend the receiver, test it, revive it and replay what it missed.",
  QUEUE_DEAD:
    "Messages were given up: the service's log has the reason; what they were about is done by the next cron run.",
};

export function Overview() {
  const live = useLive(`overview ${network.value}`, readAll, OFTEN_MS * 2);
  const data = live.data;
  return (
    <>
      <h1>Overview</h1>
      {live.error && <Problem problem={live.error} />}
      {data === null && live.error === null && <Reading />}
      {data && (
        <>
          <FirstRun hasSource={data.health.sources.some((one) => one.network === network.value)} />
          <h2>Needs a person</h2>
          {data.errors.map((error) => (
            <Problem key={error} problem={new Error(error)} />
          ))}
          <Todos
            todos={[
              ...data.health.reasons.map(({ kind, count }) => ({
                isBad: true,
                what: `${kind}: ${count}`,
                todo: HEALTH_TODOS[kind] ?? "docs/operating.md says what to do.",
                href: pageHref(
                  kind === "SOURCE_STUCK"
                    ? "sources"
                    : kind === "ENDPOINT_DISABLED"
                      ? "webhooks"
                      : "wallets",
                ),
              })),
              ...data.todos,
            ]}
          />
          <Sources sources={data.health.sources.filter((one) => one.network === network.value)} />
        </>
      )}
      <Volumes />
    </>
  );
}

function Todos({ todos }: { todos: readonly Todo[] }) {
  if (todos.length === 0) return <p class="empty">Nothing: money moves by itself.</p>;
  return (
    <ul class="todo">
      {todos.map(({ what, todo, href, isBad }) => (
        <li key={`${href} ${what.split(": ")[0]}`} class={isBad ? "bad" : ""}>
          <a href={href}>{what}</a>
          <p>{todo}</p>
        </li>
      ))}
    </ul>
  );
}

function Sources({ sources }: { sources: Health["sources"] }) {
  // Ages are of the moment of the answer: they are shown again with each.
  void clock.value;
  if (sources.length === 0) return null;
  return (
    <>
      <h3>Sync</h3>
      <ul>
        {sources.map(({ id, lastSyncAgeMs, error }) => (
          <li key={id}>
            <a href={pageHref("sources", "", { on: id })}>{id}</a>:{" "}
            {lastSyncAgeMs === null ? "never read" : `read ${spanText(lastSyncAgeMs)} ago`}
            {error && `: ${error}`}
          </li>
        ))}
      </ul>
    </>
  );
}
