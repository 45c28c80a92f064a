/// <reference types="vite/types/importMeta.d.ts" />
/*
 * Vectors of the services we are compatible with. They are kept outside this repository; a clone
 * without them tests the same code with the vectors in `test/vectors`.
 */
import { describe, expect, it } from "vitest";
import { formatAddress, parseAddress } from "../../src/chain/address.ts";
import { hasAgreedAmounts } from "../../src/chain/amounts.ts";
import { bytesToHex } from "../../src/chain/hex.ts";
import type { Network, OnChainState } from "../../src/chain/network.ts";
import { deriveWalletKeys } from "../../src/chain/wallet-keys.ts";
import {
  computeStateAfterSpend,
  findFeePayer,
  lookUpNextAction,
} from "../../src/escrow/model/transitions.ts";
import { selectTemplates } from "../../src/sources/contracts/templates.ts";
import {
  checkDatums,
  checkIdentifiers,
  checkRedeemers,
  checkSlots,
  type DatumVector,
  type IdentifierVector,
} from "./check-vectors.ts";

type MatrixRow = [action: string, state: OnChainState, next: string, isError: boolean];
type FundsRow = [unit: string, amount: string];

interface DeploymentVector {
  appliedScriptHash: string;
  preprodAddress: string;
  mainnetAddress: string;
}

interface SharedVectors {
  wallets: {
    peer_mnemonic_vector: {
      mnemonic: string;
      paymentPublicKey: string;
      walletVkey: string;
      stakeKeyHash: string;
      preprodBaseAddress: string;
    };
    address_pairs: { rows: { address: string; paymentKeyHash: string; stakeKeyHash?: string }[] };
  };
  scripts: {
    defaults: {
      v1: DeploymentVector & { preprodRegistryPolicyId: string; mainnetRegistryPolicyId: string };
      v2: DeploymentVector & { registryPolicyIdBothNetworks: string };
    };
  };
  blockchainIdentifiers: { generated: IdentifierVector[] };
  datums: { rows: DatumVector[] };
  redeemers: Parameters<typeof checkRedeemers>[0];
  txSync: {
    feeAttribution: { redeemer: number; share: string; seller: string; buyer: string }[];
    redeemerToState: {
      r: number;
      new: { state: OnChainState; resultHash: string | null } | null;
      match: boolean;
      state: OnChainState | null;
    }[];
    amountsMatch: { expected: FundsRow[]; actual: FundsRow[]; collateral: string; ok: boolean }[];
  };
  transitionMatrix: { payment: MatrixRow[]; purchasing: MatrixRow[] };
  slots: Parameters<typeof checkSlots>[0];
}

/** Registers the checks; where the vectors are missing, it says so and registers nothing. */
export function checkSharedVectors(): void {
  const found = import.meta.glob<SharedVectors>("../../../shared/vectors/chain.json", {
    eager: true,
    import: "default",
  });
  const [shared] = Object.values(found);
  if (shared) describe("shared vectors", () => check(shared));
  else console.info("../shared/vectors/chain.json is not here: not checked");
}

function check(shared: SharedVectors): void {
  const { v1, v2 } = shared.scripts.defaults;
  checkIdentifiers(shared.blockchainIdentifiers.generated, v1.preprodAddress);
  checkDatums(shared.datums.rows, { V1: v1.preprodAddress, V2: v2.preprodAddress });
  checkRedeemers(shared.redeemers);
  checkSlots(shared.slots);

  it("contracts are derived from the default deployments", () => {
    const addressOf = (network: Network, hash: string) =>
      formatAddress({ network, payment: { kind: "script", hash }, stake: null });
    for (const [type, network, address, policy] of [
      ["Web3ChainV1", "Preprod", v1.preprodAddress, v1.preprodRegistryPolicyId],
      ["Web3ChainV1", "Mainnet", v1.mainnetAddress, v1.mainnetRegistryPolicyId],
      ["Web3ChainV2", "Preprod", v2.preprodAddress, v2.registryPolicyIdBothNetworks],
      ["Web3ChainV2", "Mainnet", v2.mainnetAddress, v2.registryPolicyIdBothNetworks],
    ] as const) {
      const templates = selectTemplates({}, type, network);
      expect(addressOf(network, templates.escrow)).toBe(address);
      expect(templates.policy).toBe(policy);
    }
  });

  it("derives keys and address of a wallet from its words", async () => {
    const wallet = shared.wallets.peer_mnemonic_vector;
    const keys = await deriveWalletKeys(wallet.mnemonic, "Preprod");
    expect(bytesToHex(keys.paymentPublicKey)).toBe(wallet.paymentPublicKey);
    expect(keys.vkey).toBe(wallet.walletVkey);
    expect(keys.stakeVkey).toBe(wallet.stakeKeyHash);
    expect(keys.address).toBe(wallet.preprodBaseAddress);
  });

  it.each(shared.wallets.address_pairs.rows)("takes $address apart", (row) => {
    const parsed = parseAddress(row.address);
    expect(parsed?.payment).toEqual({ kind: "key", hash: row.paymentKeyHash });
    expect(parsed?.stake?.hash).toBe(row.stakeKeyHash);
  });

  it.each([v1, v2])("knows the contract $appliedScriptHash on both networks", (contract) => {
    for (const address of [contract.preprodAddress, contract.mainnetAddress])
      expect(parseAddress(address)?.payment).toEqual({
        kind: "script",
        hash: contract.appliedScriptHash,
      });
    expect(parseAddress(contract.preprodAddress)?.network).toBe("Preprod");
    expect(parseAddress(contract.mainnetAddress)?.network).toBe("Mainnet");
  });

  it.each(shared.txSync.feeAttribution)("the fee of redeemer $redeemer", (row) => {
    const payer = findFeePayer(row.redeemer);
    expect(row.seller).toBe(payer === "seller" ? row.share : "0");
    expect(row.buyer).toBe(payer === "buyer" ? row.share : "0");
  });

  it.each(shared.txSync.redeemerToState)("redeemer $r with $new leads to $state", (row) => {
    expect(computeStateAfterSpend(row.r, row.new, row.match)).toBe(row.state);
  });

  it.each(shared.txSync.amountsMatch)("amounts of $actual for $expected: $ok", (row) => {
    expect(
      hasAgreedAmounts(fundsOf(row.expected), fundsOf(row.actual), BigInt(row.collateral)),
    ).toBe(row.ok);
  });

  it.each([
    ["payment", shared.transitionMatrix.payment, 100],
    ["purchase", shared.transitionMatrix.purchasing, 140],
  ] as const)("every cell of the matrix of a %s", (side, rows, count) => {
    expect(rows).toHaveLength(count);
    const ours = rows.map(([action, state]) => {
      const next = lookUpNextAction(side, action, state);
      return [action, state, next.action, next.error !== null];
    });
    expect(ours).toEqual(rows);
  });
}

function fundsOf(rows: FundsRow[]) {
  return rows.map(([unit, amount]) => ({
    unit: unit === "lovelace" ? "" : unit,
    amount: BigInt(amount),
  }));
}
