/** The steps that `POST /_control/{chain}/act` takes, as JSON: amounts and times are decimal text. */
import { hexToBytes } from "@noble/hashes/utils.js";
import { z } from "zod";
import type { EscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import { PAYMENT_SOURCE_TYPES } from "../../../src/chain/network.ts";
import type { Metadatum } from "./metadata.ts";
import { ESCROW_ACTIONS } from "./moves.ts";
import { BUYERS, SELLERS, WALLETS, type Wallet } from "./wallets.ts";

const hex = z.string().regex(/^([0-9a-f]{2})*$/);
const amount = z.union([z.string(), z.int()]).pipe(z.coerce.bigint());
const funds = z.array(z.strictObject({ unit: z.string(), amount }));
const version = z.enum(PAYMENT_SOURCE_TYPES);
/** Those of the contract of a version, or none. */
const rules = z.literal("open").exactOptional();

/** A wallet by its position among its kind, or by its name (`stranger`, `admin`, `seller-0`). */
const wallet = (kind: readonly Wallet[]) =>
  z.union([z.int(), z.string()]).transform((which, context) => {
    const found =
      typeof which === "number" ? kind[which] : WALLETS.find(({ name }) => name === which);
    if (found) return found;
    context.addIssue(`no wallet ${which}`);
    return z.NEVER;
  });
const seller = wallet(SELLERS).default(SELLERS[0]);
const buyer = wallet(BUYERS).default(BUYERS[0]);

const DATUM_INTEGERS = /Time$|^collateralReturn$/;

/** Fields laid over a datum. They are meant to be wrong at times, so they are taken as they are. */
const datum = z
  .record(z.string(), z.string().nullable())
  .transform(
    (fields): Partial<EscrowDatum> =>
      Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [
          name,
          value !== null && DATUM_INTEGERS.test(name) ? BigInt(value) : value,
        ]),
      ),
  );

/** Metadata as JSON has it; whole numbers stand for integers. */
const metadatum: z.ZodType<Metadatum> = z.lazy(() =>
  z.union([
    z.string(),
    z.int().transform(BigInt),
    z.array(metadatum),
    z.record(z.string(), metadatum),
  ]),
);

/** One escrow to lock; see `LockOrder` for the defaults. */
const order = z.strictObject({
  /** The name by which later steps find the escrow. */
  as: z.string().exactOptional(),
  version,
  rules,
  /** Of a contract that was derived; that of the version when omitted. */
  contractAddress: z.string().exactOptional(),
  seller,
  buyer,
  funds: funds.exactOptional(),
  collateral: amount.exactOptional(),
  requestedFunds: funds.nullable().exactOptional(),
  agentIdentifier: hex.exactOptional(),
  inputHash: hex.exactOptional(),
  buyerNonce: hex.exactOptional(),
  payByTime: amount.exactOptional(),
  submitResultTime: amount.exactOptional(),
  unlockTime: amount.exactOptional(),
  externalDisputeUnlockTime: amount.exactOptional(),
  buyerReturnAddress: z.string().nullable().exactOptional(),
  sellerReturnAddress: z.string().nullable().exactOptional(),
  datum: datum.exactOptional(),
  isByHash: z.boolean().exactOptional(),
});

/** One action on the escrow named `on`; the result goes by the name `as`, or by the same one. */
const moveFields = {
  on: z.string(),
  as: z.string().exactOptional(),
  resultHash: hex.exactOptional(),
  buyerShare: amount.exactOptional(),
  datum: datum.exactOptional(),
  isScriptRead: z.boolean().exactOptional(),
};
const move = z.strictObject({ ...moveFields, action: z.enum(ESCROW_ACTIONS) });

const rawLock = z.strictObject({
  version,
  payer: buyer,
  datum: hex.transform(hexToBytes).exactOptional(),
  funds: funds.exactOptional(),
  referenceScript: z.boolean().exactOptional(),
});

export const Step = z.discriminatedUnion("do", [
  /** Every contract's script, as a reference. */
  z.strictObject({ do: z.literal("publish") }),
  order.extend({ do: z.literal("lock") }),
  /** Several locks, or several moves and maybe locks beside them, in one transaction. */
  z.strictObject({ do: z.literal("lockAll"), orders: z.array(order).min(1) }),
  z.strictObject({
    do: z.literal("actAll"),
    moves: z.array(move).min(1),
    orders: z.array(order).default([]),
  }),
  z.strictObject({ ...moveFields, do: z.enum(ESCROW_ACTIONS) }),
  z.strictObject({ do: z.literal("lockRaw"), locks: z.array(rawLock).min(1) }),
  /** The same datum once more. */
  z.strictObject({
    do: z.literal("lockAgain"),
    on: z.string(),
    as: z.string().exactOptional(),
    payer: buyer,
  }),
  /** A spend that fails in phase 2. */
  z.strictObject({ do: z.literal("failToSpend"), on: z.string() }),
  z.strictObject({
    do: z.literal("mint"),
    as: z.string(),
    version,
    rules,
    holder: seller,
    assetName: hex.exactOptional(),
    metadata: metadatum,
  }),
  z.strictObject({ do: z.literal("burn"), on: z.string() }),
  /** Several mints in one transaction, which may also touch tokens known by name; see `Beside`. */
  z.strictObject({
    do: z.literal("mintAll"),
    version,
    rules,
    holder: seller,
    tokens: z.array(
      z.strictObject({
        as: z.string().exactOptional(),
        assetName: hex.exactOptional(),
        metadata: metadatum.exactOptional(),
        quantity: amount.exactOptional(),
      }),
    ),
    references: z.array(z.string()).default([]),
    carries: z.array(z.string()).default([]),
    collateral: z.string().exactOptional(),
    burns: z.array(z.string()).default([]),
  }),
  z.strictObject({ do: z.literal("send"), on: z.string(), to: wallet(BUYERS) }),
]);
export type Step = z.infer<typeof Step>;
