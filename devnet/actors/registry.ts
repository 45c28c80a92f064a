/** Registry tokens of agents: minted with their metadata, and burned. */
import { bytesToHex, randomBytes } from "@noble/hashes/utils.js";
import { encodeRedeemer } from "../../src/chain/redeemer.ts";
import type { Chain } from "../chain.ts";
import type { DevnetContract } from "../contracts/index.ts";
import type { Metadatum } from "./metadata.ts";
import { buildTransaction } from "./transaction.ts";
import type { Wallet } from "./wallets.ts";

/** Methods of the minting policies, as constructor numbers of their redeemers. */
const MINT = { Web3ChainV1: 0, Web3ChainV2: 0 };
const BURN = { Web3ChainV1: 1, Web3ChainV2: 2 };
/** CIP-25. */
const NFT_LABEL = 721;
const HELD_WITH_TOKEN = 8_000_000n;

/** A token in somebody's wallet. */
export interface Token {
  contract: DevnetContract;
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
 * @param assetName hex; random when omitted.
 * @throws LedgerRejection when the ledger refuses it.
 */
export function mintToken(
  chain: Chain,
  contract: DevnetContract,
  holder: Wallet,
  metadata: Metadatum,
  assetName = bytesToHex(randomBytes(32)),
): Token {
  const [token] = mintTokens(chain, contract, holder, [{ assetName, metadata }]);
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
  /** Burned in the same transaction, as an update does with the version before. */
  burns?: Token[];
}

/**
 * Mints tokens into a wallet in one transaction. One without metadata is left out of label 721.
 *
 * @throws LedgerRejection when the ledger refuses it.
 */
export function mintTokens(
  chain: Chain,
  contract: DevnetContract,
  holder: Wallet,
  orders: readonly { assetName?: string; metadata?: Metadatum }[],
  { references = [], carries = [], collateral, burns = [] }: Beside = {},
): Token[] {
  const { policyId } = contract;
  const minted = orders.map(({ assetName = bytesToHex(randomBytes(32)), metadata }) => ({
    assetName,
    metadata,
    unit: policyId + assetName,
  }));
  const documents = Object.fromEntries(
    minted.flatMap(({ assetName, metadata }) => (metadata ? [[assetName, metadata]] : [])),
  );
  const held = [...minted, ...carries].map(({ unit }) => ({
    address: holder.address,
    funds: [
      { unit: "", amount: HELD_WITH_TOKEN },
      { unit, amount: 1n },
    ],
  }));
  const cbor = buildTransaction(chain, {
    payer: holder,
    outputs: held,
    mints: [
      ...minted.map(({ assetName }) => mintOf(contract, assetName, 1n, MINT[contract.type])),
      ...burns.map(({ assetName }) => mintOf(contract, assetName, -1n, MINT[contract.type])),
    ],
    scripts: [contract.scriptCbor],
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
    mints: [mintOf(contract, assetName, -1n, BURN[contract.type])],
    scripts: [contract.scriptCbor],
  });
  return chain.submit(cbor);
}

function mintOf({ policyId }: DevnetContract, assetName: string, quantity: bigint, index: number) {
  return { policyId, assetName, quantity, redeemer: encodeRedeemer(index) };
}
