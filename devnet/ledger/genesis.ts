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
 * The outputs that a chain starts with: one for each entry, its index the entry's position. The
 * transaction hash they stand under depends on `seed` alone, so the same wallets doing the same
 * things make the same transactions on every run, and different ones on chains of another seed.
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
