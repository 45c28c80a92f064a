/** Objects of the service by what people know them by, for the palette. */
import { callApi } from "../api/request.ts";
import { hasAccess } from "../api/session.ts";
import { shortenId } from "../ui/format.ts";
import type { Command } from "../ui/palette.tsx";
import { textAt } from "../ui/path.ts";
import { network, pageHref } from "../ui/route.ts";
import { toWords } from "../ui/words.ts";
import { toSearchQuery } from "./escrow/search-query.ts";
import { type EscrowRow, SIDES, type Side } from "./escrow/sides.ts";
import { AGENTS } from "./fields/known-ids.ts";

const MAX_PER_KIND = 5;
const WALLET_LIMIT = "100";

async function searchEscrows(side: Side, text: string, signal: AbortSignal): Promise<Command[]> {
  const query = { network: network.value, limit: String(MAX_PER_KIND), ...toSearchQuery(text) };
  const data = await callApi<Record<string, EscrowRow[]>>(
    { method: "GET", path: `/${side}`, query },
    signal,
  );
  const rows = data[SIDES[side].list] ?? [];
  const found = rows.map((row) => ({
    label: `${textAt(row, "agentName") || shortenId(row.id)}: ${toWords(row.onChainState ?? "Nothing locked").toLowerCase()}`,
    kind: `${side === "payment" ? "Payment" : "Purchase"} ${shortenId(row.id)}`,
    href: pageHref(side, row.id),
  }));
  if (rows.length < MAX_PER_KIND) return found;
  const all = pageHref(side, "", { searchQuery: text });
  return [...found, { label: `All ${side}s with ${text}`, kind: "List", href: all }];
}

const hasText = (row: unknown, paths: readonly string[], text: string) =>
  paths.some((path) => textAt(row, path).toLowerCase().includes(text.toLowerCase()));

async function searchWallets(text: string, signal: AbortSignal): Promise<Command[]> {
  if (!hasAccess("+PAY")) return [];
  const query = { limit: WALLET_LIMIT };
  const { Wallets } = await callApi<{ Wallets: unknown[] }>(
    { method: "GET", path: "/wallet/list", query },
    signal,
  );
  return Wallets.filter(
    (row) =>
      textAt(row, "network") === network.value &&
      hasText(row, ["note", "walletAddress", "walletVkey", "id"], text),
  )
    .slice(0, MAX_PER_KIND)
    .map((row) => ({
      label: textAt(row, "note") || shortenId(textAt(row, "walletAddress")),
      kind: `${textAt(row, "type")} wallet`,
      href: pageHref("wallets", "", { on: textAt(row, "id") }),
    }));
}

async function searchAgents(text: string, signal: AbortSignal): Promise<Command[]> {
  const { entries } = await callApi<{ entries: unknown[] }>(
    {
      method: "POST",
      path: "/registry-entry",
      body: { network: network.value, limit: AGENTS.limit, ...AGENTS.body },
    },
    signal,
  );
  return entries
    .filter((row) => hasText(row, ["name", "agentIdentifier", "apiBaseUrl"], text))
    .slice(0, MAX_PER_KIND)
    .map((row) => ({
      label: textAt(row, "name") || shortenId(textAt(row, "agentIdentifier")),
      kind: `Agent, ${toWords(textAt(row, "status")).toLowerCase()}`,
      href: pageHref("agents", "", { on: textAt(row, "agentIdentifier") }),
    }));
}

/** A search that fails finds nothing; the others go on. */
export async function searchObjects(text: string, signal: AbortSignal): Promise<Command[]> {
  const found = await Promise.allSettled([
    searchWallets(text, signal),
    searchAgents(text, signal),
    searchEscrows("payment", text, signal),
    searchEscrows("purchase", text, signal),
  ]);
  return found.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
}
