/** Identifiers that the API knows, offered where a person would have to type one. */
import { useEffect, useState } from "preact/hooks";
import { type ApiRequest, callApi } from "../api/request.ts";
import { hasAccess } from "../api/session.ts";
import { shortenId } from "./format.ts";
import { textAt } from "./path.ts";
import type { KnownIds } from "./resource.ts";
import { network } from "./route.ts";

const LIST_LIMIT = "100";

/** What is asked for; a network's own rows are what is shown of those that have one. */
function createIdsRequest({ path, query = {}, hasNetwork, isWhole }: KnownIds): ApiRequest {
  return {
    method: "GET",
    path,
    query: {
      ...(isWhole ? {} : { limit: LIST_LIMIT }),
      ...(hasNetwork && { network: network.value }),
      ...query,
    },
  };
}

async function readIds(known: KnownIds, signal: AbortSignal) {
  const data = await callApi<Record<string, unknown[]>>(createIdsRequest(known), signal);
  return (data[known.rowsMember] ?? [])
    .filter((row) => [undefined, network.value].includes(textAt(row, "network") || undefined))
    .map((row) => ({
      id: textAt(row, known.idPath),
      label: known.labelPaths
        .map((path) => textAt(row, path))
        .map((text) => (text.includes(" ") ? text : shortenId(text)))
        .filter(Boolean)
        .join(" · "),
    }));
}

/** @param onOnly - gets an identifier when it is the only one */
export function Suggestions({
  id,
  known,
  onOnly,
}: {
  id: string;
  known: KnownIds;
  onOnly: (id: string) => void;
}) {
  const [rows, setRows] = useState<{ id: string; label: string }[]>([]);
  useEffect(() => {
    if (!hasAccess(known.access)) return;
    const stop = new AbortController();
    readIds(known, stop.signal)
      .then((found) => {
        setRows(found);
        const [first, second] = found;
        if (first && !second) onOnly(first.id);
      })
      // The identifier can be typed in all the same.
      .catch(() => undefined);
    return () => stop.abort();
  }, [known]);
  return (
    <datalist id={id}>
      {rows.map((row) => (
        <option key={row.id} value={row.id} label={row.label} />
      ))}
    </datalist>
  );
}
