import { isTemporary } from "./errors.ts";
import type { Feed, Position } from "./feeds.ts";
import { pause } from "./transport.ts";

/** An item that changed. */
export interface Change<Item> {
  item: Item;
  /** Store the position once you have processed the item: {@link follow} continues after it. */
  position: string;
}

/** From where, how often and how long a feed is followed. */
export interface FollowOptions {
  /** The position of the last processed item; the beginning of the feed when left out. */
  from?: string | undefined;
  /** Ends after the last change, instead of waiting for more. */
  once?: boolean;
  /** Milliseconds between two polls at the end of the feed; default 10 s. */
  everyMs?: number;
  /** Receives failures of the service or of the connection, after which it waits. */
  onError?: (error: unknown) => void;
  /** Ends it by throwing the signal's reason. */
  signal?: AbortSignal;
}

const EVERY_MS = 10_000;

/**
 * Yields the changes of a feed from a position on: every item at least once after each of its
 * changes. That holds when many items change at once, when a page ends between items of one stamp,
 * and after a restart. An item that changes again before the client reads it appears once, in its
 * newest state.
 *
 * It waits during failures of the service and of the connection, except with `once`.
 *
 * @throws ServiceError when waiting does not help, such as for a revoked key
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
      if (once || signal?.aborted || !isTemporary(error)) throw error;
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
