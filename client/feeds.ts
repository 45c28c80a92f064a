import type { Client, Schemas } from "./client.ts";
import { unwrap } from "./errors.ts";

/** The last item that was read of a feed. */
export interface Position {
  /** Its stamp, ISO 8601 with milliseconds. */
  stamp: string;
  id: string;
}

/** What changes, in the order of its changes. */
export interface Feed<Item extends { id: string }> {
  /** The items from a position on, that one included; from the very first for null. */
  page(position: Position | null, signal?: AbortSignal): Promise<Item[]>;
  /** When an item changed, as the feed orders it. */
  stampOf(item: Item): string;
}

type Network = Schemas["Network"];
/** Which changes of an escrow are followed. */
export type Changes = "any" | "onChain" | "nextAction";

/** What is followed of the escrows of a network. */
export interface EscrowFeedOptions {
  /** Default `any`. */
  changes?: Changes;
  /** Items of a page at most, 1 to 100; default 100. */
  limit?: number;
}

const DIFFS = {
  any: { path: "", stamp: "nextActionOrOnChainStateOrResultLastChangedAt" },
  onChain: { path: "/onchain-state-or-result", stamp: "onChainStateOrResultLastChangedAt" },
  nextAction: { path: "/next-action", stamp: "nextActionLastChangedAt" },
} as const;
const ESCROWS_PER_PAGE = 100;
const AGENTS_PER_PAGE = 50;
const BEGINNING = "1970-01-01T00:00:00.000Z";

/** Purchases that a key sees, for {@link follow}. */
export function purchaseFeed(
  client: Client,
  network: Network,
  { changes = "any", limit = ESCROWS_PER_PAGE }: EscrowFeedOptions = {},
): Feed<Schemas["Purchase"]> {
  const { path, stamp } = DIFFS[changes];
  return conditional(
    async (position, init) => {
      const params = { query: { network, limit, ...since(position) } };
      return client.GET(`/api/v1/purchase/diff${path}`, { params, ...init });
    },
    ({ Purchases }) => Purchases,
    (purchase) => purchase[stamp],
  );
}

/** Payments that a key sees, for {@link follow}. */
export function paymentFeed(
  client: Client,
  network: Network,
  { changes = "any", limit = ESCROWS_PER_PAGE }: EscrowFeedOptions = {},
): Feed<Schemas["Payment"]> {
  const { path, stamp } = DIFFS[changes];
  return conditional(
    async (position, init) => {
      const params = { query: { network, limit, ...since(position) } };
      return client.GET(`/api/v1/payment/diff${path}`, { params, ...init });
    },
    ({ Payments }) => Payments,
    (payment) => payment[stamp],
  );
}

/** Entries of the agent registry, for {@link follow}. */
export function registryFeed(client: Client, network: Network): Feed<Schemas["RegistryEntry"]> {
  return conditional(
    async (position, init) => {
      const body = { network, limit: AGENTS_PER_PAGE, ...updatedAfter(position) };
      return client.POST("/api/v1/registry-diff", { body, ...init });
    },
    ({ entries }) => entries,
    ({ statusUpdatedAt }) => statusUpdatedAt,
  );
}

/** Inbox registrations, for {@link follow}. */
export function inboxFeed(client: Client, network: Network): Feed<Schemas["InboxRegistration"]> {
  return conditional(
    async (position, init) => {
      const body = { network, limit: AGENTS_PER_PAGE, ...updatedAfter(position) };
      return client.POST("/api/v1/inbox-agent-registration-diff", { body, ...init });
    },
    ({ registrations }) => registrations,
    ({ statusUpdatedAt }) => statusUpdatedAt,
  );
}

/** A feed that asks for a page it has seen on the condition that it has changed. */
function conditional<Data, Item extends { id: string }>(
  ask: (
    position: Position | null,
    init: { headers: Record<string, string>; signal?: AbortSignal },
  ) => Promise<{ data?: { data: Data }; error?: unknown; response: Response }>,
  itemsOf: (data: Data) => Item[],
  stampOf: (item: Item) => string,
): Feed<Item> {
  let seen: { at: string; etag: string; items: Item[] } | null = null;
  return {
    stampOf,
    async page(position, signal) {
      const at = JSON.stringify(position);
      const known = seen?.at === at ? seen : null;
      const headers: Record<string, string> = known ? { "If-None-Match": known.etag } : {};
      const answer = await ask(position, signal ? { headers, signal } : { headers });
      if (known && answer.response.status === 304) return known.items;
      const items = itemsOf(unwrap(answer));
      const etag = answer.response.headers.get("etag");
      seen = etag === null ? null : { at, etag, items };
      return items;
    },
  };
}

function since(position: Position | null) {
  return position && { lastUpdate: position.stamp, cursorId: position.id };
}

function updatedAfter(position: Position | null) {
  return {
    statusUpdatedAfter: position?.stamp ?? BEGINNING,
    ...(position && { cursorId: position.id }),
  };
}
