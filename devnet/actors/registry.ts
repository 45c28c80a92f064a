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
const HELD_WITH_TOKEN = 5_000_000n;

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
  const unit = contract.policyId + assetName;
  const cbor = buildTransaction(chain, {
    payer: holder,
    outputs: [
      {
        address: holder.address,
        funds: [
          { unit: "", amount: HELD_WITH_TOKEN },
          { unit, amount: 1n },
        ],
      },
    ],
    mints: [mintOf(contract, assetName, 1n, MINT[contract.type])],
    scripts: [contract.scriptCbor],
    metadata: { [NFT_LABEL]: { [contract.policyId]: { [assetName]: metadata }, version: "1" } },
  });
  return { contract, holder, assetName, unit, txHash: chain.submit(cbor) };
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
