/** Lists that are searched for what needs a person. */
import { callApi } from "../../api/request.ts";
import { type Access, hasAccess } from "../../api/session.ts";
import { formatRelativeTime, shortenId, toEpochMs, toSentence } from "../../ui/format.ts";
import { arrayAt, textAt, valueAt } from "../../ui/path.ts";
import { network, pageHref, rowHref } from "../../ui/route.ts";
import { toWords } from "../../ui/words.ts";
import { type Part, TODO_KINDS, type Todo } from "./todo-kinds.ts";
import { toWalletTodo } from "./wallet-todo.ts";

/** Rows by the member of an answer that has them. */
type Lists = Readonly<Record<string, readonly unknown[]>>;

interface TodoSource {
  title: string;
  /** Its light shows how many rows there are. */
  part?: Part;
  access: Access;
  path: string;
  rowsMember: string;
  query: Readonly<Record<string, string>>;
  /** Lists that tell more of some rows. */
  also?: {
    access: Access;
    isNeeded: (row: unknown) => boolean;
    paths: readonly string[];
  };
  /** Null for a row that is well. @param lists - all that was read, by the member that has the rows */
  toTodo: (row: unknown, lists: Lists) => Todo | null;
}

const UNSETTLED_MIN_AGE_MS = 5 * 60_000;
/** A source that says no error lags after so long without a read. */
const SOURCE_MAX_LAG_MS = 15 * 60_000;

/** @param tab - of the page of sources */
function toSourceTodo(
  row: unknown,
  kind: "source" | "registry",
  name: string,
  tab?: string,
): Todo | null {
  const href = rowHref(row, "sources", { tab, on: textAt(row, "id") });
  const about = { name, href, listHref: rowHref(row, "sources", { tab }) };
  const error = textAt(row, "error");
  if (error !== "")
    return { kind, ...about, advice: `${error}. Check its provider key and quota.` };
  const [outage] = arrayAt(row, "RpcProviderOutages");
  if (outage) {
    const advice = `${toSentence(textAt(outage, "reason"))} The next provider is used meanwhile.`;
    // No list has the sources of both kinds.
    return { kind: "provider", name, href, advice, isHint: true };
  }
  const readAt = toEpochMs(textAt(row, "lastCheckedAt"));
  if (readAt === null || readAt > Date.now() - SOURCE_MAX_LAG_MS) return null;
  const advice = `The last read was ${formatRelativeTime(readAt, Date.now())}.`;
  return { kind, ...about, advice, isHint: true };
}

export const TODO_SOURCES: readonly TodoSource[] = [
  {
    title: "Wallets",
    part: "wallets",
    access: "+PAY",
    path: "/wallet/list",
    rowsMember: "Wallets",
    query: { limit: "100" },
    also: {
      access: "Admin",
      isNeeded: (row) => arrayAt(row, "Missing").length > 0,
      paths: ["/wallet/top-up", "/wallet/transfer-funds"],
    },
    toTodo: toWalletTodo,
  },
  {
    title: "Sources",
    access: "Admin",
    path: "/payment-source-extended",
    rowsMember: "ExtendedPaymentSources",
    query: { limit: "100" },
    toTodo: (row) => toSourceTodo(row, "source", toWords(textAt(row, "paymentSourceType"))),
  },
  {
    title: "Registry sources",
    access: "Admin",
    path: "/registry-source",
    rowsMember: "sources",
    query: { limit: "100" },
    toTodo: (row) => {
      const name = textAt(row, "note") || shortenId(textAt(row, "policyId"));
      return toSourceTodo(row, "registry", name, "registry");
    },
  },
  {
    title: "Endpoints",
    part: "endpoints",
    access: "+PAY",
    path: "/webhooks",
    rowsMember: "Webhooks",
    query: { limit: "50" },
    toTodo: (row) => {
      if (!valueAt(row, "disabledAt")) return null;
      return {
        kind: "endpoint",
        name: textAt(row, "name") || textAt(row, "url"),
        href: pageHref("webhooks", "", { on: textAt(row, "id") }),
        listHref: pageHref("webhooks"),
        advice: `${toSentence(textAt(row, "disabledReason"))} ${TODO_KINDS.endpoint.advice}`,
      };
    },
  },
  {
    title: "Settlements",
    part: "settlements",
    access: "+PAY",
    path: "/x402/payments",
    rowsMember: "PaymentAttempts",
    query: { take: "100", direction: "InboundSettle", status: "Verified" },
    toTodo: (row) => {
      const age = Date.now() - Date.parse(textAt(row, "createdAt"));
      if (age < UNSETTLED_MIN_AGE_MS || valueAt(row, "Settlement")) return null;
      return {
        kind: "unsettled",
        name: textAt(row, "resource") || shortenId(textAt(row, "id")),
        href: pageHref("x402", "", { on: textAt(row, "id") }),
        listHref: pageHref("x402"),
      };
    },
  },
];

const isHere = (row: unknown) => ["", network.value].includes(textAt(row, "network"));

/** What is wrong with the rows. A problem of another network is a hint, and names the network. */
export function listTodos({ rowsMember, toTodo }: TodoSource, lists: Lists): Todo[] {
  return (lists[rowsMember] ?? []).flatMap((row) => {
    const todo = toTodo(row, lists);
    if (todo === null || isHere(row)) return todo ?? [];
    const otherNetwork = textAt(row, "network");
    return { ...todo, name: `${todo.name} on ${otherNetwork}`, isHint: true, otherNetwork };
  });
}

/** What is wrong with the rows of a list, and how many rows the network has. */
export async function readTodos(
  source: TodoSource,
  signal: AbortSignal,
): Promise<{ todos: Todo[]; count: number }> {
  const { path, query, rowsMember, also } = source;
  const read = (path: string) =>
    callApi<Record<string, unknown[]>>({ method: "GET", path, query }, signal);
  const data = await read(path);
  const rows = data[rowsMember] ?? [];
  const isMore = also && hasAccess(also.access) && rows.some(also.isNeeded);
  const more = isMore ? await Promise.all(also.paths.map(read)) : [];
  return {
    todos: listTodos(source, Object.assign({}, data, ...more)),
    count: rows.filter(isHere).length,
  };
}
