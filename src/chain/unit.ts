/** A unit names an asset: `""` is the native coin, any other is policy id and asset name in hex. */
import type { Funds } from "./network.ts";

/** A text that names no asset of the ledger. */
export class UnitError extends Error {
  override name = "UnitError";
}

/** Hex digits of a policy id, with which the unit of a token begins. */
export const POLICY_ID_LENGTH = 56;

/** What the chain's providers call the native coin, in any letter case. */
const NATIVE_NAME_PATTERN = "[lL][oO][vV][eE][lL][aA][cC][eE]";
const TOKEN_PATTERN_SOURCE = `[0-9a-fA-F]{${POLICY_ID_LENGTH}}(?:[0-9a-fA-F]{2}){0,32}`;

/** Every spelling of the unit of a token. */
export const TOKEN_PATTERN = new RegExp(`^${TOKEN_PATTERN_SOURCE}$`);
/** Every spelling of a unit. */
export const UNIT_PATTERN = new RegExp(`^(?:${NATIVE_NAME_PATTERN}|${TOKEN_PATTERN_SOURCE})?$`);

/** The spelling in which records and answers have a unit. */
export const CANONICAL_UNIT_PATTERN = new RegExp(
  `^(?:${TOKEN_PATTERN_SOURCE.replaceAll("A-F", "")})?$`,
);

/** A unit in its one spelling, whichever it came in; null: the text names no asset of the ledger. */
export function parseUnit(text: string): string | null {
  if (!UNIT_PATTERN.test(text)) return null;
  const isNative = text.length < POLICY_ID_LENGTH;
  return isNative ? "" : text.toLowerCase();
}

/** The same, where a text that names no asset stays as it is. */
export function normalizeUnit(text: string): string {
  return parseUnit(text) ?? text;
}

/** Amounts as the chain's providers list them: minor units as decimal text. */
export function parseAmounts(amounts: readonly { unit: string; quantity: string }[]): Funds[] {
  return amounts.map(({ unit, quantity }) => ({
    unit: normalizeUnit(unit),
    amount: BigInt(quantity),
  }));
}

/**
 * Policy id and asset name of a unit, hex in lower case; both are empty for the native coin.
 *
 * @throws UnitError
 */
export function splitUnit(unit: string): { policyId: string; assetName: string } {
  const parsed = parseUnit(unit);
  if (parsed === null) throw new UnitError(`${quoteUnit(unit)} is no unit of the ledger`);
  return {
    policyId: parsed.slice(0, POLICY_ID_LENGTH),
    assetName: parsed.slice(POLICY_ID_LENGTH),
  };
}

const MAX_QUOTED_LENGTH = 40;

/** A text that names no asset, as a message quotes it: short, in printable ASCII without quotes. */
export function quoteUnit(text: string): string {
  const start = text.slice(0, MAX_QUOTED_LENGTH).replace(/[^\x20-\x7e]|["\\;]/g, "?");
  return `"${start}${text.length > MAX_QUOTED_LENGTH ? "..." : ""}"`;
}

/** Decimals of the native coin. */
export const COIN_DECIMALS = 6;

/**
 * Minor units as an exact decimal number of whole units, without trailing zeros: `168317` of six decimals
 * is `0.168317`.
 *
 * @param amount - decimal text of minor units, not negative
 */
export function formatWholeUnits(amount: string, decimals: number): string {
  const digits = amount.padStart(decimals + 1, "0");
  const point = digits.length - decimals;
  const fraction = digits.slice(point).replace(/0+$/, "");
  return fraction === "" ? digits.slice(0, point) : `${digits.slice(0, point)}.${fraction}`;
}
