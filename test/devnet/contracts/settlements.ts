/** How administrators of Web3ChainV2 settle a dispute: by signatures in the redeemer. */
import { blake2b } from "@noble/hashes/blake2.js";
import type { Wallet } from "../../../devnet/demo/actors/wallets.ts";
import { POLICY_ID_LENGTH } from "../../../devnet/ledger/transaction.ts";
import { addressToBytes } from "../../../src/chain/address.ts";
import {
  encodeArray,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeText,
} from "../../../src/chain/cbor.ts";
import { hexToBytes } from "../../../src/chain/hex.ts";
import type { Funds } from "../../../src/chain/network.ts";
import { type Constr, encodePlutusData, type PlutusMap } from "../../../src/chain/plutus/data.ts";
import { signExtended } from "../../../src/chain/wallet-keys.ts";
import { ADMINISTRATORS, type Escrow } from "./escrows.ts";

export interface Settlement {
  toBuyer: Funds[];
  toSeller: Funds[];
  by?: readonly Wallet[];
  /** The signed message, if it differs from the redeemer. */
  signed?: { own?: Pick<Escrow, "txHash" | "index">; toBuyer?: Funds[] };
  /** How often the message is hashed again before it is signed. Default 0. */
  hashings?: number;
  /** Protected headers. Default: those of a wallet's `signData` (CIP-30). */
  headers?: Uint8Array;
  /** Changes both values before they are signed. */
  arrange?: (value: PlutusMap) => PlutusMap;
  /** Changes the signatures: key, headers and signature each. */
  present?: (signatures: Constr[]) => Constr[];
}

/** The algorithm EdDSA alone. */
export const BARE_HEADERS = encodeMap([[encodeInt(1n), encodeInt(-8n)]]);

export const headersWith = (address: Uint8Array): Uint8Array =>
  encodeMap([
    [encodeInt(1n), encodeInt(-8n)],
    [encodeText("address"), encodeBytes(address)],
  ]);

/** The reference of an escrow's output, which is also the tag of its payouts. */
export const referenceOf = ({ txHash, index }: Pick<Escrow, "txHash" | "index">): Constr => ({
  index: 0,
  fields: [hexToBytes(txHash), BigInt(index)],
});

/** The redeemer that settles. */
export function settle(escrow: Escrow, settlement: Settlement): Constr {
  const { toBuyer, toSeller, by = ADMINISTRATORS.slice(0, 2), signed, hashings = 0 } = settlement;
  const { arrange = (value) => value, present = (all) => all } = settlement;
  const buyerValue = arrange(valueData(toBuyer));
  const sellerValue = arrange(valueData(toSeller));
  const own = referenceOf(signed?.own ?? escrow);
  const signedValue = signed?.toBuyer ? valueData(signed.toBuyer) : buyerValue;
  let payload = hash224(encodePlutusData({ index: 0, fields: [own, signedValue, sellerValue] }));
  for (let i = 0; i < hashings; i++) payload = hash224(payload);
  const signatures = by.map(({ keys, address }): Constr => {
    const { headers = headersWith(addressToBytes(address)) } = settlement;
    const parts = [headers, new Uint8Array(), payload].map(encodeBytes);
    const structure = encodeArray([encodeText("Signature1"), ...parts]);
    const signature = signExtended(keys, structure);
    return { index: 0, fields: [keys.paymentPublicKey, headers, signature] };
  });
  return { index: 4, fields: [buyerValue, sellerValue, present(signatures)] };
}

/** A value in a redeemer: sorted by policy and name, the native coin first. */
export function valueData(funds: readonly Funds[]): PlutusMap {
  const sorted = funds.toSorted((a, b) => (a.unit < b.unit ? -1 : 1));
  const policies = Map.groupBy(sorted, ({ unit }) => unit.slice(0, POLICY_ID_LENGTH));
  return {
    entries: [...policies].map(([policy, assets]) => [
      hexToBytes(policy),
      {
        entries: assets.map(({ unit, amount }) => [
          hexToBytes(unit.slice(POLICY_ID_LENGTH)),
          amount,
        ]),
      },
    ]),
  };
}

const hash224 = (bytes: Uint8Array) => blake2b(bytes, { dkLen: 28 });
