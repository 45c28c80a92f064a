import type { Network } from "../chain/network.ts";
import { ApiError } from "../http/errors.ts";

/**
 * Script hashes of the local chain's contracts (`devnet/contracts/compiled.json`). They let anyone
 * take anything, so no money may ever be locked at them.
 */
export const LOCAL_CONTRACTS: readonly string[] = [
  "7a0bfe47c7892a25bf7fbb0161fa5efd57798840947d15b6a1865ed5",
  "7ea72154ce3a4156d425458cbe898f63da9b1799d2506049ea5f61e6",
];

/**
 * Keeps development and real money apart: no contract of the local chain without the variable
 * `LOOPBACK_ORIGINS`, no Mainnet source with it.
 *
 * @param scriptHash - payment credential of the contract's address, or policy id, hex
 * @param field - where the request has it
 * @throws ApiError 400, 409
 */
export function refuseMixingWithDevelopment(
  env: { LOOPBACK_ORIGINS?: string },
  source: { network: Network; scriptHash: string },
  field = "smartContractAddress",
): void {
  const isDevelopment = Boolean(env.LOOPBACK_ORIGINS);
  if (isDevelopment && source.network === "Mainnet")
    throw new ApiError(409, "network: no Mainnet source while LOOPBACK_ORIGINS is set");
  if (!isDevelopment && LOCAL_CONTRACTS.includes(source.scriptHash))
    throw new ApiError(
      400,
      `${field}: is the permissive contract of the local chain, which protects nothing`,
    );
}
