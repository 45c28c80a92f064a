/** Lists that are searched for what needs a person. */
import { callApi } from "../../api/request.ts";
import { type Access, hasAccess } from "../../api/session.ts";
import { formatFunds, shortenId, toSentence } from "../../ui/format.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import { network, pageHref } from "../../ui/route.ts";
import { toWords } from "../../ui/words.ts";
import { describeWait } from "../escrow/describe-next.ts";
import type { Funds } from "../escrow/sides.ts";
import { describeLackReason } from "../wallets/lacks.ts";
import type { Part, Todo } from "./todo-kinds.ts";

interface TodoSource {
  title: string;
  part: Part;
  access: Access;
  path: string;
  rowsMember: string;
  query: Readonly<Record<string, string>>;
  /** A list whose rows belong to these rows. */
  also?: { access: Access; path: string; rowsMember: string };
  /** Null for a row that is well. @param others - rows of the other list */
  toTodo: (row: unknown, others: readonly unknown[]) => Todo | null;
}

const UNSETTLED_MIN_AGE_MS = 5 * 60_000;
const arrayAt = (row: unknown, path: string) =>
  (valueAt(row, path) as unknown[] | null | undefined) ?? [];

/** The rule that fills a wallet up with a unit, of which it has less than the rule allows; undefined: none does. */
function findTopUp(rules: readonly unknown[], wallet: unknown, unit: string): unknown {
  const balances = arrayAt(wallet, "Balance") as Funds[];
  const balance = BigInt(balances.find((one) => one.unit === unit)?.amount ?? "0");
  return rules.find(
    (rule) =>
      valueAt(rule, "enabled") === true &&
      textAt(rule, "walletId") === textAt(wallet, "id") &&
      textAt(rule, "unit") === unit &&
      balance < BigInt(textAt(rule, "below")),
  );
}

function toWalletTodo(row: unknown, topUps: readonly unknown[]): Todo | null {
  const name = textAt(row, "note") || shortenId(textAt(row, "walletAddress"));
  const href = pageHref("wallets", "", { on: textAt(row, "id") });
  const about = { name, href, listHref: pageHref("wallets") };
  if (valueAt(row, "SpentElsewhere") && textAt(row, "drives") !== "nothing")
    return { kind: "walletSpent", ...about };
  const missing = arrayAt(row, "Missing") as Funds[];
  const [lack] = missing;
  if (lack) {
    const lacks = `${name} lacks ${formatFunds(lack.amount, lack.unit)}`;
    const topUp = findTopUp(topUps, row, lack.unit);
    const waitsFor = textAt(topUp, "waitsFor");
    const coins = !topUp && lack.unit === "" ? { do: "fund" } : {};
    return {
      ...about,
      href: pageHref("wallets", "", { on: textAt(row, "id"), ...coins }),
      kind: topUp ? "walletToppedUp" : "walletLacks",
      name: lacks,
      advice: topUp
        ? ["A top-up rule fills it up.", waitsFor && describeWait(waitsFor, "")].join(" ")
        : `Send it to ${shortenId(textAt(lack, "sendTo"))}: ${describeLackReason(lack)}.`,
      funds: missing,
    };
  }
  if (valueAt(row, "HeldUp"))
    return { kind: "walletBlocked", ...about, advice: toSentence(textAt(row, "HeldUp.reason")) };
  if (valueAt(row, "LowBalanceSummary.isLow") === true) return { kind: "walletLow", ...about };
  return null;
}

export const TODO_SOURCES: readonly TodoSource[] = [
  {
    title: "Wallets",
    part: "wallets",
    access: "+PAY",
    path: "/wallet/list",
    rowsMember: "Wallets",
    query: { limit: "100" },
    also: { access: "Admin", path: "/wallet/top-up", rowsMember: "Rules" },
    toTodo: toWalletTodo,
  },
  {
    title: "Sources",
    part: "sources",
    access: "Admin",
    path: "/payment-source-extended",
    rowsMember: "ExtendedPaymentSources",
    query: { limit: "100" },
    toTodo: (row) => {
      const error = textAt(row, "error");
      if (error === "") return null;
      return {
        kind: "source",
        name: toWords(textAt(row, "paymentSourceType")),
        href: pageHref("sources", "", { on: textAt(row, "id") }),
        listHref: pageHref("sources"),
        advice: `${error}. Check its provider key and quota.`,
      };
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
        advice: `${toSentence(textAt(row, "disabledReason"))} Repair the receiver, revive the endpoint, and send what it missed.`,
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

/** What is wrong with the rows of a list, and how many rows the network has. */
export async function readTodos(
  source: TodoSource,
  signal: AbortSignal,
): Promise<{ todos: Todo[]; count: number }> {
  const { path, query, rowsMember, also, toTodo } = source;
  const read = (path: string) =>
    callApi<Record<string, unknown[]>>({ method: "GET", path, query }, signal);
  const [data, otherData] = await Promise.all([
    read(path),
    also && hasAccess(also.access) ? read(also.path) : null,
  ]);
  const others = otherData?.[also?.rowsMember ?? ""] ?? [];
  const rows = (data[rowsMember] ?? []).filter((row) =>
    ["", network.value].includes(textAt(row, "network")),
  );
  return {
    todos: rows.flatMap((row) => toTodo(row, others) ?? []),
    count: rows.length,
  };
}
