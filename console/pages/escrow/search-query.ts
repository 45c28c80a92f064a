/** What the API is asked for when people search escrows by a text. */

/** The API searches no longer text; only an escrow's identifier is longer. */
const MAX_SEARCH_LENGTH = 250;

/** @param text - as it was typed or pasted; a longer one that is no identifier finds nothing */
export function toSearchQuery(text: string): Record<string, string> {
  const entered = text.trim();
  const isIdentifier = entered.length > MAX_SEARCH_LENGTH && /^[\da-f]{1,8000}$/i.test(entered);
  if (isIdentifier) return { blockchainIdentifier: entered };
  return { searchQuery: entered.slice(0, MAX_SEARCH_LENGTH) };
}
