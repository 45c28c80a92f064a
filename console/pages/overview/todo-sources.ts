/** Lists that are searched for what needs a person, with the sentence that says what to do. */
import { callApi } from "../../api/request.ts";
import type { Access } from "../../api/session.ts";
import { formatAmount, formatUnit } from "../../ui/format.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import { network, pageHref } from "../../ui/route.ts";

/** Something that a person should look at. */
export interface Todo {
  what: string;
  /** What to do about it. */
  todo: string;
  href: string;
  isBad?: boolean;
  /** What it tells, where the other side of an escrow may tell the same. */
  same?: string;
}

/** Lists an escrow between two managed wallets once, on the buyer's side. */
export function deduplicateTodos(todos: readonly Todo[]): Todo[] {
  const last = new Map(todos.map((todo) => [todo.same, todo]));
  return todos.filter((todo) => todo.same === undefined || last.get(todo.same) === todo);
}

interface TodoSource {
  title: string;
  access: Access;
  path: string;
  rowsMember: string;
  query: Readonly<Record<string, string>>;
  /** Null for a row that is well. */
  toTodo: (row: unknown) => Todo | null;
}

const UNSETTLED_MIN_AGE_MS = 5 * 60_000;
const arrayAt = (row: unknown, path: string) =>
  (valueAt(row, path) as unknown[] | null | undefined) ?? [];

export const TODO_SOURCES: readonly TodoSource[] = [
  {
    title: "Wallets",
    access: "+PAY",
    path: "/wallet/list",
    rowsMember: "Wallets",
    query: { limit: "100" },
    toTodo: (row) => {
      if (textAt(row, "network") !== network.value) return null;
      const name = textAt(row, "note") || textAt(row, "id");
      const href = pageHref("wallets", "", { on: textAt(row, "id") });
      const [lack] = arrayAt(row, "Missing");
      if (valueAt(row, "SpentElsewhere") && textAt(row, "drives") !== "nothing")
        return {
          what: `Wallet ${name} is used elsewhere`,
          todo: "Another service spends from it too. Stop that one, or set this wallet's drives to nothing.",
          href,
          isBad: true,
        };
      if (lack) {
        const [unit, amount] = [textAt(lack, "unit"), textAt(lack, "amount")];
        return {
          what: `Wallet ${name} lacks ${formatAmount(amount, unit)} ${formatUnit(unit)}`,
          todo: `Send it to ${textAt(lack, "sendTo")}: ${textAt(lack, "reason")}.`,
          href,
          isBad: true,
        };
      }
      if (valueAt(row, "HeldUp"))
        return { what: `Wallet ${name} is held up`, todo: textAt(row, "HeldUp.reason"), href };
      if (valueAt(row, "LowBalanceSummary.isLow") === true)
        return {
          what: `Wallet ${name} is low`,
          todo: "A balance is below its threshold: send funds, or set up a top-up.",
          href,
        };
      return null;
    },
  },
  {
    title: "Sources",
    access: "Admin",
    path: "/payment-source-extended",
    rowsMember: "ExtendedPaymentSources",
    query: { limit: "100" },
    toTodo: (row) => {
      const error = textAt(row, "error");
      if (error === "" || textAt(row, "network") !== network.value) return null;
      return {
        what: `A source lags: ${textAt(row, "paymentSourceType")}`,
        todo: `${error}. Check its provider key and quota.`,
        href: pageHref("sources", "", { on: textAt(row, "id") }),
        isBad: true,
      };
    },
  },
  {
    title: "Webhooks",
    access: "+PAY",
    path: "/webhooks",
    rowsMember: "Webhooks",
    query: { limit: "50" },
    toTodo: (row) => {
      if (!valueAt(row, "disabledAt")) return null;
      return {
        what: `Endpoint ${textAt(row, "name") || textAt(row, "url")} was disabled`,
        todo: `${textAt(row, "disabledReason") || "Its owner did it"}. Mend the receiver, send a test event, revive it, and replay what it missed.`,
        href: pageHref("webhooks", "", { on: textAt(row, "id") }),
        isBad: true,
      };
    },
  },
  {
    title: "Settlements",
    access: "+PAY",
    path: "/x402/payments",
    rowsMember: "PaymentAttempts",
    query: { take: "100", direction: "InboundSettle", status: "Verified" },
    toTodo: (row) => {
      const age = Date.now() - Date.parse(textAt(row, "createdAt"));
      if (age < UNSETTLED_MIN_AGE_MS || valueAt(row, "Settlement")) return null;
      return {
        what: `A settlement is unresolved: ${textAt(row, "resource") || textAt(row, "id")}`,
        todo: "The service searches the chain for it. Check the network's RPC URL, and the settling wallet's gas.",
        href: pageHref("x402", "", { on: textAt(row, "id") }),
        isBad: true,
      };
    },
  },
];

/** What is wrong with the rows of a list. */
export async function readTodos(trouble: TodoSource, signal: AbortSignal): Promise<Todo[]> {
  const { path, query, rowsMember: rows, toTodo: find } = trouble;
  const data = await callApi<Record<string, unknown[]>>({ method: "GET", path, query }, signal);
  return (data[rows] ?? []).flatMap((row) => find(row) ?? []);
}
