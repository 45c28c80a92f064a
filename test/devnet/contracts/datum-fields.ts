/** Reads datums by rules 1 and 6 of docs/escrow-contract.md. */
import { bytesToHex } from "../../../src/chain/hex.ts";
import {
  type Constr,
  encodePlutusData,
  type PlutusData,
  type PlutusMap,
} from "../../../src/chain/plutus/data.ts";

export const isConstr = (data: PlutusData | undefined): data is Constr =>
  typeof data === "object" && "index" in data;
export const isMap = (data: PlutusData | undefined): data is PlutusMap =>
  typeof data === "object" && "entries" in data;
export const isBytes = (data: PlutusData | undefined): data is Uint8Array =>
  data instanceof Uint8Array;
export const isInt = (data: PlutusData | undefined): data is bigint => typeof data === "bigint";
export const textOf = (data: PlutusData): string => bytesToHex(encodePlutusData(data));
export const areEqual = (a: PlutusData, b: PlutusData) => textOf(a) === textOf(b);

const FIELDS = {
  1: "buyer seller referenceKey referenceSignature sellerNonce buyerNonce",
  2: "buyer buyerReturn seller sellerReturn referenceKey referenceSignature sellerNonce buyerNonce agent",
};
const TERMS =
  "collateral inputHash result payBy submitBy unlock dispute sellerCooldown buyerCooldown state";
export const namesOf = (generation: 1 | 2) => `${FIELDS[generation]} ${TERMS}`.split(" ");
const NUMBERS = "collateral payBy submitBy unlock dispute sellerCooldown buyerCooldown".split(" ");
const DATA = "buyer seller buyerReturn sellerReturn state".split(" ");
export const STATES = [
  "FundsLocked",
  "ResultSubmitted",
  "RefundRequested",
  "Disputed",
  "WithdrawAuthorized",
  "RefundAuthorized",
];

export type Fields = Record<string, PlutusData>;

/** The fields of a spent datum that obeys rule 1. */
export function readFields(data: PlutusData, generation: 1 | 2): Fields | null {
  if (!isConstr(data)) return null;
  const names = namesOf(generation);
  if (data.fields.length < names.length) return null;
  const fields: Fields = {};
  for (const [i, name] of names.entries()) {
    const value = data.fields[i] as PlutusData;
    const isRight = NUMBERS.includes(name) ? isInt : isBytes;
    if (!DATA.includes(name) && !isRight(value)) return null;
    fields[name] = value;
  }
  return fields;
}

const isCredential = (data: PlutusData | undefined) =>
  isConstr(data) && data.index < 2 && data.fields.length === 1 && isBytes(data.fields[0]);
function isStake(data: PlutusData | undefined): boolean {
  if (!isConstr(data)) return false;
  const { index, fields } = data;
  if (index === 1) return fields.length === 3 && fields.every(isInt);
  return index === 0 && fields.length === 1 && isCredential(fields[0]);
}
const isOption = (data: PlutusData | undefined, isOne: (one: PlutusData | undefined) => boolean) =>
  isConstr(data) &&
  ((data.index === 0 && data.fields.length === 1 && isOne(data.fields[0])) ||
    (data.index === 1 && data.fields.length === 0));
const isAddress = (data: PlutusData | undefined): boolean =>
  isConstr(data) &&
  data.index === 0 &&
  data.fields.length === 2 &&
  isCredential(data.fields[0]) &&
  isOption(data.fields[1], isStake);

/** The fields of a complete datum, which obeys rule 6. */
export function readDatum(data: PlutusData | undefined, generation: 1 | 2): Fields | null {
  if (!isConstr(data)) return null;
  const fields = readFields(data, generation);
  if (!fields || data.index !== 0 || data.fields.length !== namesOf(generation).length) return null;
  const { state } = fields;
  const areAddresses =
    isAddress(fields.buyer) &&
    isAddress(fields.seller) &&
    (generation === 1 ||
      (isOption(fields.buyerReturn, isAddress) && isOption(fields.sellerReturn, isAddress)));
  const isState =
    isConstr(state) && state.index < (generation === 1 ? 4 : 6) && state.fields.length === 0;
  return areAddresses && isState ? fields : null;
}
