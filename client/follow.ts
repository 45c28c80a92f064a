import { ServiceError } from "./errors.ts";
import type { Feed, Position } from "./feeds.ts";
import { pause } from "./transport.ts";

/** An item that changed. */
export interface Change<Item> {
  item: Item;
  /** Keep it once the item has been dealt with: {@link follow} goes on after it. */
  position: string;
}

/** From where, how often and how long a feed is followed. */
export interface FollowOptions {
  /** The position of the last item that was dealt with; the very beginning when left out. */
  from?: string | undefined;
  /** Ends when there is nothing more for now, instead of waiting for it. */
  once?: boolean;
  /** Milliseconds between two looks at the end of the feed; default 10 s. */
  everyMs?: number;
  /** Told of what is waited out: a failure of the service or of the connection. */
  onError?: (error: unknown) => void;
  /** Ends it by throwing the signal's reason. */
  signal?: AbortSignal;
}

const EVERY_MS = 10_000;

/**
 * Follows what changes, from a position on: every item is seen at least once after each of its changes,
 * also when many change at once, when pages end between items of one stamp, and after a restart from a
 * position that was kept. An item that changes again before it is read is seen once, as it is then.
 *
 * Failures of the service and of the connection are waited out, unless it ends by itself (`once`).
 *
 * @throws ServiceError for what waiting does not mend, such as a key that is revoked
 *
 * @example
 * for await (const { item, position } of follow(purchaseFeed(client, "Preprod"), { from })) {
 *   await note(item);
 *   await keep(position);
 * }
 */
export async function* follow<Item extends { id: string }>(
  feed: Feed<Item>,
  { from, once = false, everyMs = EVERY_MS, onError, signal }: FollowOptions = {},
): AsyncGenerator<Change<Item>, void, undefined> {
  let position = from === undefined ? null : positionOf(from);
  for (;;) {
    signal?.throwIfAborted();
    let news: Item[] = [];
    try {
      const items = await feed.page(position, signal);
      // The last item is returned again, so that a page is never empty for another reason than the end.
      news = items.filter((one) => one.id !== position?.id || feed.stampOf(one) !== position.stamp);
    } catch (error) {
      if (once || signal?.aborted || !mayPass(error)) throw error;
      onError?.(error);
    }
    for (const item of news) {
      position = { stamp: feed.stampOf(item), id: item.id };
      yield { item, position: `${position.stamp}/${position.id}` };
    }
    if (news.length > 0) continue;
    if (once) return;
    await pause(everyMs, signal);
  }
}

/** @throws TypeError when it is none. */
function positionOf(text: string): Position {
  const [stamp = "", id = ""] = text.split("/", 2);
  if (Number.isNaN(Date.parse(stamp)) || id === "") throw new TypeError(`no position: ${text}`);
  return { stamp, id };
}

/** Whether a failure is one that passes: of the service, of its limits or of the connection. */
function mayPass(error: unknown): boolean {
  return !(error instanceof ServiceError) || error.status === 429 || error.status >= 500;
}
