/** Identifiers that the API knows, with the names that people choose them by. */
import { useEffect, useState } from "preact/hooks";
import { type ApiRequest, callApi } from "../api/request.ts";
import { hasAccess } from "../api/session.ts";
import { shortenId } from "./format.ts";
import { textAt } from "./path.ts";
import type { KnownIds, Option } from "./resource.ts";
import { network } from "./route.ts";
import { toWords } from "./words.ts";

const LIST_LIMIT = 100;

/** What is requested; a network's own rows are what is shown of those that have one. */
function createIdsRequest(known: KnownIds): ApiRequest {
  const { method = "GET", path, query = {}, body = {}, limit = LIST_LIMIT } = known;
  const common = known.hasNetwork ? { network: network.value } : {};
  if (method !== "GET") return { method, path, body: { ...common, limit, ...body } };
  const page = known.isWhole ? {} : { limit: String(limit) };
  return { method, path, query: { ...page, ...common, ...query } };
}

/** The options that rows of the shown network make, each id once. */
export function listOptions(known: KnownIds, rows: readonly unknown[]): Option[] {
  return rows
    .filter((row) => [undefined, network.value].includes(textAt(row, "network") || undefined))
    .filter((row) => known.isOffered?.(row) ?? true)
    .map((row) => {
      const names = [
        known.describe?.(row) ?? "",
        ...known.labelPaths
          .map((path) => textAt(row, path))
          .map((text) => (text.includes(" ") ? text : shortenId(toWords(text)))),
      ].filter(Boolean);
      const [label = shortenId(textAt(row, known.idPath)), ...others] = names;
      const details = [known.describeDetail?.(row) ?? "", ...others].filter(Boolean);
      return { id: textAt(row, known.idPath), label, detail: details.join(" · ") };
    })
    .filter(({ id }, i, all) => all.findIndex((one) => one.id === id) === i);
}

const CACHE_MS = 5_000;
const cache = new Map<string, { time: number; rows: Promise<unknown[]> }>();

/** The same list is read once for all who ask within seconds. */
function loadRows(known: KnownIds): Promise<unknown[]> {
  const request = createIdsRequest(known);
  const key = `${network.value} ${known.rowsMember} ${JSON.stringify(request)}`;
  const cached = cache.get(key);
  if (cached && Date.now() - cached.time < CACHE_MS) return cached.rows;
  const rows = callApi<Record<string, unknown[]>>(request).then(
    (data) => data[known.rowsMember] ?? [],
  );
  cache.set(key, { time: Date.now(), rows });
  return rows;
}

/**
 * The options of a list, once they are there; none of a list that cannot be read. Without access, people type
 * identifiers.
 */
export function useKnownOptions(known: KnownIds | undefined): readonly Option[] | null {
  const [options, setOptions] = useState<readonly Option[] | null>(null);
  useEffect(() => {
    if (!known || !hasAccess(known.access)) return;
    let isStopped = false;
    loadRows(known)
      .then((rows) => {
        if (!isStopped) setOptions(listOptions(known, rows));
      })
      // The identifier can be typed in all the same.
      .catch(() => {
        if (!isStopped) setOptions([]);
      });
    return () => {
      isStopped = true;
    };
  }, [known && JSON.stringify(known), network.value]);
  return options;
}
