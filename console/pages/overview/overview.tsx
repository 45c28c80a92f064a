/** The first page: whether the service runs, how the business is, and what needs a person. */
import { FAST_POLL_INTERVAL_MS, POLL_INTERVAL_MS, useLiveData } from "../../api/live.ts";
import { callApi } from "../../api/request.ts";
import { hasAccess, keyStatus } from "../../api/session.ts";
import { Problem } from "../../ui/problem.tsx";
import { changeQuery, network, pageHref } from "../../ui/route.ts";
import { LoadingIndicator } from "../../ui/status.tsx";
import {
  readDisputeTodos,
  readLateTodos,
  readManualActionTodos,
  readTasks,
} from "./escrow-todos.ts";
import { Figures, FiguresSkeleton } from "./figures.tsx";
import { type Health, toHealthTodos } from "./health-todos.ts";
import { Lights, LightsSkeleton } from "./lights.tsx";
import { PERIODS, type Period, readPeriod } from "./period.ts";
import { deduplicateTodos, groupTodos, type Part, type Todo } from "./todo-kinds.ts";
import { readTodos, TODO_SOURCES } from "./todo-sources.ts";
import { TodoList } from "./todos.tsx";
import { Volumes, VolumesSkeleton } from "./volumes.tsx";

/** A part of the page. If a part cannot be read, its place shows the error, and the others stay. */
interface Section {
  todos: Todo[];
  errors: string[];
  counts: Partial<Record<CountName, number>>;
}

type CountName = Part | "tasks" | "evmNetworks";
type Read = { todos: Todo[]; count: number };

async function readSection(
  name: string,
  countName: CountName | null,
  read: Promise<Read | Todo[]>,
): Promise<Section> {
  try {
    const found = await read;
    if (Array.isArray(found)) return { todos: found, errors: [], counts: {} };
    const counts = countName ? { [countName]: found.count } : {};
    return { todos: found.todos, errors: [], counts };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { todos: [], errors: [`${name}: ${why}`], counts: {} };
  }
}

async function combine(sections: Promise<Section>[]): Promise<Section> {
  const found = await Promise.all(sections);
  return {
    todos: deduplicateTodos(found.flatMap(({ todos }) => todos)),
    errors: found.flatMap(({ errors }) => errors),
    counts: Object.assign({}, ...found.map(({ counts }) => counts)),
  };
}

const readEscrowSection = (signal: AbortSignal) =>
  combine([
    readSection("Payments", null, readManualActionTodos("payment", signal)),
    readSection("Purchases", null, readManualActionTodos("purchase", signal)),
    readSection("Tasks", "tasks", readTasks(signal)),
    readSection("Disputes", null, readDisputeTodos(signal)),
    readSection("Deadlines", null, readLateTodos(signal)),
  ]);

const readListSection = (signal: AbortSignal) =>
  combine([
    ...TODO_SOURCES.filter(({ access }) => hasAccess(access)).map((source) =>
      readSection(source.title, source.part ?? null, readTodos(source, signal)),
    ),
    readSection("EVM networks", "evmNetworks", readEvmNetworks(signal)),
  ]);

async function readEvmNetworks(signal: AbortSignal): Promise<Read> {
  const { Networks } = await callApi<{ Networks: unknown[] }>(
    { method: "GET", path: "/x402/networks/available" },
    signal,
  );
  return { todos: [], count: Networks.length };
}

const TODO_HEADING_ID = "needs-a-person";

/** No link: the fragment is the route. */
function showTodos(): void {
  const heading = document.getElementById(TODO_HEADING_ID);
  heading?.scrollIntoView({ block: "start" });
  heading?.focus({ preventScroll: true });
}

/** Each part is shown as soon as it is there: what is slow keeps nobody from seeing the others. */
export function Overview() {
  const withNetwork = (name: string) => `${name} ${network.value}`;
  const period = readPeriod();
  const health = useLiveData(
    withNetwork("health"),
    (signal) => callApi<Health>({ method: "GET", path: "/health" }, signal),
    FAST_POLL_INTERVAL_MS,
  );
  const escrows = useLiveData(withNetwork("escrows"), readEscrowSection, FAST_POLL_INTERVAL_MS * 2);
  // Which lists the key may read is known a moment after a reload.
  const key = keyStatus.value;
  const lists = useLiveData(withNetwork(`lists ${key?.id}`), readListSection, POLL_INTERVAL_MS);
  const sections = [lists, escrows].flatMap(({ data }) => data ?? []);
  const isWhole = key !== null && health.data !== null && sections.length === 2;
  const hasSums = isWhole || health.error !== null;
  const listed = sections.flatMap(({ todos }) => todos);
  // The lists lead to the endpoint or the wallet itself.
  const unlisted = lists.data ? toHealthTodos(health.data?.reasons ?? [], listed) : [];
  const todos = [...listed.filter(({ isHint }) => !isHint), ...unlisted];
  return (
    <>
      <div class="title">
        <h1>Overview</h1>
        {todos.length > 0 && (
          <button type="button" class="needs" onClick={showTodos}>
            {todos.length === 1 ? "1 needs a person" : `${todos.length} need a person`}
          </button>
        )}
        <div class="tools">
          <PeriodChoice period={period} />
        </div>
      </div>
      {health.error && <Problem problem={health.error} />}
      {isWhole ? (
        <Lights
          sources={health.data?.sources.filter((one) => one.network === network.value) ?? []}
          todos={todos.filter(({ otherNetwork }) => otherNetwork === undefined)}
          counts={Object.assign({}, ...sections.map(({ counts }) => counts))}
        />
      ) : (
        <LightsSkeleton />
      )}
      {/* A browser makes few calls at once: what needs a person goes before the sums. */}
      {hasSums ? <Figures period={period} /> : <FiguresSkeleton />}
      <p class="about">
        Sales and spending are prices of escrows, before all fees. The page x402 counts payments by
        x402.
      </p>
      {hasSums ? <Volumes period={period} /> : <VolumesSkeleton />}
      <h2 class="section" id={TODO_HEADING_ID} tabIndex={-1}>
        Needs a person
      </h2>
      {sections
        .flatMap(({ errors }) => errors)
        .map((error) => (
          <Problem key={error} problem={new Error(error)} />
        ))}
      {todos.length > 0 && <TodoList groups={groupTodos(todos)} />}
      {!isWhole && !health.error && <LoadingIndicator />}
      {isWhole && todos.length === 0 && (
        <p class="empty">Nothing. All payments run by themselves.</p>
      )}
      {escrows.data && <Automation count={escrows.data.counts.tasks ?? 0} />}
    </>
  );
}

function PeriodChoice({ period }: { period: Period }) {
  return (
    <fieldset class="segments">
      <legend class="hidden">Period</legend>
      {(Object.keys(PERIODS) as Period[]).map((one) => (
        <button
          key={one}
          type="button"
          aria-pressed={one === period}
          onClick={() => changeQuery({ period: one }, true)}
        >
          {PERIODS[one].label}
        </button>
      ))}
    </fieldset>
  );
}

/** What nobody has to do. */
function Automation({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <p class="quiet">
      By itself: {count === 1 ? "1 step is" : `${count} steps are`} under way.{" "}
      <a href={pageHref("tasks")}>See the tasks</a>
    </p>
  );
}
