/** Every action of the console's lists, each once, in an order in which one makes what the next needs. */
import type { Locator, Page } from "playwright-core";
import type { Action, PageDefinition as ConsolePage } from "../../console/ui/resource.ts";
import { show } from "../../devnet/client/console.ts";

/** What the acts are played with. */
export interface Props {
  /** Ids of the demo's payment source of Web3ChainV1, and of its endpoint. */
  sourceId: string;
  endpointId: string;
  sellerVkey: string;
  sellerAddress: string;
  /** Who bought from that seller, and the month of it. */
  buyerVkey: string;
  month: string;
  /** An address of nobody's. */
  address: string;
  /** Where a receiver takes anything. */
  receiver: string;
  dollar: string;
  /** A contract that no source follows. */
  other: { address: string; policyId: string };
  mnemonic: string;
  /** Null: there is no EVM node here. */
  evm: Evm | null;
}

interface Evm {
  /** CAIP-2 id. */
  network: string;
  rpcUrl: string;
  token: string;
  /** Id of a wallet that pays. */
  payerId: string;
  /** Id of a key that may spend from it. */
  keyId: string;
  /** Who is paid. */
  address: string;
}

export interface OperatorAction {
  /** Page and tab. */
  at: string;
  /** The action's name. */
  does: string;
  /** Texts of the row that it is done with, which is waited for. */
  row?: readonly string[];
  /** What is typed in, by the label. */
  fill?: Readonly<Record<string, string>>;
  /** Filters of the list. */
  query?: Readonly<Record<string, string>>;
  /** What the answer says. */
  shows?: string;
  /** The service refuses it until the chain is so far. */
  waits?: true;
}

const UNIT = `${"ab".repeat(28)}01`;
const PARTY = {
  Company: "A company",
  Street: "Street",
  "House number": "1",
  "Postal code": "10115",
  City: "Berlin",
  Country: "Germany",
};
/** Fields under a heading are named after it. */
const partyOf = (who: string) =>
  Object.fromEntries(Object.entries(PARTY).map(([label, text]) => [`${who}: ${label}`, text]));

export const operatorActionsOf = (props: Props): readonly OperatorAction[] => [
  ...ofSources(props),
  ...ofWallets(props),
  ...ofWebhooks(props),
  ...ofAgents(props),
  ...ofInvoices(props),
  ...(props.evm ? ofX402(props.evm) : []),
  ...OF_KEYS,
  ...OF_WORKER_BOTS,
  ...OF_DISPUTES,
];

function ofSources({ address, other, sourceId }: Props): OperatorAction[] {
  const shared = {
    "Provider key": "local-chain",
    "Administrators' addresses": address,
    "Signatures that a dispute needs": "1",
  };
  const payment = "sources/payment";
  const registry = "sources/registry";
  const ours = { row: [other.address.slice(-6)] };
  const demos = { query: { on: sourceId } };
  return [
    {
      ...{ at: payment, does: "create", shows: "Contract" },
      fill: { ...shared, "Cooldown in milliseconds": "600000" },
    },
    {
      ...{ at: payment, does: "follow" },
      fill: {
        ...shared,
        "Contract's address": other.address,
        "Policy id": other.policyId,
      },
    },
    { at: payment, does: "change", ...ours, fill: { Automation: "nothing" } },
    { at: payment, does: "budget", ...ours, shows: "Used today" },
    { at: payment, does: "providers", ...ours },
    { at: payment, does: "rewind", ...ours },
    { at: payment, does: "remove", ...ours },
    { at: payment, does: "publish", ...demos },
    { at: payment, does: "script", ...demos, shows: "State" },
    { at: payment, does: "withdraw", ...demos, waits: true },
    {
      ...{ at: registry, does: "create" },
      fill: { "Policy id": "cd".repeat(28), "Provider key": "local-chain", Note: "Followed" },
    },
    { at: registry, does: "change", row: ["Followed"], fill: { Note: "Noted" } },
    { at: registry, does: "budget", row: ["Noted"], shows: "Used today" },
    { at: registry, does: "remove", row: ["Noted"] },
    {
      ...{ at: "sources/units", does: "save" },
      fill: { Unit: UNIT, Ticker: "TST", Decimals: "2" },
    },
    { at: "sources/units", does: "forget", row: ["TST"] },
  ];
}

function ofWallets({ sourceId, sellerAddress, address, mnemonic }: Props): OperatorAction[] {
  const at = "wallets/wallets";
  const create = (type: string, note: string): OperatorAction => ({
    ...{ at, does: "create", shows: "Mnemonic" },
    fill: { "Payment source": sourceId, Type: type, Note: note, Automation: "nothing" },
  });
  const made = { at, row: ["Noted here"] };
  return [
    create("Selling", "Made here"),
    create("Funding", "Filler"),
    {
      ...{ at, does: "add", shows: "Address" },
      fill: {
        "Payment source": sourceId,
        Type: "Purchasing",
        Mnemonic: mnemonic,
        Note: "Added here",
        Automation: "nothing",
      },
    },
    { at, does: "change", row: ["Made here"], fill: { Note: "Noted here" } },
    { ...made, does: "secret", shows: "Mnemonic" },
    { ...made, does: "low-balance", fill: { Below: "5" } },
    { ...made, does: "top-up", fill: { "When below": "5", "Up to": "10" } },
    {
      ...{ at, does: "transfer", row: ["seller-1"] },
      fill: { "To address": address, Amount: "5" },
    },
    {
      ...{ at, does: "fund", row: ["seller-1"] },
      fill: { "From wallet": sellerAddress, Amount: "5" },
    },
    { at: "wallets/rules", does: "change", row: [""], fill: { Below: "6" } },
    {
      at: "wallets/top-ups",
      does: "change",
      row: [""],
      fill: { "When below": "6", "Up to": "12" },
    },
    ...["rules", "top-ups"].flatMap((tab) =>
      ["switch-off", "switch-on", "delete"].map(
        (does): OperatorAction => ({ at: `wallets/${tab}`, does, row: [""] }),
      ),
    ),
    { ...made, does: "remove-selling" },
    { at, does: "remove-purchasing", row: ["Added here"] },
    { at, does: "remove-funding", row: ["Filler"] },
  ];
}

function ofWebhooks({ receiver, endpointId }: Props): OperatorAction[] {
  const at = "webhooks/endpoints";
  const row = ["Of the acts"];
  return [
    {
      ...{ at, does: "create", shows: "Signing secret" },
      fill: { URL: receiver, Name: "An endpoint", "Service: message given up": "yes" },
    },
    { at, does: "change", row: ["An endpoint"], fill: { Name: "Of the acts" } },
    { at, does: "test", row, shows: "Delivered" },
    { at, does: "pause", row },
    { at, does: "revive", row },
    { at, does: "rotate", row, shows: "New signing secret" },
    { at, does: "replay", row, shows: "Deliveries queued" },
    { at, does: "delete", row },
    {
      ...{ at: "webhooks/deliveries", does: "again", row: ["Success"] },
      query: { webhookId: endpointId, status: "Success" },
    },
  ];
}

function ofAgents({ sellerVkey }: Props): OperatorAction[] {
  const registered = "agents/registered";
  const inboxes = "agents/inbox-registered";
  const wallet = { "Selling wallet": sellerVkey };
  return [
    { at: registered, does: "remove", row: ["Short-lived adviser", "Deregistration confirmed"] },
    {
      ...{ at: registered, does: "register" },
      fill: {
        ...wallet,
        Name: "Of the acts",
        "URL of its API": "https://agent.example.com",
        Tags: "one\ntwo",
        Capability: "advice",
        Author: "An author",
        Amount: "5",
      },
    },
    { at: registered, does: "deregister", row: ["Of the acts", "Registration confirmed"] },
    { at: "agents/inbox", does: "verify", row: ["demo-inbox"], waits: true },
    {
      ...{ at: inboxes, does: "register" },
      fill: { ...wallet, Name: "Inbox of the acts", Slug: "of-the-acts" },
    },
    { at: inboxes, does: "deregister", row: ["Inbox of the acts", "Registration confirmed"] },
    { at: inboxes, does: "remove", row: ["Inbox of the acts", "Deregistration confirmed"] },
  ];
}

function ofInvoices({ month, buyerVkey, dollar }: Props): OperatorAction[] {
  const store = (unit: string, name: string): OperatorAction => ({
    ...{ at: "invoices/rates", does: "store" },
    fill: { Unit: unit, Month: month, [`EUR for one ${name}`]: "0.5", Source: "the acts" },
  });
  const at = "invoices/issued";
  return [
    store("", "ADA"),
    store(dollar, "DemoDollar"),
    {
      ...{ at, does: "issue", shows: "PDF" },
      fill: {
        Month: month,
        "Buyer's wallet": buyerVkey,
        ...partyOf("Seller"),
        ...partyOf("Buyer"),
      },
    },
    { at, does: "pdf", row: ["A company"], query: { month }, shows: "PDF" },
  ];
}

function ofX402({ network, rpcUrl, token, payerId, keyId, address }: Evm): OperatorAction[] {
  return [
    {
      ...{ at: "x402/networks", does: "create" },
      fill: { "CAIP-2 id": network, Name: "Again", "RPC URL": rpcUrl },
    },
    { at: "x402/networks", does: "change", row: ["Again"], fill: { Name: "Local" } },
    {
      ...{ at: "x402/wallets", does: "create", shows: "Address" },
      fill: { Network: network, Type: "Purchasing", Note: "Purse" },
    },
    { at: "x402/wallets", does: "watch", row: ["Purse"], fill: { Below: "9" } },
    {
      ...{ at: "x402/budgets", does: "set" },
      fill: {
        Key: keyId,
        Wallet: payerId,
        Token: token,
        "May pay": "77.5",
      },
    },
    {
      ...{ at: "x402/budgets", does: "change", row: ["77.5"] },
      fill: { "May pay": "88" },
    },
    {
      ...{ at: "x402/resources", does: "create" },
      fill: {
        URL: "https://sold.example.com/of-the-acts",
        Network: network,
        Price: "0.05",
        "Paid to": address,
      },
    },
  ];
}

const OF_KEYS: readonly OperatorAction[] = [
  { at: "keys/keys", does: "create", fill: { Name: "Of the acts" }, shows: "API key" },
  { at: "keys/keys", does: "change", row: ["Of the acts"], fill: { Name: "Renamed" } },
  { at: "keys/keys", does: "revoke", row: ["Renamed"] },
  { at: "keys/keys", does: "reactivate", row: ["Renamed"] },
  { at: "keys/keys", does: "delete", row: ["Renamed"] },
];

const version = (id: string): OperatorAction => ({
  ...{ at: "worker-bots/versions", does: "create" },
  fill: { Id: id, Name: `Version ${id}` },
});

const OF_WORKER_BOTS: readonly OperatorAction[] = [
  version("act-1"),
  version("act-2"),
  {
    ...{ at: "worker-bots/bots", does: "create" },
    fill: { Name: "Bot of the acts", Version: "act-1" },
  },
  {
    ...{ at: "worker-bots/versions", does: "migrate", row: ["act-2"], shows: "Moved" },
    fill: { Reason: "a new one" },
  },
  { at: "worker-bots/bots", does: "archive", row: ["Bot of the acts", "act-2"] },
  { at: "worker-bots/versions", does: "archive", row: ["act-1"] },
];

const OF_DISPUTES: readonly OperatorAction[] = [
  {
    at: "disputes/disputes",
    does: "propose",
    row: [""],
    fill: { "The buyer gets, of 10 ADA": "1" },
  },
  { at: "disputes/disputes", does: "withdraw", row: ["Collects signatures"] },
];

/** Done in another test: a signature needs a wallet. */
const ELSEWHERE = ["disputes/disputes sign"];

/** Actions that nobody performs, each as `page/tab action`. */
export function undone(pages: readonly ConsolePage[], acts: readonly OperatorAction[]): string[] {
  const done = new Set([...acts.map(({ at, does }) => `${at} ${does}`), ...ELSEWHERE]);
  return pages.flatMap((page) =>
    page.tabs.flatMap(({ name, creates = [], actions = [] }) =>
      [...creates, ...actions]
        .map((action) => `${page.name}/${name} ${action.name}`)
        .filter((one) => !done.has(one)),
    ),
  );
}

/**
 * Opens a row, starts the action, fills in its form, and closes the answer, as an operator does.
 *
 * @throws Error with the console's text when the service refuses
 */
export async function perform(page: Page, label: string, act: OperatorAction): Promise<void> {
  const [name = "", tab = ""] = act.at.split("/");
  const query = new URLSearchParams({ tab, ...act.query });
  await show(page, `#/${name}?${query}`);
  if (act.row) {
    let rows = page.locator("main tbody tr");
    for (const hasText of act.row) rows = rows.filter({ hasText });
    await rows.first().locator("button.open").first().click();
  }
  await page.locator("main").getByRole("button", { name: label, exact: true }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  const network = dialog.getByLabel("Network", { exact: true });
  const isAsked = (await network.count()) > 0 && (await network.inputValue()) === "";
  if (isAsked && act.fill?.Network === undefined) await network.selectOption("Preprod");
  for (const [field, text] of Object.entries(act.fill ?? {})) await fill(dialog, field, text);
  const sure = dialog.locator(".sure input");
  if ((await sure.count()) > 0) await sure.check();
  await dialog.getByRole("button", { name: label, exact: true }).click();
  const end = act.shows
    ? dialog.locator("dt", { hasText: act.shows }).first()
    : page.locator("body:not(:has(dialog))");
  const problem = dialog.locator(".problem").first();
  await end.or(problem).first().waitFor();
  if (await problem.isVisible())
    throw new Error(`${act.at} ${act.does}: ${await problem.innerText()}`);
  if (!act.shows) return;
  const kept = dialog.getByLabel("I have written it down");
  if ((await kept.count()) > 0) await kept.check();
  await dialog.getByRole("button", { name: "Close", exact: true }).click();
}

async function fill(dialog: Locator, name: string, text: string): Promise<void> {
  const [group, label] = name.includes(": ") ? name.split(": ") : [undefined, name];
  const isGroup =
    group !== undefined && (await dialog.getByRole("group", { name: group }).count()) > 0;
  const scope = isGroup ? dialog.getByRole("group", { name: group, exact: true }) : dialog;
  const field = scope.getByLabel(isGroup ? (label ?? "") : name, { exact: true });
  const kind = await field.evaluate((one) => `${one.tagName} ${one.getAttribute("type")}`);
  if (kind.startsWith("SELECT")) await field.selectOption(text);
  else if (kind === "INPUT checkbox") await field.check();
  else await field.fill(text);
}

/** What a button is called. */
export function labelOf(pages: readonly ConsolePage[], { at, does }: OperatorAction): string {
  const [name, tabName] = at.split("/");
  const tab = pages.find((page) => page.name === name)?.tabs.find((one) => one.name === tabName);
  const all: readonly Action[] = [...(tab?.creates ?? []), ...(tab?.actions ?? [])];
  const found = all.find((one) => one.name === does);
  return found?.label ?? (does === "propose" ? "Propose a split" : does);
}
