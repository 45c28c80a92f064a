import { parseAddress } from "../../chain/address.ts";
import type { PaymentSourceType } from "../../chain/network.ts";
import type { Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { parsedAddressOn } from "../../sources/checks.ts";
import type { ManagedWallet } from "../../wallets/managed/find.ts";

/**
 * Where a seller's revenue goes: to the given address, else to the wallet's `collectionAddress`.
 * Without an Admin, nobody turns a wallet's revenue to an address of their own.
 *
 * @returns null: to the selling wallet itself
 * @throws ApiError 400, 403
 */
export function returnAddressOf(
  caller: Caller,
  given: string | null,
  { wallet, type }: { wallet: ManagedWallet; type: PaymentSourceType },
): string | null {
  const { address, collectionAddress, network } = wallet;
  const chosen =
    given === null
      ? collectionAddress
      : parsedAddressOn(network, "sellerReturnAddress", given).bech32;
  if (chosen === null) return null;
  // The contract of Web3ChainV2 pays out to a key alone.
  if (type === "Web3ChainV2" && parseAddress(chosen)?.payment.kind !== "key")
    throw new ApiError(
      400,
      given === null
        ? "sellerReturnAddress: is required, since the wallet's collectionAddress has no payment key"
        : "sellerReturnAddress: must have a payment key",
    );
  if (caller.permission !== "Admin" && chosen !== address && chosen !== collectionAddress)
    throw new ApiError(
      "permission_missing",
      "sellerReturnAddress: must be the selling wallet's address or its collectionAddress",
    );
  return chosen;
}
