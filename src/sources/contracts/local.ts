import type { Network } from "../../chain/network.ts";
import { ApiError } from "../../http/errors.ts";

/**
 * Script hashes of the local chain's contracts and policies (`devnet/contracts`). Their administrators'
 * keys can be read in this repository, so real funds must never be locked at them.
 */
export const LOCAL_CONTRACTS: readonly string[] = [
  "c822adf9325d11bb65afcf65471544b38703f2f2932fd94d68ad1e02",
  "cdf11b700df3804c56ef01c27dda79627b41943763edc2e1f77694eb",
  "1972915b819a2cc59b00b617dbb645f7de4e0a05d04013ffc408cdc9",
  "ed0c3e1d73f9a32dc36448e3130024a9d4decffc129706f8beed4e90",
];

/** Development-only variables. */
export interface DevelopmentEnv {
  LOOPBACK_ORIGINS?: string;
  CONTRACT_TEMPLATES?: string;
  CHAIN_CLOCK?: string;
}

const NEVER_WITH_MAINNET = ["LOOPBACK_ORIGINS", "CONTRACT_TEMPLATES", "CHAIN_CLOCK"] as const;

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
  for (const variable of NEVER_WITH_MAINNET)
    if (env[variable] && network === "Mainnet")
      throw new ApiError(409, `network: no Mainnet source while ${variable} is set`);
  if (!env.LOOPBACK_ORIGINS && scriptHash && LOCAL_CONTRACTS.includes(scriptHash))
    throw new ApiError(400, `${field}: is of the local chain, whose keys everybody knows`);
}
