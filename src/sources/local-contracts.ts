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

/** Variables that are for development only. */
export interface DevelopmentEnv {
  LOOPBACK_ORIGINS?: string;
  CONTRACT_TEMPLATES?: string;
}

/**
 * Keeps development and real money apart: no contract of the local chain without the variable
 * `LOOPBACK_ORIGINS`, no Mainnet source with it or with `CONTRACT_TEMPLATES`.
 *
 * @param scriptHash - payment credential of the contract's address, or policy id, hex; left out
 *   where neither is known yet
 * @param field - where the request has it
 * @throws ApiError 400, 409
 */
export function refuseMixingWithDevelopment(
  env: DevelopmentEnv,
  { network, scriptHash }: { network: Network; scriptHash?: string },
  field = "smartContractAddress",
): void {
  for (const variable of ["LOOPBACK_ORIGINS", "CONTRACT_TEMPLATES"] as const)
    if (env[variable] && network === "Mainnet")
      throw new ApiError(409, `network: no Mainnet source while ${variable} is set`);
  if (!env.LOOPBACK_ORIGINS && scriptHash && LOCAL_CONTRACTS.includes(scriptHash))
    throw new ApiError(
      400,
      `${field}: is the permissive contract of the local chain, which protects nothing`,
    );
}
