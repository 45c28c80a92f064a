/** What an escrow contract wants of a settlement: rules 26 to 30 of docs/escrow-contract.md. */
import { blake2b } from "@noble/hashes/blake2.js";
import type { EscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import { isCoseSignatureValid } from "../../../src/chain/cose.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import {
  decodePlutusData,
  type PlutusData,
  type PlutusMap,
} from "../../../src/chain/plutus/data.ts";
import { expectBytes, expectConstr } from "../../../src/chain/plutus/fields.ts";
import type { OutputReference } from "../../../src/chain/transaction/transaction-plan.ts";
import { sumToValue, type Value } from "../../../src/chain/transaction/value.ts";
import { hashKey } from "../../../src/chain/wallet-keys.ts";
import { buildSettlementMessage } from "../../../src/escrow/disputes/settlement-message.ts";
import { fundsOf } from "../../../src/escrow/model/escrow-record.ts";
import type { SettlementSplit } from "../../../src/escrow/model/split.ts";
import type { SourceRow } from "../../../src/sources/source-row.ts";
import { ADMINISTRATORS } from "./terms.ts";

/** A settlement, as the contract sees it. */
export interface Attempt {
  own: OutputReference;
  /** CBOR. */
  redeemer: Uint8Array;
  /** Key hashes that the transaction names. */
  signers: readonly string[];
  /** Whether an address gets so much for this escrow. */
  pays(address: string, owed: Value): boolean;
}

/** Whether enough administrators want an escrow settled like this. */
export function isAgreed(
  { type, requiredAdminSignatures }: SourceRow,
  { own, redeemer, signers, pays }: Attempt,
  datum: EscrowDatum,
): boolean {
  const enough = requiredAdminSignatures ?? 0;
  const agreeing = (vkeys: readonly string[]) =>
    ADMINISTRATORS.filter(({ vkey }) => vkeys.includes(vkey)).length >= enough;
  if (type === "Web3ChainV1") return agreeing(signers);
  const { split, signatures } = readSettlement(redeemer);
  const message = buildSettlementMessage(own, split);
  const payloads = [message, blake2b(message, { dkLen: 28 })];
  const signed = signatures.filter(([publicKey, headers, signature]) =>
    payloads.some((payload) =>
      isCoseSignatureValid({
        protectedHeader: headers,
        payload,
        signature,
        publicKey,
        address: null,
      }),
    ),
  );
  const { buyerReturnAddress, sellerReturnAddress, buyer, seller } = datum;
  const owed = (funds: SettlementSplit["buyer"]) => sumToValue(funds.map(fundsOf));
  return (
    signatures.length <= ADMINISTRATORS.length &&
    agreeing(signed.map(([publicKey]) => hashKey(publicKey))) &&
    pays(buyerReturnAddress ?? buyer, owed(split.buyer)) &&
    pays(sellerReturnAddress ?? seller, owed(split.seller))
  );
}

type Signature = [publicKey: Uint8Array, headers: Uint8Array, signature: Uint8Array];

/** @throws PlutusDataError */
function readSettlement(redeemer: Uint8Array): { split: SettlementSplit; signatures: Signature[] } {
  const [buyer, seller, list] = expectConstr(decodePlutusData(redeemer), "redeemer", 4).fields;
  const signatures = (Array.isArray(list) ? list : []).map((one): Signature => {
    const [publicKey, headers, signature] = expectConstr(one, "signature", 0).fields.map((field) =>
      expectBytes(field, "signature", 256),
    );
    if (!publicKey || !headers || !signature) throw new Error("a signature has three parts");
    return [publicKey, headers, signature];
  });
  return { split: { buyer: fundsIn(buyer), seller: fundsIn(seller) }, signatures };
}

function fundsIn(value: PlutusData | undefined): { unit: string; amount: string }[] {
  return entriesOf(value).flatMap(([policyId, assets]) =>
    entriesOf(assets).map(([name, amount]) => ({
      unit: [policyId, name].map((one) => bytesToHex(expectBytes(one, "unit", 32))).join(""),
      amount: String(amount),
    })),
  );
}

function entriesOf(data: PlutusData | undefined): [PlutusData, PlutusData][] {
  return typeof data === "object" && !Array.isArray(data) && "entries" in data
    ? (data as PlutusMap).entries
    : [];
}
