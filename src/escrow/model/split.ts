/** How the settlement of a dispute divides an escrow's funds, as its redeemer has it. */

import { REDEEMERS } from "../../chain/contracts/redeemers.ts";
import { bytesToHex, hexToBytes } from "../../chain/hex.ts";
import {
  decodePlutusData,
  type PlutusData,
  PlutusDataError,
  type PlutusMap,
} from "../../chain/plutus/data.ts";
import { expectBytes, expectConstr, expectEntries } from "../../chain/plutus/fields.ts";
import { splitUnit } from "../../chain/unit.ts";
import type { StoredFunds } from "./escrow-record.ts";

/** How an escrow's funds are divided. */
export interface SettlementSplit {
  buyer: readonly StoredFunds[];
  seller: readonly StoredFunds[];
}

/**
 * How a redeemer that settles divides the funds; null: it is none.
 *
 * @param redeemer - CBOR
 */
export function parseSettlementSplit(redeemer: Uint8Array): SettlementSplit | null {
  try {
    const { fields } = expectConstr(
      decodePlutusData(redeemer),
      "settlement",
      REDEEMERS.WithdrawDisputed,
    );
    const [buyer, seller] = fields;
    if (buyer === undefined || seller === undefined) return null;
    return { buyer: decodeFunds(buyer), seller: decodeFunds(seller) };
  } catch (error) {
    if (error instanceof PlutusDataError) return null;
    throw error;
  }
}

/**
 * Plutus data of a value: by policy and name in their order, the native coin under empty names.
 *
 * @throws UnitError
 */
export function encodeFunds(funds: readonly StoredFunds[]): PlutusMap {
  const sorted = funds
    .filter(({ amount }) => BigInt(amount) !== 0n)
    .toSorted((a, b) => (a.unit < b.unit ? -1 : 1));
  const policies = Map.groupBy(sorted, ({ unit }) => splitUnit(unit).policyId);
  return {
    entries: [...policies].map(([policyId, assets]) => [
      hexToBytes(policyId),
      {
        entries: assets.map(({ unit, amount }) => [
          hexToBytes(splitUnit(unit).assetName),
          BigInt(amount),
        ]),
      },
    ]),
  };
}

/** The reverse of `encodeFunds`. */
function decodeFunds(data: PlutusData): StoredFunds[] {
  return expectEntries(data, "value").flatMap(([policyId, assets]) =>
    expectEntries(assets, "value").map(([name, amount]) => {
      if (typeof amount !== "bigint") throw new PlutusDataError("value: not an amount");
      const unit = [policyId, name].map((part) => bytesToHex(expectBytes(part, "value", 32)));
      return { unit: unit.join(""), amount: String(amount) };
    }),
  );
}
