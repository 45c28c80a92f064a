/** Registry tokens of agents: minted with their metadata, and burned. */
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { encodeRedeemer } from "../../../src/chain/contracts/redeemers.ts";
import { computeRegistryAssetName } from "../../../src/chain/contracts/registry-token.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import type { Deployment } from "../../contracts/deployment.ts";
import type { Chain } from "../../ledger/chain.ts";
import type { Metadatum } from "./metadata.ts";
import { walletOf } from "./selection.ts";
import { buildTransaction } from "./transaction.ts";
import type { Wallet } from "./wallets.ts";

/** Constructor numbers of redeemers. Web3ChainV1 has no update. */
const METHODS = {
  Web3ChainV1: { mint: 0, update: 0, burn: 1 },
  Web3ChainV2: { mint: 0, update: 1, burn: 2 },
} as const;
/** Bytes at the end of a name of Web3ChainV2 that number its versions. */
const VERSION_BYTES = 3;
/** CIP-25. */
const NFT_LABEL = 721;
const HELD_WITH_TOKEN = 8_000_000n;

/** A token in somebody's wallet. */
export interface Token {
  contract: Deployment;
  holder: Wallet;
  /** Hex, 32 bytes. */
  assetName: string;
  /** Policy id and asset name, hex. */
  unit: string;
  txHash: string;
}

/**
 * Mints one token into a wallet; `metadata` stands under label 721, its policy and its name.
 *
 * @param assetName hex; the one that the policy wants when omitted.
 * @throws LedgerRejection when the ledger refuses it.
 */
export function mintToken(
  chain: Chain,
  contract: Deployment,
  holder: Wallet,
  metadata: Metadatum,
  assetName?: string,
): Token {
  const order = { metadata, ...(assetName !== undefined && { assetName }) };
  const [token] = mintTokens(chain, contract, holder, [order]);
  if (!token) throw new Error("nothing was minted");
  return token;
}

/** How a minting transaction touches tokens that are none of its business. */
export interface Beside {
  /** Named as reference inputs, whoever holds them. */
  references?: Token[];
  /** Spent and sent back to their holder, who is the minter. */
  carries?: Token[];
  /** Put up as collateral by its holder, who is the minter. */
  collateral?: Token;
  /**
   * Burned in the same transaction. On Web3ChainV2 this is an update: each minted token replaces the
   * one at its position here.
   */
  burns?: Token[];
}

/**
 * Mints tokens into a wallet in one transaction: one of each unless it says more. One without metadata is
 * left out of label 721.
 *
 * @throws LedgerRejection when the ledger refuses it.
 */
export function mintTokens(
  chain: Chain,
  contract: Deployment,
  holder: Wallet,
  orders: readonly { assetName?: string; metadata?: Metadatum; quantity?: bigint }[],
  { references = [], carries = [], collateral, burns = [] }: Beside = {},
): Token[] {
  const { hash: policyId } = contract.policy;
  const [seed] = walletOf(chain, holder);
  if (!seed) throw new Error(`${holder.name} has nothing to spend`);
  const minted = orders
    .map(({ assetName, metadata, quantity = 1n }, position) => ({
      assetName: assetName ?? lawfulName(contract, seed, position, burns[position]),
      metadata,
      quantity,
    }))
    .map((token) => ({ ...token, unit: policyId + token.assetName }));
  const documents = Object.fromEntries(
    minted.flatMap(({ assetName, metadata }) => (metadata ? [[assetName, metadata]] : [])),
  );
  const carried = carries.map(({ unit }) => ({ unit, quantity: 1n }));
  const held = [...minted, ...carried].map(({ unit, quantity }) => ({
    address: holder.address,
    funds: [
      { unit: "", amount: HELD_WITH_TOKEN },
      { unit, amount: quantity },
    ],
  }));
  const method = burns.length > 0 ? "update" : "mint";
  const cbor = buildTransaction(chain, {
    payer: holder,
    outputs: held,
    mints: [
      ...minted.map(({ assetName, quantity }) => mintOf(contract, assetName, quantity, method)),
      ...burns.map(({ assetName }) => mintOf(contract, assetName, -1n, method)),
    ],
    scripts: [contract.policy],
    references: references.map((token) => outputWith(chain, token)),
    ...(collateral && { collateralUnit: collateral.unit }),
    metadata: { [NFT_LABEL]: { [policyId]: documents, version: "1" } },
  });
  const txHash = chain.submit(cbor);
  return minted.map(({ assetName, unit }) => ({ contract, holder, assetName, unit, txHash }));
}

/** Sends a token to another wallet. */
export function sendToken(chain: Chain, token: Token, to: Wallet): Token {
  const cbor = buildTransaction(chain, {
    payer: token.holder,
    outputs: [
      {
        address: to.address,
        funds: [
          { unit: "", amount: HELD_WITH_TOKEN },
          { unit: token.unit, amount: 1n },
        ],
      },
    ],
  });
  return { ...token, holder: to, txHash: chain.submit(cbor) };
}

/** The output in which a token lies. */
function outputWith(chain: Chain, { holder, unit }: Token): { txHash: string; index: number } {
  const found = chain
    .utxosAt(holder.address)
    .find(({ amount }) => amount.some((entry) => entry.unit === unit));
  if (!found) throw new Error(`${holder.name} does not hold ${unit}`);
  return found;
}

/**
 * Burns a token out of its holder's wallet.
 *
 * @returns the transaction's hash.
 * @throws when the holder does not have it; LedgerRejection when the ledger refuses it.
 */
export function burnToken(chain: Chain, { contract, holder, assetName }: Token): string {
  const cbor = buildTransaction(chain, {
    payer: holder,
    mints: [mintOf(contract, assetName, -1n, "burn")],
    scripts: [contract.policy],
  });
  return chain.submit(cbor);
}

/**
 * The name of a new token, of which the policies want that it follows from an input.
 *
 * @param position - among the tokens of the transaction. Web3ChainV2 numbers them; Web3ChainV1 lets
 *   only the first be minted.
 * @param replaced - by an update
 */
function lawfulName(
  { type }: Deployment,
  seed: { txHash: string; index: number },
  position: number,
  replaced: Token | undefined,
): string {
  if (type === "Web3ChainV2" && replaced) return nextVersion(replaced.assetName);
  const name = computeRegistryAssetName(type, seed);
  if (position === 0) return name;
  const [nonce = 0, ...rest] = hexToBytes(name);
  return bytesToHex(Uint8Array.of((nonce + position) & 0xff, ...rest));
}

function nextVersion(assetName: string): string {
  const digits = 2 * VERSION_BYTES;
  const version = Number.parseInt(assetName.slice(-digits), 16) + 1;
  return assetName.slice(0, -digits) + version.toString(16).padStart(digits, "0");
}

function mintOf(
  { type, policy }: Deployment,
  assetName: string,
  quantity: bigint,
  method: keyof (typeof METHODS)[PaymentSourceType],
) {
  const redeemer = encodeRedeemer(METHODS[type][method]);
  return { policyId: policy.hash, assetName, quantity, redeemer };
}
