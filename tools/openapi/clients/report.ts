/** What a program does with its client, for the test to compare with what the service has. */
export interface Report {
  /** Addresses of the contracts of all payment sources, from a list. */
  contracts: string[];
  /** Ids of all purchases, from a diff that was read in pages of two. */
  purchases: string[];
  /** Ids that two requests under one Idempotency-Key got. */
  created: string[];
  /** An error that was caused on purpose. */
  refused: { status: number; code: "invalid_request"; field: string | undefined };
}

/** Where the service is, from the environment. */
export const service = {
  baseUrl: process.env.SERVICE_URL ?? "",
  token: process.env.SERVICE_TOKEN ?? "",
};

/** What a page of a diff tells of its items. */
interface Changed {
  id: string;
  onChainStateOrResultLastChangedAt: string;
}

/**
 * Follows the diff of purchases to its end, as its description in the document says.
 *
 * @param page - gets a page; nothing is sent for the first
 */
export async function follow(
  page: (query: { lastUpdate?: string; cursorId?: string }) => Promise<Changed[]>,
): Promise<string[]> {
  const ids = new Set<string>();
  let items = await page({});
  for (;;) {
    for (const { id } of items) ids.add(id);
    const last = items.at(-1);
    // The cursor item is returned again: alone, it is the end.
    if (!last || (items.length === 1 && ids.size > 1)) return [...ids];
    items = await page({ lastUpdate: last.onChainStateOrResultLastChangedAt, cursorId: last.id });
  }
}
