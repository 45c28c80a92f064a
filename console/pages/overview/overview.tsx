/** What needs a person, first; then whether money moves. */
import { FAST_POLL_INTERVAL_MS, POLL_INTERVAL_MS, useLiveData } from "../../api/live.ts";
import { callApi } from "../../api/request.ts";
import { hasAccess } from "../../api/session.ts";
import { Problem } from "../../ui/action-dialog.tsx";
import { formatDuration } from "../../ui/format.ts";
import { network, pageHref } from "../../ui/route.ts";
import { LoadingIndicator } from "../../ui/status.tsx";
import { clock } from "../../ui/value.tsx";
import {
  readDeadlineTodos,
  readDisputeTodos,
  readManualActionTodos,
  readTaskTodos,
} from "./escrow-todos.ts";
import { MoneyTotals } from "./money.tsx";
import { deduplicateTodos, readTodos, TODO_SOURCES, type Todo } from "./todo-sources.ts";
import { Volumes } from "./volumes.tsx";

interface Health {
  status: "ok" | "degraded";
  reasons: { kind: string; count: number; text?: string }[];
  sources: { id: string; network: string; lastSyncAgeMs: number | null; error: string | null }[];
}

/** A part of the page. If a part cannot be read, its place shows the error, and the others stay. */
interface TodoPart {
  todos: Todo[];
  error: string | null;
}

async function readTodoPart(name: string, read: Promise<Todo[]>): Promise<TodoPart> {
  try {
    return { todos: await read, error: null };
  } catch (error) {
    return { todos: [], error: `${name}: ${error instanceof Error ? error.message : error}` };
  }
}

interface TodoGroup {
  todos: Todo[];
  errors: string[];
}

async function combineTodoParts(parts: Promise<TodoPart>[]): Promise<TodoGroup> {
  const found = await Promise.all(parts);
  return {
    todos: deduplicateTodos(found.flatMap(({ todos }) => todos)),
    errors: found.flatMap(({ error }) => error ?? []),
  };
}

const readEscrowTodos = (signal: AbortSignal) =>
  combineTodoParts([
    readTodoPart("Payments", readManualActionTodos("payment", signal)),
    readTodoPart("Purchases", readManualActionTodos("purchase", signal)),
    readTodoPart("Tasks", readTaskTodos(signal)),
    readTodoPart("Disputes", readDisputeTodos(signal)),
    readTodoPart("Deadlines", readDeadlineTodos(signal)),
  ]);

const readListTodos = (signal: AbortSignal) =>
  combineTodoParts(
    TODO_SOURCES.filter(({ access: needs }) => hasAccess(needs)).map((trouble) =>
      readTodoPart(trouble.title, readTodos(trouble, signal)),
    ),
  );

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
  DATABASE_NEARLY_FULL: "Make room before the database is full: docs/operating.md says how.",
  DATABASE_FULL:
    "The database refuses writes, and only reads go on: make room as docs/operating.md says.",
};

/** Each part is shown as soon as it is there: what is slow keeps nobody from seeing the others. */
export function Overview() {
  const withNetwork = (name: string) => `${name} ${network.value}`;
  const health = useLiveData(
    withNetwork("health"),
    (signal) => callApi<Health>({ method: "GET", path: "/health" }, signal),
    FAST_POLL_INTERVAL_MS,
  );
  const escrows = useLiveData(withNetwork("escrows"), readEscrowTodos, FAST_POLL_INTERVAL_MS * 2);
  const troubles = useLiveData(withNetwork("troubles"), readListTodos, POLL_INTERVAL_MS);
  const parts = [troubles, escrows].flatMap(({ data }) => data ?? []);
  const isWhole = health.data !== null && parts.length === 2;
  const sources = health.data?.sources.filter((one) => one.network === network.value) ?? [];
  return (
    <>
      <h1>Overview</h1>
      {health.error && <Problem problem={health.error} />}
      <h2>Needs a person</h2>
      {!isWhole && !health.error && <LoadingIndicator />}
      {parts
        .flatMap(({ errors }) => errors)
        .map((error) => (
          <Problem key={error} problem={new Error(error)} />
        ))}
      <Todos
        isWhole={isWhole}
        todos={[
          ...(health.data?.reasons ?? []).map(toHealthTodo),
          ...parts.flatMap(({ todos }) => todos),
        ]}
      />
      <SyncStatus sources={sources} />
      {/* A browser makes few calls at once: what needs a person goes before the sums. */}
      {(isWhole || health.error) && (
        <>
          <Volumes />
          <MoneyTotals />
        </>
      )}
    </>
  );
}

const HEALTH_PAGES: Record<string, string> = {
  SOURCE_STUCK: "sources",
  ENDPOINT_DISABLED: "webhooks",
};

function toHealthTodo({ kind, count, text }: Health["reasons"][number]): Todo {
  return {
    isBad: true,
    what: `${kind}: ${count}`,
    todo: [text, HEALTH_TODOS[kind] ?? "docs/operating.md says what to do."].join(" ").trim(),
    href: pageHref(HEALTH_PAGES[kind] ?? "wallets"),
  };
}

/** So many stand on the first page; the lists have the others. */
const MAX_TODOS = 12;
const MANUAL_ACTION_QUERY = { filterNeedsManualAction: "true" };

function Todos({ todos, isWhole }: { todos: readonly Todo[]; isWhole: boolean }) {
  if (todos.length === 0)
    return isWhole ? <p class="empty">Nothing: all payments are automatic.</p> : null;
  const rest = todos.length - MAX_TODOS;
  return (
    <ul class="todo">
      {todos.slice(0, MAX_TODOS).map(({ what, todo, href, isBad }) => (
        <li key={`${href} ${what.split(": ")[0]}`} class={isBad ? "bad" : ""}>
          <a href={href}>{what}</a>
          <p>{todo}</p>
        </li>
      ))}
      {rest > 0 && (
        <li>
          … and {rest} more. <a href={pageHref("payment", "", MANUAL_ACTION_QUERY)}>Payments</a> and{" "}
          <a href={pageHref("purchase", "", MANUAL_ACTION_QUERY)}>purchases</a> that a person has to
          decide on, <a href={pageHref("disputes")}>disputes</a>,{" "}
          <a href={pageHref("tasks")}>tasks</a>.
        </li>
      )}
    </ul>
  );
}

function SyncStatus({ sources }: { sources: Health["sources"] }) {
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
            {lastSyncAgeMs === null ? "never read" : `read ${formatDuration(lastSyncAgeMs)} ago`}
            {error && `: ${error}`}
          </li>
        ))}
      </ul>
    </>
  );
}
