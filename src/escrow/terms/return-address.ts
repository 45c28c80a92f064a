import { parseAddress } from "../../chain/address.ts";
import type { Network, PaymentSourceType } from "../../chain/network.ts";
import type { Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { requireAddress } from "../../sources/validate-request.ts";
import type { ManagedWallet } from "../../wallets/managed/find-wallet.ts";
import { requirePermittedAddress } from "../../wallets/managed/require-permitted-address.ts";

/**
 * Where a seller's revenue goes: to the given address, else to the wallet's `collectionAddress`.
 *
 * @returns null: to the selling wallet itself
 * @throws ApiError 400, 403
 */
export function resolveReturnAddress(
  caller: Caller,
  given: string | null,
  { wallet, type }: { wallet: ManagedWallet; type: PaymentSourceType },
): string | null {
  const { collectionAddress, network } = wallet;
  const field = "sellerReturnAddress";
  if (given !== null) {
    const address = requirePayableAddress(network, field, given, type);
    requirePermittedAddress(caller, field, address, [wallet]);
    return address;
  }
  if (collectionAddress !== null && !isPayableAddress(collectionAddress, type))
    throw new ApiError(
      400,
      `${field}: is required, since the wallet's collectionAddress has no payment key`,
    );
  return collectionAddress;
}

/**
 * An address that a contract can pay out to.
 *
 * @throws ApiError 400
 */
export function requirePayableAddress(
  network: Network,
  field: string,
  text: string,
  type: PaymentSourceType,
): string {
  const address = requireAddress(network, field, text);
  if (!isPayableAddress(address, type))
    throw new ApiError(400, `${field}: must have a payment key`);
  return address;
}

/** The contract of Web3ChainV2 pays out to a key alone. */
function isPayableAddress(address: string, type: PaymentSourceType): boolean {
  return type === "Web3ChainV1" || parseAddress(address)?.payment.kind === "key";
}
