/**
 * Where the console is: all of it is in the URL's fragment, `#/page/id?parameter=value`, so that a view
 * can be reloaded, kept and sent. The fragment never reaches a server.
 */
import { computed, signal } from "@preact/signals";
import { textAt } from "./path.ts";

export interface Route {
  page: string;
  /** What the page is about, such as a record's id; empty when it is about none. */
  id: string;
  query: Record<string, string>;
}

export const NETWORKS = ["Preprod", "Mainnet"] as const;

/** A fragment as a route; anything that is none is the first page. */
export function readRoute(fragment: string): Route {
  const [path = "", query = ""] = fragment.replace(/^#?\/?/, "").split("?", 2);
  const [page = "", id = ""] = path.split("/").map(decodeSegment);
  return { page: page || "overview", id, query: Object.fromEntries(new URLSearchParams(query)) };
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A route as a fragment. Parameters that are empty or undefined are left out. */
export function hrefOf(
  page: string,
  id = "",
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).filter((one): one is [string, string] => Boolean(one[1]));
  const text = new URLSearchParams(given).toString();
  const path = [page, id].filter(Boolean).map(encodeURIComponent).join("/");
  return `#/${path}${text && `?${text}`}`;
}

export const route = signal(readRoute(location.hash));
addEventListener("hashchange", () => {
  route.value = readRoute(location.hash);
});

/** The network that pages show. */
export const network = computed(() =>
  route.value.query.network === "Mainnet" ? "Mainnet" : "Preprod",
);

/** The fragment of another page, on the network that is shown now. */
export function pageHref(
  page: string,
  id = "",
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const selected = network.value === "Mainnet" ? { network: "Mainnet" } : {};
  return hrefOf(page, id, { ...selected, ...query });
}

/** The fragment of another page about a row, on the row's own network. */
export function rowHref(
  row: unknown,
  page: string,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const own = textAt(row, "network");
  const isElsewhere = own !== "" && own !== network.value;
  return pageHref(page, "", isElsewhere ? { ...query, network: own } : query);
}

/** Parameters about rows of a list, without which it is shown from its beginning and nothing is open. */
export const LIST_START_QUERY = {
  cursorId: undefined,
  cursorWebhookId: undefined,
  on: undefined,
  do: undefined,
};

/**
 * Changes parameters of the page that is shown.
 *
 * @param isReplaced - the view before is not kept for the browser's back button
 */
export function changeQuery(
  changes: Readonly<Record<string, string | undefined>>,
  isReplaced = false,
): void {
  const { page, id, query } = route.value;
  const href = hrefOf(page, id, { ...query, ...changes });
  if (isReplaced) {
    history.replaceState(history.state, "", href);
    route.value = readRoute(href);
  } else location.hash = href;
}
