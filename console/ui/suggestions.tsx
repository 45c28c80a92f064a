/** Identifiers that the API knows, offered where a person would have to type one. */
import { useEffect, useState } from "preact/hooks";
import { type Call, call } from "../api/request.ts";
import { may } from "../api/session.ts";
import { short } from "./format.ts";
import { textAt } from "./path.ts";
import type { KnownIds } from "./resource.ts";
import { network } from "./route.ts";

const MOST = "100";

/** What is asked for; a network's own rows are what is shown of those that have one. */
function idsCall({ path, query = {}, hasNetwork, isWhole }: KnownIds): Call {
  return {
    method: "GET",
    path,
    query: {
      ...(isWhole ? {} : { limit: MOST }),
      ...(hasNetwork && { network: network.value }),
      ...query,
    },
  };
}

async function readIds(known: KnownIds, signal: AbortSignal) {
  const data = await call<Record<string, unknown[]>>(idsCall(known), signal);
  return (data[known.rows] ?? [])
    .filter((row) => [undefined, network.value].includes(textAt(row, "network") || undefined))
    .map((row) => ({
      id: textAt(row, known.at),
      label: known.label
        .map((path) => textAt(row, path))
        .map((text) => (text.includes(" ") ? text : short(text)))
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
    if (!may(known.needs)) return;
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
