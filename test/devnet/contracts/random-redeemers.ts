/** Random redeemers in place of the right one, above all settlements with one peculiarity. */
import fc from "fast-check";
import type { Funds } from "../../../src/chain/network.ts";
import type { Constr, PlutusMap } from "../../../src/chain/plutus/data.ts";
import { areEqual } from "./datum-fields.ts";
import { type Draft, sharesOf } from "./drafts.ts";
import { ADMINISTRATORS, SELLER } from "./escrows.ts";
import { junk, pick } from "./random-data.ts";
import type { NamedChange } from "./random-outputs.ts";
import { BARE_HEADERS, referenceOf, type Settlement, settle } from "./settlements.ts";
import { TOKENS } from "./stage.ts";

/** The first escrow is spent with another redeemer. */
const withRedeemer = (of: Draft, redeemer: Constr): Draft => ({
  ...of,
  spends: of.spends.map((spend, i) => (i === 0 ? { ...spend, redeemer } : spend)),
});

type Arrange = (value: PlutusMap) => PlutusMap;
const order = pick<Arrange>(
  (value) => value,
  ({ entries }) => ({ entries: entries.toReversed() }),
);

/** Quantities by the length of their names. */
const named = (...names: [length: number, quantity: bigint][]): PlutusMap => ({
  entries: names.map(([length, quantity]) => [new Uint8Array(length), quantity]),
});
const coins = (names: PlutusMap): PlutusMap => ({ entries: [[new Uint8Array(), names]] });
const otherValue = pick<Arrange>(
  ({ entries }) => ({ entries: [...entries, ...entries] }),
  ({ entries }) => ({ entries: [...entries, [new Uint8Array(28), named()]] }),
  () => coins(named([1, 0n])),
  () => coins(named([1, -1n], [0, -1n])),
  () => coins(named([0, -1n], [1, -1n])),
);

/** Of a signature: key 0, headers 1, signature 2. */
type Parts = Partial<Record<0 | 1 | 2, Uint8Array>>;
/** What differs from an administrator's signature; null for data that is no signature. */
const badParts = pick<Parts | null>(
  { 0: new Uint8Array(3) },
  { 2: new Uint8Array(63) },
  { 2: new Uint8Array(64) },
  { 1: new Uint8Array(257) },
  { 1: new Uint8Array(256) },
  { 0: new Uint8Array(3), 1: new Uint8Array(257) },
  { 0: new Uint8Array(32), 2: new Uint8Array(63) },
  null,
);
const inserting = (parts: Parts | null, place: number) => (signatures: Constr[]) => {
  const [first] = signatures as [Constr];
  const fields = first.fields.map((field, i) => parts?.[i as 0] ?? field);
  return signatures.toSpliced(place, 0, { index: parts ? 0 : 1, fields });
};

const otherSettlement: fc.Arbitrary<Partial<Settlement>> = fc.oneof(
  fc.array(pick(...ADMINISTRATORS, SELLER), { maxLength: 4 }).map((by) => ({ by })),
  {
    weight: 3,
    arbitrary: fc
      .tuple(badParts, pick(0, 1, 2))
      .map(([parts, place]) => ({ present: inserting(parts, place) })),
  },
  pick(0, 1, 2).map((hashings) => ({ hashings })),
  fc.constant({ headers: BARE_HEADERS }),
  { weight: 3, arbitrary: order.map((arrange) => ({ arrange })) },
  fc
    .tuple(pick(0n, 1n, -5n), pick("", TOKENS[0], TOKENS[1]))
    .map(([amount, unit]) => ({ toSeller: [{ unit, amount }] })),
  otherValue.map((arrange) => ({ arrange })),
);

export function changeRedeemer(of: Draft): fc.Arbitrary<NamedChange> {
  const [{ escrow, redeemer }] = of.spends as [Draft["spends"][number]];
  const plain = fc
    .oneof(
      fc.integer({ min: 0, max: 8 }).map((index): Constr => ({ ...redeemer, index })),
      junk.map((one): Constr => ({ ...redeemer, fields: [...redeemer.fields, one] })),
    )
    .map((other): NamedChange => ["another redeemer", (old) => withRedeemer(old, other)]);
  if (redeemer.fields.length === 0) return plain;
  const shares = sharesOf(escrow);
  const settled = otherSettlement.map(
    (other): NamedChange => [
      "another settlement",
      (old) => withRedeemer(old, settle(escrow, { ...shares, ...other })),
    ],
  );
  const exchanged = order.map(
    (arrange): NamedChange => [
      "each party gets the other's share",
      (old) => {
        const { toBuyer: toSeller, toSeller: toBuyer } = shares;
        const paid = withPayouts(old, referenceOf(escrow), { buyer: toBuyer, seller: toSeller });
        return withRedeemer(paid, settle(escrow, { toBuyer, toSeller, arrange }));
      },
    ],
  );
  return fc.oneof(
    { weight: 2, arbitrary: plain },
    { weight: 12, arbitrary: settled },
    { weight: 3, arbitrary: exchanged },
  );
}

/** The payouts with a tag have other amounts. */
const withPayouts = (of: Draft, tag: Constr, payouts: Record<"buyer" | "seller", Funds[]>) => ({
  ...of,
  outputs: of.outputs.map((output) => {
    const { role, datum } = output;
    if ((role !== "buyer" && role !== "seller") || !datum || !areEqual(datum, tag)) return output;
    return { ...output, funds: payouts[role] };
  }),
});
