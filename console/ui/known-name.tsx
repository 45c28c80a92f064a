/** What people call an identifier. */
import { Fragment } from "preact";
import { hasAccess } from "../api/session.ts";
import { shortenId } from "./format.ts";
import { useKnownOptions } from "./known-options.ts";
import type { KnownIds } from "./resource.ts";

/** One identifier, or several. */
export function KnownNames({ known, value }: { known: KnownIds; value: unknown }) {
  return (
    <span>
      {[value].flat().map((id, i) => (
        <Fragment key={id}>
          {i > 0 && ", "}
          <KnownName known={known} id={String(id)} />
        </Fragment>
      ))}
    </span>
  );
}

/** Where there is no name, the identifier is shown, shortened. */
export function KnownName({ known, id }: { known: KnownIds; id: string }) {
  const options = useKnownOptions(known);
  const isOnItsWay = options === null && hasAccess(known.access);
  const name = options?.find((option) => option.id === id)?.label;
  return <span title={id}>{isOnItsWay ? "…" : (name ?? shortenId(id))}</span>;
}
