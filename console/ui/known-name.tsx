/** What people call an identifier. */
import { Fragment } from "preact";
import { shortenId } from "./format.ts";
import { useKnownOptions } from "./known-options.ts";
import type { KnownIds } from "./resource.ts";

/** One identifier, or several. */
export function KnownNames({ known, value }: { known: KnownIds; value: unknown }) {
  return [value].flat().map((id, i) => (
    <Fragment key={id}>
      {i > 0 && ", "}
      <KnownName known={known} id={String(id)} />
    </Fragment>
  ));
}

/** Until the name is known, and where there is none, the identifier is shown, shortened. */
export function KnownName({ known, id }: { known: KnownIds; id: string }) {
  const name = useKnownOptions(known)?.find((option) => option.id === id)?.label;
  return <span title={id}>{name ?? shortenId(id)}</span>;
}
