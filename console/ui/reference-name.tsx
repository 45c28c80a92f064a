/** What a row names by an identifier: what it is, what it is called, and a link to it. */
import { shortenId } from "./format.ts";
import { KnownName } from "./known-name.tsx";
import type { Reference } from "./resource.ts";
import { PageLink } from "./value.tsx";

export function ReferenceName({ reference }: { reference: Reference }) {
  const { what, id, label, knownIds, page, pageId, query } = reference;
  const name = knownIds ? (
    <KnownName known={knownIds} id={id} />
  ) : (
    <span title={id}>{label ?? shortenId(id)}</span>
  );
  return (
    <span>
      {what && `${what} `}
      {page ? (
        <PageLink to={page} id={pageId ?? ""} query={query}>
          {name}
        </PageLink>
      ) : (
        name
      )}
    </span>
  );
}
