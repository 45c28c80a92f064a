/** Whether each part of the service runs, as a line of lights. */
import { formatDuration } from "../../ui/format.ts";
import { pageHref } from "../../ui/route.ts";
import type { SourceHealth } from "./health-todos.ts";
import { type Part, TODO_KINDS, type Todo, type TodoKind } from "./todo-kinds.ts";

const PARTS: readonly { part: Part; title: string; page: string }[] = [
  { part: "wallets", title: "Wallets", page: "wallets" },
  { part: "endpoints", title: "Endpoints", page: "webhooks" },
  { part: "settlements", title: "x402", page: "x402" },
];

function listTones(part: Part, todos: readonly Todo[]): TodoKind["tone"][] {
  return todos
    .map(({ kind }): TodoKind => TODO_KINDS[kind])
    .filter((kind) => kind.part === part)
    .map(({ tone }) => tone);
}

/** The worst tone of a part; undefined: it is well. */
function toneOf(part: Part, todos: readonly Todo[]): TodoKind["tone"] | undefined {
  const tones = listTones(part, todos);
  return tones.includes("bad") ? "bad" : tones[0];
}

/** All lights, before their colors are known. */
export function LightsSkeleton() {
  const titles = ["Chain", "Provider", ...PARTS.map(({ title }) => title), "Storage"];
  return (
    <ul class="lights" aria-hidden="true">
      {titles.map((title) => (
        <li key={title} class="light none">
          <span>
            {title} <small>…</small>
          </span>
        </li>
      ))}
    </ul>
  );
}

const TONE_WORDS = {
  bad: { one: "needs a person", many: "need a person" },
  busy: { one: "waits", many: "wait" },
} as const;

/** How many of a part have its worst tone. */
function describeTone(tone: TodoKind["tone"], part: Part, todos: readonly Todo[]): string {
  const count = listTones(part, todos).filter((one) => one === tone).length;
  return `${count} ${TONE_WORDS[tone][count === 1 ? "one" : "many"]}`;
}

export function Lights({
  sources,
  todos,
  counts,
}: {
  sources: readonly SourceHealth[];
  todos: readonly Todo[];
  /** How many of each part there are, as far as the key may see them. */
  counts: Partial<Record<Part | "evmNetworks", number>>;
}) {
  const ages = sources.map(({ lastSyncAgeMs }) => lastSyncAgeMs ?? Number.POSITIVE_INFINITY);
  const oldest = Math.max(...ages);
  const hasFailed = sources.some(({ error }) => error !== null);
  const sourceTone = toneOf("sources", todos) ?? (hasFailed ? "bad" : undefined);
  return (
    <ul class="lights" aria-label="State of the service">
      <Light
        title="Chain"
        tone={sources.length === 0 ? "busy" : sourceTone}
        text={describeSync(sources.length, oldest)}
        href={pageHref("sources")}
      />
      {sources.length > 0 && (
        <Light
          title="Provider"
          tone={hasFailed ? "bad" : undefined}
          text={hasFailed ? "fails" : "answers"}
          href={pageHref("sources")}
        />
      )}
      {PARTS.filter(({ part }) => counts[part] !== undefined).map(({ part, title, page }) => {
        const tone = toneOf(part, todos);
        const isSetUp = part !== "settlements" || counts.evmNetworks !== 0;
        const count = part === "settlements" ? "settles" : String(counts[part]);
        return (
          <Light
            key={part}
            title={title}
            tone={tone ?? (isSetUp ? "good" : "none")}
            text={tone ? describeTone(tone, part, todos) : isSetUp ? count : "not set up"}
            href={pageHref(page)}
          />
        );
      })}
      <Light
        title="Storage"
        tone={toneOf("storage", todos)}
        text={toneOf("storage", todos) ? TONE_WORDS.bad.one : "has room"}
        href={pageHref("overview")}
      />
    </ul>
  );
}

function describeSync(count: number, oldestMs: number): string {
  if (count === 0) return "no source";
  if (oldestMs === Number.POSITIVE_INFINITY) return "never read";
  return `read ${formatDuration(oldestMs)} ago`;
}

function Light({
  title,
  tone = "good",
  text,
  href,
}: {
  title: string;
  tone?: TodoKind["tone"] | "good" | "none" | undefined;
  text: string;
  href: string;
}) {
  return (
    <li>
      <a class={`light ${tone}`} href={href}>
        <span>
          {title} <small>{text}</small>
        </span>
      </a>
    </li>
  );
}
