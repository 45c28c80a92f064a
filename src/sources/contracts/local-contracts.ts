import type { Network } from "../../chain/network.ts";
import { ApiError } from "../../http/errors.ts";

/**
 * Script hashes of the local chain's contracts and policies (`devnet/contracts`). Their administrators'
 * keys can be read in this repository, so real funds must never be locked at them.
 */
export const LOCAL_SCRIPT_HASHES: readonly string[] = [
  "01b7a71a3e959fc3d0b7387b41a3c11d76bce81ef02062c59ed77f58",
  "fecf9c30fc6b001be3b89d7594aea66bc1ee8c02021aca4bc3e92b56",
  "91dff59736a9873f2309e44ded56d7888552e0bfc6c18b7f949b16bc",
  "ed0c3e1d73f9a32dc36448e3130024a9d4decffc129706f8beed4e90",
];

/** Development-only variables. */
export interface DevelopmentEnv {
  LOOPBACK_ORIGINS?: string;
  CONTRACT_TEMPLATES?: string;
  CHAIN_CLOCK?: string;
}

const DEVELOPMENT_VARIABLES = ["LOOPBACK_ORIGINS", "CONTRACT_TEMPLATES", "CHAIN_CLOCK"] as const;

/**
 * Keeps development and real money apart. No contract or policy of the local chain is allowed without
 * the variable `LOOPBACK_ORIGINS`. No Mainnet source is allowed with it, with `CONTRACT_TEMPLATES` or
 * with `CHAIN_CLOCK`.
 *
 * @param scriptHash - payment credential of the contract's address, or policy id, hex; omitted
 *   while neither is known
 * @param field - where the request has it
 * @throws ApiError 400, 409
 */
export function refuseMixingWithDevelopment(
  env: DevelopmentEnv,
  { network, scriptHash }: { network: Network; scriptHash?: string },
  field = "smartContractAddress",
): void {
  for (const variable of DEVELOPMENT_VARIABLES)
    if (env[variable] && network === "Mainnet")
      throw new ApiError(409, `network: must not be Mainnet while ${variable} is set`);
  if (!env.LOOPBACK_ORIGINS && scriptHash && LOCAL_SCRIPT_HASHES.includes(scriptHash))
    throw new ApiError(400, `${field}: belongs to the local chain, whose keys are public`);
}
