/** Links to a block explorer. The build sets the address for each network. */
import { ExternalLink } from "lucide";
import { Icon } from "./icon.tsx";
import { type NETWORKS, network } from "./route.ts";

/** What an explorer has a page for, as its addresses say it. */
export type ExplorerPage = "tx" | "address";

/**
 * Addresses of explorers, with places for `{page}`, which is `tx` or `address`, and for `{id}`. An empty text
 * means none.
 */
declare const EXPLORER_URLS: Readonly<Record<(typeof NETWORKS)[number], string>>;

export function ExplorerLink({ page, id }: { page: ExplorerPage; id: string }) {
  const template = EXPLORER_URLS[network.value];
  if (template === "") return null;
  const href = template.replace("{page}", page).replace("{id}", encodeURIComponent(id));
  const what = page === "tx" ? "transaction" : "address";
  return (
    <a
      class="explore"
      href={href}
      target="_blank"
      rel="noreferrer"
      title={`Open the ${what} in an explorer`}
      aria-label={`Open the ${what} ${id.slice(0, 10)} in an explorer`}
    >
      <Icon node={ExternalLink} size={14} />
    </a>
  );
}
