/** The fields of a token's metadata as registries write them, for the schemas of what they make up. */
import * as z from "zod";
import type { PaymentSourceType } from "../../chain/network.ts";
import { normalizeUnit } from "../../chain/unit.ts";

/**
 * Names in the metadata of tokens. Other services read these names, whichever names the API of this
 * deployment has.
 */

/** The ledger, in `supported_payment_sources` of metadata version 2. */
export const LEDGER_NAME = "Cardano";

/** The generations of the escrow contract. */
export const MINTED_SOURCE_TYPES: Readonly<Record<PaymentSourceType, string>> = {
  Web3ChainV1: "Web3CardanoV1",
  Web3ChainV2: "Web3CardanoV2",
};

/** The generation that a token names; null: none. Earlier versions of this service minted its own names. */
export function sourceTypeOf(minted: string | null | undefined): PaymentSourceType | null {
  const types = Object.entries(MINTED_SOURCE_TYPES) as [PaymentSourceType, string][];
  return types.find((names) => names.some((name) => name === minted))?.[0] ?? null;
}

/** The joined text of one string or a list of strings; undefined when there is nothing. */
export function joinChunks(value: unknown, problems: z.RefinementCtx): string | undefined {
  if (value === undefined || value === null) return undefined;
  const pieces = Array.isArray(value) ? value : [value];
  if (pieces.every((piece): piece is string => typeof piece === "string")) return pieces.join("");
  problems.addIssue("must be a text or a list of texts");
  return undefined;
}

/** A text that may be left out, or empty: both are null. */
export const optionalTextField = z
  .unknown()
  .optional()
  .transform((value, problems) => joinChunks(value, problems) || null);

/** A text that must be there and not be empty. */
export const textField = z.unknown().transform((value, problems): string => {
  const before = problems.issues.length;
  const text = joinChunks(value, problems);
  if (text) return text;
  if (problems.issues.length === before)
    problems.addIssue(text === undefined ? "is missing" : "must not be empty");
  return z.NEVER;
});

/**
 * A unit; writers split texts into pieces, so the empty one is an empty list. A text that names no asset
 * of the ledger stays as it was minted. Nobody can buy at such a price.
 */
export const unitField = z
  .unknown()
  .optional()
  .transform((value, problems): string => normalizeUnit(joinChunks(value, problems) ?? ""));

/**
 * The text of a number, in one piece or in a list of pieces; undefined when it is anything else. Only
 * what is a text or a number is made one: a stranger's map may have a `toString` that is no function.
 */
function joinNumber(value: unknown): string | undefined {
  const pieces: unknown[] = Array.isArray(value) ? value : [value];
  const isNumeral = pieces.every((one) => typeof one === "string" || typeof one === "number");
  return isNumeral ? pieces.join("") : undefined;
}

export const versionField = z.unknown().transform((value, problems): 1 | 2 => {
  const version = Number(joinNumber(value));
  if (version === 1 || version === 2) return version;
  problems.addIssue(value === undefined ? "is missing" : "must be 1 or 2");
  return z.NEVER;
});

export const amountField = z.unknown().transform((value, problems): string => {
  const text = joinNumber(value) ?? "";
  if (/^\d{1,30}$/.test(text) && BigInt(text) > 0n) return String(BigInt(text));
  problems.addIssue("must be a whole number above 0");
  return z.NEVER;
});

/** An object; `what` is missing when it is something else. */
export function recordField<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object(shape, {
    error: ({ input }) => (input === undefined ? "is missing" : "must be a map"),
  });
}

export function listField<Item extends z.ZodType>(item: Item, min: number, max: number) {
  return z
    .array(item, { error: ({ input }) => (input === undefined ? "is missing" : "must be a list") })
    .min(min, `must have at least ${min}`)
    .max(max, `must have at most ${max}`);
}
