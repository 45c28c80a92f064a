import * as z from "zod";
import type { Network, PaymentSourceType } from "../../chain/network.ts";
import { type DevelopmentEnv, LOCAL_SCRIPT_HASHES } from "./local-contracts.ts";

/** On-chain scripts whose bytes, with other parameters, make a new contract. */
export interface ContractTemplates {
  /** Script hash of an escrow, hex. */
  escrow: string;
  /** Of its registry policy, hex. That of Web3ChainV2 takes no parameters: it serves every escrow. */
  policy: string;
}

const V1_ESCROW_HASH = "bd2adb685621e224aae7571cb6bd8f0beb0fdd31875eb3a27feee6c0";
const V2_TEMPLATES = {
  escrow: "a15ce9d82d2f67645fc624e2edac03c6f1c106d0ad1af5815a3b14ad",
  policy: "67ab0c92c4ac1610895a1c965ee50aba41a8f1513b15240723b3bd0b",
};

/**
 * The default deployments of both generations, which every operator knows by their addresses:
 * addr_test1wz7j4kmg… and addr1wx7j4kmg… of V1, addr_test1wzs4e6wc… and addr1wxs4e6wc… of V2.
 */
const DEPLOYED_TEMPLATES: Record<PaymentSourceType, Record<Network, ContractTemplates>> = {
  Web3ChainV1: {
    Preprod: {
      escrow: V1_ESCROW_HASH,
      policy: "7e8bdaf2b2b919a3a4b94002cafb50086c0c845fe535d07a77ab7f77",
    },
    Mainnet: {
      escrow: V1_ESCROW_HASH,
      policy: "ad6424e3ce9e47bbd8364984bd731b41de591f1d11f6d7d43d0da9b9",
    },
  },
  Web3ChainV2: { Preprod: V2_TEMPLATES, Mainnet: V2_TEMPLATES },
};

const hash = z.string().regex(/^[0-9a-f]{56}$/);
const templates = z.strictObject({ escrow: hash, policy: hash });
const templatesVariable = z.strictObject({
  Web3ChainV1: templates.optional(),
  Web3ChainV2: templates.optional(),
});

/**
 * The scripts that a contract is derived from: those of the default deployment, or in development
 * those of `CONTRACT_TEMPLATES`.
 *
 * @throws Error when the variable is malformed
 */
export function selectTemplates(
  env: { CONTRACT_TEMPLATES?: string },
  type: PaymentSourceType,
  network: Network,
): ContractTemplates {
  const { CONTRACT_TEMPLATES: text } = env;
  const replaced = text ? templatesVariable.parse(JSON.parse(text))[type] : undefined;
  return replaced ?? DEPLOYED_TEMPLATES[type][network];
}

/**
 * Whether agents of a contract are minted under a policy today. This is the policy of the default
 * deployment, or in development a policy of the local chain.
 *
 * @param policyId - hex
 * @throws Error when the variable `CONTRACT_TEMPLATES` is malformed
 */
export function isCurrentPolicy(
  env: DevelopmentEnv,
  { type, network, policyId }: { type: PaymentSourceType; network: Network; policyId: string },
): boolean {
  if (env.LOOPBACK_ORIGINS && LOCAL_SCRIPT_HASHES.includes(policyId)) return true;
  return selectTemplates(env, type, network).policy === policyId;
}
