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

async function readOptions(known: KnownIds): Promise<Option[]> {
  const data = await callApi<Record<string, unknown[]>>(createIdsRequest(known));
  return (data[known.rowsMember] ?? [])
    .filter((row) => [undefined, network.value].includes(textAt(row, "network") || undefined))
    .map((row) => {
      const names = [
        known.describe?.(row) ?? "",
        ...known.labelPaths
          .map((path) => textAt(row, path))
          .map((text) => (text.includes(" ") ? text : shortenId(toWords(text)))),
      ].filter(Boolean);
      const [label = shortenId(textAt(row, known.idPath)), ...details] = names;
      return { id: textAt(row, known.idPath), label, detail: details.join(" · ") };
    })
    .filter(({ id }, i, all) => all.findIndex((one) => one.id === id) === i);
}

const CACHE_MS = 5_000;
const cache = new Map<string, { time: number; options: Promise<Option[]> }>();

/** The same list is read once for all who ask within seconds. */
function loadOptions(known: KnownIds): Promise<Option[]> {
  const key = `${network.value} ${JSON.stringify(known)}`;
  const cached = cache.get(key);
  if (cached && Date.now() - cached.time < CACHE_MS) return cached.options;
  const options = readOptions(known);
  cache.set(key, { time: Date.now(), options });
  return options;
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
    loadOptions(known)
      .then((found) => {
        if (!isStopped) setOptions(found);
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
