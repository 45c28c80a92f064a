/** The contracts of the local chain, with the terms of `terms.ts`. */
import { PAYMENT_SOURCE_TYPES, type PaymentSourceType } from "../../src/chain/network.ts";
import type { ContractTemplates } from "../../src/sources/contracts/templates.ts";
import { type Deployment, deploy, openDeployment, readyContracts } from "./deployment.ts";
import type { ReadyContracts } from "./ready.ts";
import { TERMS } from "./terms.ts";

/** Compiled once for the scripts that replace ours. */
let deployed: (Record<PaymentSourceType, Deployment> & { ready: ReadyContracts }) | undefined;

/**
 * @param rules - `open` is the contract without any
 * @throws Error in one sentence when `ESCROW_CONTRACTS` names a file that is not right
 */
export function contractOf(type: PaymentSourceType, rules?: "open"): Deployment {
  if (rules === "open") return openDeployment(type);
  const ready = readyContracts();
  if (deployed?.ready !== ready)
    deployed = {
      ready,
      Web3ChainV1: deploy(TERMS.Web3ChainV1),
      Web3ChainV2: deploy(TERMS.Web3ChainV2),
    };
  return deployed[type];
}

/** All contracts of the local chain. */
export const contracts = (): Deployment[] => PAYMENT_SOURCE_TYPES.map((type) => contractOf(type));

/**
 * `CONTRACT_TEMPLATES` of the local chain. Contracts with other parameters are derived from them.
 */
export function templates(): Record<PaymentSourceType, ContractTemplates> {
  const of = (type: PaymentSourceType): ContractTemplates => {
    const { escrow, policy } = contractOf(type);
    return { escrow: escrow.hash, policy: policy.hash };
  };
  return { Web3ChainV1: of("Web3ChainV1"), Web3ChainV2: of("Web3ChainV2") };
}
