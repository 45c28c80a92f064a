const RESERVED_SLUGS: readonly string[] = ["favicon.ico", "robots.txt", "sitemap.xml"].map(
  normalizeSlug,
);
/** Matches the texts that `findSlugProblem` accepts. */
export const SLUG_PATTERN = `^(?!(${RESERVED_SLUGS.join("|")})$)[a-z0-9]+(-[a-z0-9]+)*$`;

/**
 * The normalized form of a slug: without diacritics, lower-case, words of `a-z0-9` joined by single
 * hyphens. An inbox is found by it, so two names with the same form are one inbox.
 */
export function normalizeSlug(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** Why a text is not a slug; null when it is one. */
export function findSlugProblem(text: string): string | null {
  const normal = normalizeSlug(text);
  if (normal !== text || text === "")
    return normal === "" ? "must have letters or digits" : `must be written as ${normal}`;
  return RESERVED_SLUGS.includes(text) ? "is reserved" : null;
}
