/** Kinds of what needs a person, the worst first: what each is called, and what to do about it. */
import type { Funds } from "../escrow/sides.ts";

/** Parts of the service that have a light. */
export type Part = "sources" | "wallets" | "endpoints" | "storage" | "settlements";

export interface TodoKind {
  tone: "bad" | "busy";
  /** The part of the service whose light it changes. */
  part?: Part;
  /** What is wrong, of one. */
  one: (name: string) => string;
  /** What is wrong, of several. */
  many: (count: number) => string;
  /** What to do. */
  advice: string;
  /** The label of the link to where it is done. */
  button: string;
}

export const TODO_KINDS = {
  storage: {
    tone: "bad",
    part: "storage",
    one: (name) => name,
    many: (count) => `${count} problems of the storage`,
    advice: "Make room in the database, as the guide for operators describes.",
    button: "Read the guide",
  },
  mismatch: {
    tone: "bad",
    one: () => "1 escrow holds funds that differ from its quote",
    many: (count) => `${count} escrows hold funds that differ from their quotes`,
    advice:
      "No transaction is made for such an escrow. Compare what was agreed with what was found.",
    button: "Compare",
  },
  decision: {
    tone: "bad",
    one: (name) => `1 escrow needs a decision: ${name}`,
    many: (count) => `${count} escrows need a decision`,
    advice: "A step failed for good. Each escrow says why, and what can be done.",
    button: "Decide",
  },
  unfunded: {
    tone: "bad",
    one: (name) => `1 purchase lacks funds: ${name}`,
    many: (count) => `${count} purchases lack funds`,
    advice: "Their wallets hold too little for the price. Each purchase says how it goes on.",
    button: "See what is missing",
  },
  late: {
    tone: "bad",
    one: (name) => `1 purchase missed its deadline: ${name}`,
    many: (count) => `${count} purchases missed their deadlines`,
    advice:
      "The seller gave no result, and nobody collects the refund. Check that the wallet runs.",
    button: "Collect the refund",
  },
  unsigned: {
    tone: "bad",
    one: (name) => `1 dispute lacks signatures: ${name}`,
    many: (count) => `${count} disputes lack signatures`,
    advice: "Administrators of the contract have to sign the proposed split.",
    button: "Sign",
  },
  dispute: {
    tone: "bad",
    one: (name) => `1 dispute waits for a proposal: ${name}`,
    many: (count) => `${count} disputes wait for proposals`,
    advice: "Both sides claim the money. Propose a split, or let one side give in.",
    button: "Settle",
  },
  walletSpent: {
    tone: "bad",
    part: "wallets",
    one: (name) => `Wallet ${name} is used elsewhere`,
    many: (count) => `${count} wallets are used elsewhere`,
    advice: "Another service spends from it too. Stop that one, or let this wallet only watch.",
    button: "Open the wallet",
  },
  walletLacks: {
    tone: "bad",
    part: "wallets",
    one: (name) => `Wallet ${name}`,
    many: (count) => `${count} wallets lack funds`,
    advice: "Send the missing funds to the address that the wallet shows.",
    button: "Fund it",
  },
  walletStuck: {
    tone: "bad",
    part: "wallets",
    one: () => "A wallet cannot go on",
    many: (count) => `${count} wallets cannot go on`,
    advice: "Each wallet shows what it lacks, or who else spends from it.",
    button: "See the wallets",
  },
  source: {
    tone: "bad",
    part: "sources",
    one: (name) => `A source lags: ${name}`,
    many: (count) => `${count} sources lag`,
    advice: "The chain cannot be read. Check the provider's key and its quota.",
    button: "Check the source",
  },
  registry: {
    tone: "bad",
    part: "sources",
    one: (name) => `A registry source lags: ${name}`,
    many: (count) => `${count} registry sources lag`,
    advice: "The registry has no new agents. Check the provider's key and its quota.",
    button: "Check the source",
  },
  endpoint: {
    tone: "bad",
    part: "endpoints",
    one: (name) => `Endpoint ${name} was disabled`,
    many: (count) => `${count} endpoints were disabled`,
    advice:
      "Repair the receiver, send a test, revive the endpoint, and replay its failed events. No event is stored until then.",
    button: "Revive",
  },
  unsettled: {
    tone: "bad",
    part: "settlements",
    one: (name) => `A settlement is unresolved: ${name}`,
    many: (count) => `${count} settlements are unresolved`,
    advice:
      "The service searches the chain for them. Check the network's address and the wallet's gas.",
    button: "Check it",
  },
  task: {
    tone: "busy",
    one: (name) => `1 step may miss its deadline: ${name}`,
    many: (count) => `${count} steps may miss their deadlines`,
    advice: "They were tried and failed. Each task says what it waits for.",
    button: "See why",
  },
  walletToppedUp: {
    tone: "busy",
    part: "wallets",
    one: (name) => `Wallet ${name}`,
    many: (count) => `${count} wallets wait for funds that come by themselves`,
    advice: "A payment is under way, or a top-up rule fills the wallet up.",
    button: "See why",
  },
  walletBlocked: {
    tone: "busy",
    part: "wallets",
    one: (name) => `Wallet ${name} is held up`,
    many: (count) => `${count} wallets are held up`,
    advice: "Each wallet says what it waits for. Most end by themselves.",
    button: "See why",
  },
  provider: {
    tone: "busy",
    part: "sources",
    one: (name) => `A chain provider does not work: ${name}`,
    many: (count) => `${count} chain providers do not work`,
    advice: "Sources read through their next providers. Check the provider's key and its service.",
    button: "Check the source",
  },
} satisfies Record<string, TodoKind>;

export type TodoKindName = keyof typeof TODO_KINDS;

/** Something that a person should look at. */
export interface Todo {
  kind: TodoKindName;
  /** What it is about, as people know it. */
  name: string;
  /** Empty: the key in use may not open the page. */
  href: string;
  /** Where all of the kind are; the first's own page when left out. */
  listHref?: string;
  /** In place of the kind's own advice. */
  advice?: string;
  funds?: readonly Funds[];
  /** Epoch milliseconds by which it is due, or since when it is late. */
  time?: number;
  /** Only the health of the service says whether this is a problem. */
  isHint?: boolean;
  /** The network of the problem, where the page shows another one. */
  otherNetwork?: string;
  /** What it tells, where the other side of an escrow may tell the same. */
  same?: string;
}

export interface TodoGroup {
  kind: TodoKindName;
  todos: readonly Todo[];
  /** Sum of each unit. */
  funds: readonly Funds[];
}

/** Lists an escrow between two managed wallets once, on the buyer's side. */
export function deduplicateTodos(todos: readonly Todo[]): Todo[] {
  const last = new Map(todos.map((todo) => [todo.same, todo]));
  return todos.filter((todo) => todo.same === undefined || last.get(todo.same) === todo);
}

/** The groups, the worst kind first. */
export function groupTodos(todos: readonly Todo[]): TodoGroup[] {
  return (Object.keys(TODO_KINDS) as TodoKindName[]).flatMap((kind) => {
    const found = todos.filter((todo) => todo.kind === kind);
    if (found.length === 0) return [];
    return [{ kind, todos: found, funds: sumFunds(found.flatMap(({ funds = [] }) => funds)) }];
  });
}

/** One amount for each unit. */
export function sumFunds(funds: readonly Funds[]): Funds[] {
  const sums = new Map<string, bigint>();
  for (const { unit, amount } of funds) sums.set(unit, (sums.get(unit) ?? 0n) + BigInt(amount));
  return [...sums].map(([unit, sum]) => ({ unit, amount: String(sum) }));
}
