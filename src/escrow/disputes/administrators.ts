import { parseAddress } from "../../chain/address.ts";
import type { SourceRow } from "../../sources/source-row.ts";

/**
 * Who signs when nobody is named: administrators in their order, as many as are enough.
 *
 * @param administrators - payment key hashes, as often as each counts
 */
export function selectDefaultSigners(
  administrators: readonly string[],
  required: number,
): string[] {
  const selected: string[] = [];
  for (const one of new Set(administrators)) {
    const places = administrators.filter((other) => selected.includes(other)).length;
    if (places < required) selected.push(one);
  }
  return selected;
}

/** Payment key hashes of a source's administrators, as often as each counts. */
export function parseAdministratorKeys({
  adminWallets,
}: Pick<SourceRow, "adminWallets">): string[] {
  const wallets = JSON.parse(adminWallets) as { walletAddress: string }[];
  return wallets.flatMap(({ walletAddress }) => parseAddress(walletAddress)?.payment.hash ?? []);
}
