import type * as z from "zod";
import { type AccessLevel, requireNetwork } from "./authenticate.ts";
import type { Caller } from "./context.ts";

/** What an endpoint's data belongs to, and so which keys reach it. */
export const SCOPE_DESCRIPTIONS = {
  public: "The same for every key.",
  network: "Ledger data on the networks of the key's `networkLimit`.",
  wallets: "Data of managed wallets: a key with `walletLimit` sees only those wallets.",
  owner: "Data that the API key created. Admins see all data.",
  admin: "All data.",
} as const;

export type Scope = keyof typeof SCOPE_DESCRIPTIONS;

/** The rule that guards what a request names: a wallet, an address or an amount. */
export const GUARD_DESCRIPTIONS = {
  scopedWallet: "must be a wallet that the key may use (404)",
  returnAddress:
    "the wallet's own address, its `collectionAddress` or one of the key's `returnAddresses` (403); any address for Admins",
  spendingLimit: "counts against the key's `spendingLimits`",
  budget: "counts against the key's x402 budget of the wallet (402)",
  compared: "must equal the quoted or registered value (400)",
  proved: "proved by a signature in the request",
  filter: "a filter",
  ledgerData: "public data of the ledger",
  terms: "terms of a quote: no wallet pays them",
} as const;

export type Guard = keyof typeof GUARD_DESCRIPTIONS;

/** Parts of the names of fields that name a wallet, an address or an amount. */
type GuardedFieldName =
  `${string}${"Wallet" | "wallet" | "Vkey" | "VKey" | "Address" | "address" | "Amount" | "amount" | "Fund" | "payTo" | "paymentPayload" | "paymentRequire"}${string}`;

/** The members of each type of a union. */
type KeysOf<T> = T extends unknown ? keyof T : never;

/** The fields of a request that need a guard. */
type GuardedFieldsOf<Input extends z.ZodType> = Exclude<
  Extract<KeysOf<z.output<Input>>, GuardedFieldName>,
  `filter${string}` | "smartContractAddress" | "walletType"
>;

/** `names` of an endpoint: the guard of each field that needs one. */
type FieldGuards<Query extends z.ZodType, Body extends z.ZodType> = [
  GuardedFieldsOf<Query> | GuardedFieldsOf<Body>,
] extends [never]
  ? { names?: undefined }
  : { names: Record<GuardedFieldsOf<Query> | GuardedFieldsOf<Body>, Guard> };

/**
 * Who reaches an endpoint and what of its data: declared by each endpoint, or it does not compile.
 * Every wallet, address and amount that a request of a key without Admin names has a guard.
 */
export type AccessRules<Query extends z.ZodType, Body extends z.ZodType> =
  | { access: "none"; scope: "public"; names?: undefined }
  | { access: "Admin"; scope: "admin"; names?: undefined }
  | ({ access: "User" | "+PAY"; scope: Exclude<Scope, "admin"> } & FieldGuards<Query, Body>);

/** A reach without the types of what is sent. */
export interface UntypedAccessRules {
  access: AccessLevel;
  scope: Scope;
  names?: Partial<Record<string, Guard>> | undefined;
}

/**
 * Refuses a request that names a network which the key lacks.
 *
 * @throws ApiError 403
 */
export function requireNamedNetwork(caller: Caller, input: { query?: unknown; body?: unknown }) {
  const { network } = (input.body ?? input.query ?? {}) as { network?: unknown };
  if (typeof network === "string") requireNetwork(caller, network);
}

/** The scope and the guards, for the text of an operation in the OpenAPI document. */
export function describeAccessRules(
  scope: Scope,
  names: Partial<Record<string, Guard>> = {},
): string {
  const guards = Object.entries(names).flatMap(([name, guard]) =>
    guard ? [`\`${name}\`: ${GUARD_DESCRIPTIONS[guard]}.`] : [],
  );
  return [`Scope: ${scope}. ${SCOPE_DESCRIPTIONS[scope]}`, ...guards].join(" ");
}
