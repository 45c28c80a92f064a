/** What people call an identifier. */
import { shortenId } from "./format.ts";
import { useKnownOptions } from "./known-options.ts";
import type { KnownIds } from "./resource.ts";

/** Until the name is known, and where there is none, the identifier is shown, shortened. */
export function KnownName({ known, id }: { known: KnownIds; id: string }) {
  const name = useKnownOptions(known)?.find((option) => option.id === id)?.label;
  return <span title={id}>{name ?? shortenId(id)}</span>;
}
