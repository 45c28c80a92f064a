import { formatAddress } from "../../src/chain/address.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import COMPILED from "./compiled.json" with { type: "json" };

/**
 * A contract of the local chain. It accepts everything (see the Pebble source): worthless as
 * protection, so its script hashes must never be configured for a public network.
 */
export interface DevnetContract {
  type: PaymentSourceType;
  /** The flat program wrapped once as a CBOR byte string, hex. */
  scriptCbor: string;
  /** 28 bytes, hex. */
  scriptHash: string;
  /** Enterprise script address on Preprod, bech32. */
  address: string;
  /** One script is escrow and registry, so this is `scriptHash` again. */
  policyId: string;
}

export const CONTRACTS: readonly DevnetContract[] = [
  contract("Web3ChainV1", COMPILED.Web3ChainV1),
  contract("Web3ChainV2", COMPILED.Web3ChainV2),
];

/** @throws when there is no contract of that generation. */
export function contractOf(type: PaymentSourceType): DevnetContract {
  const found = CONTRACTS.find((candidate) => candidate.type === type);
  if (!found) throw new Error(`no contract of type ${type}`);
  return found;
}

function contract(
  type: PaymentSourceType,
  { scriptCbor, scriptHash }: { scriptCbor: string; scriptHash: string },
): DevnetContract {
  const payment = { kind: "script" as const, hash: scriptHash };
  const address = formatAddress({ network: "Preprod", payment, stake: null });
  return { type, scriptCbor, scriptHash, address, policyId: scriptHash };
}
