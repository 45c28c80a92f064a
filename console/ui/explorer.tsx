/** Links to a block explorer. The build sets the address for each network and EVM chain. */
import { ExternalLink } from "lucide";
import { Icon } from "./icon.tsx";
import { network } from "./route.ts";

/** What an explorer has a page for, as its addresses say it. */
export type ExplorerPage = "tx" | "address";

/**
 * Addresses of explorers, by network of Cardano or CAIP-2 id of an EVM chain. `{page}` is `tx` or
 * `address`, and `{id}` what is shown. None, or an empty text, means that there is no explorer.
 */
declare const EXPLORER_URLS: Readonly<Record<string, string>>;

const EVM_ID = /^0x[\da-f]+$/i;

/** @param chain - the CAIP-2 id of an EVM chain; undefined: the network that is shown */
export function ExplorerLink({
  page,
  id,
  chain,
}: {
  page: ExplorerPage;
  id: string;
  chain?: string | undefined;
}) {
  const template = EXPLORER_URLS[chain ?? network.value] ?? "";
  if (template === "" || (chain !== undefined && !EVM_ID.test(id))) return null;
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
