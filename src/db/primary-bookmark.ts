import { AsyncLocalStorage } from "node:async_hooks";

interface TrackedRequest {
  bookmark: string | null;
}

const requests = new AsyncLocalStorage<TrackedRequest>();

/**
 * Runs a request, and returns its result with the newest bookmark that the primary answered it with;
 * null: it was not asked. A request inside another one adds to the bookmark of both.
 */
export async function trackPrimaryBookmark<Result>(
  work: () => Promise<Result>,
): Promise<{ result: Result; bookmark: string | null }> {
  const request = requests.getStore() ?? { bookmark: null };
  const result = await requests.run(request, work);
  return { result, bookmark: request.bookmark };
}

/**
 * Replaces the bookmarks of the request's own calls, which are older than the write of an object. Null:
 * the object does not know its own.
 */
export function replacePrimaryBookmark(bookmark: string | null): void {
  const request = requests.getStore();
  if (request) request.bookmark = bookmark;
}

/** Adds a bookmark of the primary to the request that asked it. Newer bookmarks sort last, as D1 documents. */
export function addPrimaryBookmark(bookmark: string | null): void {
  const request = requests.getStore();
  if (request && bookmark !== null && bookmark > (request.bookmark ?? ""))
    request.bookmark = bookmark;
}
