/** Payments and purchases: the same live table of the two sides, and one escrow of them. */

import { FAST_POLL_INTERVAL_MS, useLiveData } from "../../api/live.ts";
import { callApi } from "../../api/request.ts";
import { parseMinorUnits } from "../../ui/format.ts";
import { Filters, Pager } from "../../ui/list/filters.tsx";
import { Table } from "../../ui/list/table.tsx";
import type { NavigationEntry } from "../../ui/navigation-entry.ts";
import { textAt } from "../../ui/path.ts";
import { Problem } from "../../ui/problem.tsx";
import type { Column, Field } from "../../ui/resource.ts";
import { network, pageHref, route } from "../../ui/route.ts";
import { LoadingIndicator } from "../../ui/status.tsx";
import { clock } from "../../ui/value.tsx";
import { AGENTS, CONTRACTS, UNITS, WALLET_KEYS } from "../fields/known-ids.ts";
import { nameNext } from "./describe-next.ts";
import { EscrowDetails } from "./escrow-details.tsx";
import { SaveCsvButton } from "./save-csv.tsx";
import { toSearchQuery } from "./search-query.ts";
import { ACTIONS, ERROR_TYPES, type EscrowRow, SIDES, type Side, STATES } from "./sides.ts";

const PAGE_SIZE = 50;
const MAX_CHANGES = "100";
/** How long a change is marked. */
const CHANGE_HIGHLIGHT_MS = 5_000;

const FILTERS: readonly Field[] = [
  { name: "searchQuery", label: "Search", hint: "Search by agent, identifier, hash or address" },
  { name: "filterOnChainState", label: "State", as: "choice", choices: STATES },
  { name: "filterNeedsManualAction", label: "Needs a person", as: "choice", choices: ["true"] },
  { name: "filterRequestedAction", label: "Next action", as: "choice", choices: ACTIONS },
  { name: "filterErrorType", label: "Error", as: "choice", choices: ERROR_TYPES },
  { name: "createdFrom", label: "Created from", as: "time" },
  { name: "createdTo", label: "Created before", as: "time" },
  { name: "filterUnit", label: "Token", hint: "Empty: ADA", knownIds: UNITS },
  { name: "filterAmountFrom", label: "Price from", as: "amount", unitFrom: "filterUnit" },
  { name: "filterAmountTo", label: "Price to", as: "amount", unitFrom: "filterUnit" },
  { name: "filterWalletVkey", label: "Our wallet", knownIds: WALLET_KEYS },
  { name: "filterAgentIdentifier", label: "Agent", knownIds: AGENTS },
  { name: "filterSmartContractAddress", label: "Contract", knownIds: CONTRACTS },
];

/** What to try when a search finds nothing. */
const SEARCH_HELP =
  "You can search by agent, state, input hash, transaction, wallet address, amount, id or escrow's identifier.";

const columnsOf = (side: Side): readonly Column[] => [
  { heading: "Agent", path: "agentName", second: "id" },
  { heading: "State", path: "onChainState", as: "tag", fallback: "Nothing locked" },
  { heading: "Amount", path: SIDES[side].funds, as: "funds" },
  {
    heading: "Next",
    path: "NextAction.errorType",
    as: "tag",
    otherwise: (row) => nameNext(side, row as EscrowRow),
  },
  { heading: "Result until", path: "submitResultTime", as: "time" },
  { heading: "Unlocks", path: "unlockTime", as: "time" },
  { heading: "Changed", path: CHANGED_AT_PATH, as: "time" },
];

const CHANGED_AT_PATH = "nextActionOrOnChainStateOrResultLastChangedAt";

interface EscrowRows {
  rows: EscrowRow[];
  /** The newest change that is known: where the next look at the diff begins. */
  after: { lastUpdate: string; cursorId: string | undefined };
}

const CURSOR_FIELD: Field = { name: "cursorId", label: "Older than" };

/** What the URL asks a list for. */
function readListQuery(): Record<string, string> {
  const { query } = route.value;
  const asked: Record<string, string> = { network: network.value, limit: String(PAGE_SIZE) };
  for (const { name, as, unitFrom = "" } of [...FILTERS, CURSOR_FIELD]) {
    const value = query[name];
    if (!value) continue;
    // What is no amount is sent as it is: the API says what is wrong with it.
    if (name === "searchQuery") Object.assign(asked, toSearchQuery(value));
    else
      asked[name] =
        as === "amount" ? (parseMinorUnits(value, query[unitFrom] ?? "") ?? value) : value;
  }
  return asked;
}

async function readEscrowPage(side: Side, asked: Record<string, string>, signal: AbortSignal) {
  const data = await callApi<Record<string, EscrowRow[]>>(
    { method: "GET", path: `/${side}`, query: asked },
    signal,
  );
  return data[SIDES[side].list] ?? [];
}

/** What changed since the last look; the cursor's own row comes again. */
async function readChanges(
  side: Side,
  { after }: EscrowRows,
  signal: AbortSignal,
): Promise<EscrowRow[]> {
  const { lastUpdate, cursorId = "" } = after;
  const query = { network: network.value, limit: MAX_CHANGES, lastUpdate, cursorId };
  const data = await callApi<Record<string, EscrowRow[]>>(
    { method: "GET", path: `/${side}/diff`, query },
    signal,
  );
  const changed = data[SIDES[side].list] ?? [];
  return changed.filter(
    (row) => row.id !== cursorId || textAt(row, CHANGED_AT_PATH) !== lastUpdate,
  );
}

function findNewestChange(
  rows: readonly EscrowRow[],
  before?: EscrowRows["after"],
): EscrowRows["after"] {
  let after = before ?? { lastUpdate: new Date(0).toISOString(), cursorId: undefined };
  for (const row of rows) {
    const stamp = textAt(row, CHANGED_AT_PATH);
    if (stamp > after.lastUpdate || (stamp === after.lastUpdate && row.id > (after.cursorId ?? "")))
      after = { lastUpdate: stamp, cursorId: row.id };
  }
  return after;
}

/** Reads the page, then only what changed. A filtered page is read again once something did. */
async function readEscrowRows(
  side: Side,
  asked: Record<string, string>,
  signal: AbortSignal,
  before: EscrowRows | null,
) {
  if (before === null) {
    const rows = await readEscrowPage(side, asked, signal);
    return { rows, after: findNewestChange(rows) };
  }
  const changed = await readChanges(side, before, signal);
  if (changed.length === 0) return before;
  const after = findNewestChange(changed, before.after);
  const isPlain = Object.keys(asked).every((name) => name === "network" || name === "limit");
  if (!isPlain) return { rows: await readEscrowPage(side, asked, signal), after };
  const byId = new Map([...before.rows, ...changed].map((row) => [row.id, row]));
  const oldest = before.rows.length < PAGE_SIZE ? "" : (before.rows.at(-1)?.id ?? "");
  const rows = [...byId.values()]
    .filter(({ id }) => id >= oldest)
    .sort((a, b) => (a.id < b.id ? 1 : -1));
  return { rows, after };
}

function EscrowList({ side }: { side: Side }) {
  const asked = readListQuery();
  const live = useLiveData<EscrowRows>(
    `${side} ${JSON.stringify(asked)}`,
    (signal, before) => readEscrowRows(side, asked, signal, before),
    FAST_POLL_INTERVAL_MS,
  );
  const rows = live.data?.rows ?? [];
  const last = rows.length >= PAGE_SIZE ? rows.at(-1) : undefined;
  const { title, about } = SIDES[side];
  return (
    <>
      <h1>{title}</h1>
      <p class="about">{about}</p>
      <Filters filters={FILTERS}>
        <SaveCsvButton side={side} query={asked} />
      </Filters>
      {live.error && <Problem problem={live.error} />}
      {live.data === null && live.error === null && <LoadingIndicator />}
      {live.data && rows.length === 0 && (
        <p class="empty">
          There is none on {network.value}, or none that the filters leave.
          {route.value.query.searchQuery && ` ${SEARCH_HELP}`}
        </p>
      )}
      {rows.length > 0 && (
        <Table
          title={title}
          columns={columnsOf(side)}
          rows={rows}
          keyOf={({ id }) => id}
          renderRowLink={({ id }, text) => <a href={pageHref(side, id)}>{text}</a>}
          isRecentlyChanged={(row) =>
            clock.value - Date.parse(textAt(row, CHANGED_AT_PATH)) < CHANGE_HIGHLIGHT_MS
          }
        />
      )}
      <Pager older={last && { cursorId: last.id }} />
    </>
  );
}

function EscrowListOrDetails({ side }: { side: Side }) {
  const { id } = route.value;
  return id === "" ? <EscrowList side={side} /> : <EscrowDetails key={id} side={side} id={id} />;
}

export const createEscrowPage = (side: Side): NavigationEntry => ({
  name: side,
  title: SIDES[side].title,
  access: "User",
  Component: () => <EscrowListOrDetails side={side} />,
});
