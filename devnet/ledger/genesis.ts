import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { addressToBytes } from "../../src/chain/address.ts";
import { encodeArray, encodeBytes, encodeInt } from "../../src/chain/cbor.ts";
import { blake2b256 } from "../blake2b.ts";
import type { GenesisOutput } from "./view.ts";

export interface GenesisFunds {
  /** bech32. */
  address: string;
  lovelace: bigint;
}

/**
 * The outputs with which a chain starts: one for each entry, with the entry's position as its index. Their
 * transaction hash depends only on `seed`. With one seed, wallets that do the same make the same transactions in
 * every run. With another seed, these transactions differ.
 */
export function genesisOutputs(seed: string, funds: readonly GenesisFunds[]): GenesisOutput[] {
  const txHash = bytesToHex(blake2b256(utf8ToBytes(`genesis outputs/${seed}`)));
  return funds.map(({ address, lovelace }, index) => ({
    txHash,
    index,
    output: {
      address,
      amount: [{ unit: "lovelace", quantity: lovelace }],
      dataHash: null,
      inlineDatum: null,
      referenceScript: null,
      cbor: encodeArray([encodeBytes(addressToBytes(address)), encodeInt(lovelace)]),
    },
  }));
}
