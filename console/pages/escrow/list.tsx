/** Payments and purchases: the same live table of the two sides, and one escrow of them. */

import { OFTEN_MS, useLive } from "../../api/live.ts";
import { call } from "../../api/request.ts";
import { Problem } from "../../ui/action-dialog.tsx";
import { minorUnits } from "../../ui/format.ts";
import { Filters, Pager } from "../../ui/list/filters.tsx";
import { Table } from "../../ui/list/table.tsx";
import type { NavigationEntry } from "../../ui/navigation-entry.ts";
import { textAt } from "../../ui/path.ts";
import type { Column, Field } from "../../ui/resource.ts";
import { network, pageHref, route } from "../../ui/route.ts";
import { Reading } from "../../ui/status.tsx";
import { clock } from "../../ui/value.tsx";
import { UNITS, WALLET_KEYS } from "../fields/known-ids.ts";
import { OneEscrow } from "./one.tsx";
import { SaveCsv } from "./save-csv.tsx";
import { ACTIONS, ERROR_TYPES, type EscrowRow, SIDES, type Side, STATES } from "./sides.ts";

const PAGE_ROWS = 50;
const CHANGES = "100";
/** How long a change is marked. */
const FRESH_MS = 5_000;

const FILTERS: readonly Field[] = [
  { name: "searchQuery", label: "Search", hint: "Id, agent, hash, address, state or amount." },
  { name: "filterOnChainState", label: "State", as: "choice", choices: STATES },
  { name: "filterNeedsManualAction", label: "Needs a person", as: "choice", choices: ["true"] },
  { name: "filterRequestedAction", label: "Next action", as: "choice", choices: ACTIONS },
  { name: "filterErrorType", label: "Error", as: "choice", choices: ERROR_TYPES },
  { name: "createdFrom", label: "Made from" },
  { name: "createdTo", label: "Made before" },
  { name: "filterUnit", label: "Unit", hint: "Empty: the native coin.", known: UNITS },
  { name: "filterAmountFrom", label: "Price from", as: "amount", unitFrom: "filterUnit" },
  { name: "filterAmountTo", label: "Price to", as: "amount", unitFrom: "filterUnit" },
  { name: "filterWalletVkey", label: "Our wallet (key hash)", known: WALLET_KEYS },
  { name: "filterAgentIdentifier", label: "Agent (identifier)" },
  { name: "filterSmartContractAddress", label: "Contract" },
];

const columnsOf = (side: Side): readonly Column[] => [
  { head: "Escrow", at: "id" },
  { head: "Agent", at: "agentName" },
  { head: "State", at: "onChainState", as: "tag" },
  { head: "Next", at: "NextAction.requestedAction", as: "tag" },
  { head: "Error", at: "NextAction.errorType", as: "tag" },
  { head: "Funds", at: SIDES[side].funds, as: "funds" },
  { head: "Wallet", at: "SmartContractWallet.walletAddress", as: "code" },
  { head: "Result until", at: "submitResultTime", as: "time" },
  { head: "Unlocks", at: "unlockTime", as: "time" },
  { head: "Changed", at: STAMP, as: "time" },
];

const STAMP = "nextActionOrOnChainStateOrResultLastChangedAt";

interface Rows {
  rows: EscrowRow[];
  /** The newest change that is known: where the next look at the diff begins. */
  after: { lastUpdate: string; cursorId: string | undefined };
}

const CURSOR: Field = { name: "cursorId", label: "Older than" };

/** What the URL asks a list for. */
function askedOf(): Record<string, string> {
  const { query } = route.value;
  const asked: Record<string, string> = { network: network.value, limit: String(PAGE_ROWS) };
  for (const { name, as, unitFrom = "" } of [...FILTERS, CURSOR]) {
    const value = query[name];
    // What is no amount is sent as it is: the API says what is wrong with it.
    if (value)
      asked[name] = as === "amount" ? (minorUnits(value, query[unitFrom] ?? "") ?? value) : value;
  }
  return asked;
}

async function readPage(side: Side, asked: Record<string, string>, signal: AbortSignal) {
  const data = await call<Record<string, EscrowRow[]>>(
    { method: "GET", path: `/${side}`, query: asked },
    signal,
  );
  return data[SIDES[side].list] ?? [];
}

/** What changed since the last look; the cursor's own row comes again. */
async function readChanges(side: Side, { after }: Rows, signal: AbortSignal): Promise<EscrowRow[]> {
  const { lastUpdate, cursorId = "" } = after;
  const query = { network: network.value, limit: CHANGES, lastUpdate, cursorId };
  const data = await call<Record<string, EscrowRow[]>>(
    { method: "GET", path: `/${side}/diff`, query },
    signal,
  );
  const changed = data[SIDES[side].list] ?? [];
  return changed.filter((row) => row.id !== cursorId || textAt(row, STAMP) !== lastUpdate);
}

function newest(rows: readonly EscrowRow[], before?: Rows["after"]): Rows["after"] {
  let after = before ?? { lastUpdate: new Date(0).toISOString(), cursorId: undefined };
  for (const row of rows) {
    const stamp = textAt(row, STAMP);
    if (stamp > after.lastUpdate || (stamp === after.lastUpdate && row.id > (after.cursorId ?? "")))
      after = { lastUpdate: stamp, cursorId: row.id };
  }
  return after;
}

/** Reads the page, then only what changed. A filtered page is read again once something did. */
async function readRows(
  side: Side,
  asked: Record<string, string>,
  signal: AbortSignal,
  before: Rows | null,
) {
  if (before === null) {
    const rows = await readPage(side, asked, signal);
    return { rows, after: newest(rows) };
  }
  const changed = await readChanges(side, before, signal);
  if (changed.length === 0) return before;
  const after = newest(changed, before.after);
  const isPlain = Object.keys(asked).every((name) => name === "network" || name === "limit");
  if (!isPlain) return { rows: await readPage(side, asked, signal), after };
  const byId = new Map([...before.rows, ...changed].map((row) => [row.id, row]));
  const oldest = before.rows.length < PAGE_ROWS ? "" : (before.rows.at(-1)?.id ?? "");
  const rows = [...byId.values()]
    .filter(({ id }) => id >= oldest)
    .sort((a, b) => (a.id < b.id ? 1 : -1));
  return { rows, after };
}

function EscrowList({ side }: { side: Side }) {
  const asked = askedOf();
  const live = useLive<Rows>(
    `${side} ${JSON.stringify(asked)}`,
    (signal, before) => readRows(side, asked, signal, before),
    OFTEN_MS,
  );
  const rows = live.data?.rows ?? [];
  const last = rows.length >= PAGE_ROWS ? rows.at(-1) : undefined;
  const { title, about } = SIDES[side];
  return (
    <>
      <h1>{title}</h1>
      <p class="about">{about}</p>
      <Filters filters={FILTERS} />
      <div class="tools">
        <SaveCsv side={side} query={asked} />
      </div>
      {live.error && <Problem problem={live.error} />}
      {live.data === null && live.error === null && <Reading />}
      {live.data && rows.length === 0 && (
        <p class="empty">There is none on {network.value}, or none that the filters leave.</p>
      )}
      {rows.length > 0 && (
        <Table
          title={title}
          columns={columnsOf(side)}
          rows={rows}
          keyOf={({ id }) => id}
          open={({ id }, text) => <a href={pageHref(side, id)}>{text}</a>}
          isFresh={(row) => clock.value - Date.parse(textAt(row, STAMP)) < FRESH_MS}
        />
      )}
      <Pager older={last && { cursorId: last.id }} />
    </>
  );
}

function Escrows({ side }: { side: Side }) {
  const { id } = route.value;
  return id === "" ? <EscrowList side={side} /> : <OneEscrow key={id} side={side} id={id} />;
}

export const escrowPage = (side: Side): NavigationEntry => ({
  name: side,
  title: SIDES[side].title,
  needs: "User",
  Show: () => <Escrows side={side} />,
});
