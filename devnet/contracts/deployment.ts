/**
 * The contracts of both generations with their parameters: compiled from our own programs within
 * milliseconds, or read by `ready.ts`. docs/escrow-contract.md has their rules.
 */
import { formatAddress } from "../../src/chain/address.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import {
  type EscrowParameters,
  encodeEscrowParameters,
  encodePolicyParameters,
} from "../../src/chain/plutus/contract-parameters.ts";
import type { PlutusData } from "../../src/chain/plutus/data.ts";
import { ESCROW_V1 } from "./escrow/v1.ts";
import { ESCROW_V2 } from "./escrow/v2.ts";
import { OPEN } from "./open.ts";
import { compile } from "./plutus/compile.ts";
import { type ReadyContracts, readReadyContracts } from "./ready.ts";
import { POLICY_V1, POLICY_V2 } from "./registry/policies.ts";
import { type Script, scriptOf } from "./scripts.ts";

/** An escrow contract and the policy of its registry, on Preprod. */
export interface Deployment {
  type: PaymentSourceType;
  /** Enterprise address of the escrow, bech32. */
  address: string;
  escrow: Script;
  policy: Script;
}

/** Of the file that was read last. */
let ready: { path: string | undefined; contracts: ReadyContracts } | undefined;

/**
 * The scripts of `ESCROW_CONTRACTS`, if it is set.
 *
 * @throws Error in one sentence when the file is not right
 */
export function readyContracts(): ReadyContracts {
  const { ESCROW_CONTRACTS: path } = process.env;
  if (!ready || ready.path !== path)
    ready = { path, contracts: path ? readReadyContracts(path) : {} };
  return ready.contracts;
}

/** Our programs, with parameters in the form of the default deployment. */
const OWN = {
  Web3ChainV1: {
    escrow: (parameters: readonly PlutusData[]) => compile(ESCROW_V1, parameters, "case"),
    policy: (parameters: readonly PlutusData[]) => compile(POLICY_V1, parameters),
  },
  Web3ChainV2: {
    escrow: (parameters: readonly PlutusData[]) => compile(ESCROW_V2, parameters),
    policy: (parameters: readonly PlutusData[]) => compile(POLICY_V2, parameters),
  },
};

/**
 * Puts parameters into a contract and its policy.
 *
 * @param instead - scripts that replace ours
 * @throws Error in one sentence when a script does not take the parameters
 */
export function deploy(
  terms: EscrowParameters,
  instead: ReadyContracts = readyContracts(),
): Deployment {
  const { type } = terms;
  const ready = instead[type];
  const own = OWN[type];
  const parameters = encodeEscrowParameters(terms);
  const escrow = ready ? ready.escrow(parameters) : scriptOf(own.escrow(parameters));
  const address = addressOf(escrow);
  // The policy of Web3ChainV2 takes none: it serves every escrow.
  const ofPolicy = type === "Web3ChainV1" ? encodePolicyParameters(address) : [];
  const policy = ready?.policy ? ready.policy(ofPolicy) : scriptOf(own.policy(ofPolicy));
  return { type, address, escrow, policy };
}

const open = scriptOf(compile(OPEN));

/** The contract without rules; its escrows are those of a generation. */
export const openDeployment = (type: PaymentSourceType): Deployment => ({
  type,
  address: addressOf(open),
  escrow: open,
  policy: open,
});

const addressOf = ({ hash }: Script): string =>
  formatAddress({ network: "Preprod", payment: { kind: "script", hash }, stake: null });
