/** How administrators settle a dispute of Web3ChainV2: by signatures in the redeemer. */
import { hexToBytes } from "@noble/hashes/utils.js";
import { addressToBytes } from "../../../src/chain/address.ts";
import {
  encodeArray,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeText,
} from "../../../src/chain/cbor.ts";
import type { Funds } from "../../../src/chain/network.ts";
import { type Constr, encodePlutusData, type PlutusMap } from "../../../src/chain/plutus/data.ts";
import { signExtended } from "../../../src/chain/wallet-keys.ts";
import { blake2b224 } from "../../blake2b.ts";
import { POLICY_ID_LENGTH } from "../../ledger/transaction.ts";
import type { Wallet } from "./wallets.ts";

/**
 * Fields of the redeemer: the buyer's value, the seller's, and the administrators' signatures.
 *
 * @param own - the escrow's output
 */
export function settlementFields(
  own: { txHash: string; index: number },
  toBuyer: readonly Funds[],
  toSeller: readonly Funds[],
  administrators: readonly Wallet[],
): [PlutusMap, PlutusMap, Constr[]] {
  const values: [PlutusMap, PlutusMap] = [valueData(toBuyer), valueData(toSeller)];
  const reference = { index: 0, fields: [hexToBytes(own.txHash), BigInt(own.index)] };
  const terms = encodePlutusData({ index: 0, fields: [reference, ...values] });
  const message = blake2b224(terms);
  return [...values, administrators.map((wallet) => signatureOf(wallet, message))];
}

/** Key, protected headers as wallets write them (CIP-30), and the signature over a message. */
function signatureOf({ address, keys }: Wallet, message: Uint8Array): Constr {
  const headers = encodeMap([
    [encodeInt(1n), encodeInt(-8n)],
    [encodeText("address"), encodeBytes(addressToBytes(address))],
  ]);
  const parts = [headers, new Uint8Array(), message].map(encodeBytes);
  const structure = encodeArray([encodeText("Signature1"), ...parts]);
  const signature = signExtended(keys, structure);
  return { index: 0, fields: [keys.paymentPublicKey, headers, signature] };
}

/** Plutus data of a value: by policy and name in their order, the native coin under empty names. */
function valueData(funds: readonly Funds[]): PlutusMap {
  const sorted = funds
    .filter(({ amount }) => amount !== 0n)
    .sort((a, b) => (a.unit < b.unit ? -1 : 1));
  const policies = Map.groupBy(sorted, ({ unit }) => unit.slice(0, POLICY_ID_LENGTH));
  return {
    entries: [...policies].map(([policyId, assets]) => [
      hexToBytes(policyId),
      {
        entries: assets.map(({ unit, amount }) => [
          hexToBytes(unit.slice(POLICY_ID_LENGTH)),
          amount,
        ]),
      },
    ]),
  };
}
