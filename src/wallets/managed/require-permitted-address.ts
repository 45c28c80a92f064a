import type { Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import type { ManagedWallet } from "./find-wallet.ts";

/**
 * Without Admin, a key sends what belongs to a wallet to the wallet's own addresses, or to one of the
 * key's `returnAddresses`.
 *
 * @param address - bech32
 * @throws ApiError 403
 */
export function requirePermittedAddress(
  caller: Caller,
  field: string,
  address: string,
  wallets: readonly Pick<ManagedWallet, "address" | "collectionAddress">[],
): void {
  const isOwn = wallets.some(
    (wallet) => address === wallet.address || address === wallet.collectionAddress,
  );
  const isNamed = caller.scope?.returnAddresses.includes(address);
  if (caller.permission === "Admin" || isOwn || isNamed) return;
  throw new ApiError(
    "permission_missing",
    `${field}: must be the wallet's own address, its collectionAddress, or one of the API key's returnAddresses`,
  );
}
