/** Random Plutus data, and data with a random change. */
import fc from "fast-check";
import type { Constr, PlutusData } from "../../../src/chain/plutus/data.ts";

export const pick = <T>(...items: T[]) => fc.constantFrom(...items);
/** True once in that many times. */
export const oneIn = (times: number): fc.Arbitrary<boolean> =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(false) }, fc.constant(true));
const bytes = fc.oneof(
  pick(0, 1, 15, 16, 17, 28, 32, 64).map((length) => new Uint8Array(length).fill(7)),
  fc.uint8Array({ maxLength: 40 }),
);
export const junk: fc.Arbitrary<PlutusData> = fc.oneof(
  bytes,
  fc.bigInt({ min: -3n, max: 9n }),
  fc.record({
    index: fc.integer({ min: 0, max: 7 }),
    fields: fc.array(pick<PlutusData>(0n, new Uint8Array(3), { index: 0, fields: [] }), {
      maxLength: 2,
    }),
  }),
  fc.constant<PlutusData>([]),
  fc.constant<PlutusData>({ entries: [] }),
);

/** Data with one change at any depth. */
function change(data: PlutusData): fc.Arbitrary<PlutusData> {
  if (typeof data === "bigint")
    return fc.oneof(
      fc.bigInt({ min: -2n, max: 2n }).map((n) => data + n),
      junk,
    );
  if (typeof data !== "object" || !("index" in data)) return fc.oneof(bytes, junk);
  const { index, fields } = data;
  const inside = fields.map((field, i) =>
    fc
      .oneof({ depthSize: "small" }, junk, fc.constant(field).chain(change))
      .map((one): Constr => ({ index, fields: fields.with(i, one) })),
  );
  return fc.oneof(
    fc.integer({ min: 0, max: 7 }).map((other): Constr => ({ index: other, fields })),
    fc.constant<Constr>({ index, fields: fields.slice(0, -1) }),
    junk.map((one): Constr => ({ index, fields: [...fields, one] })),
    ...inside,
  );
}

/** A datum with one change, mostly in one of its fields. */
export function changeField(data: Constr): fc.Arbitrary<PlutusData> {
  return fc.oneof(
    { weight: 1, arbitrary: change(data) },
    {
      weight: 4,
      arbitrary: fc.nat({ max: data.fields.length - 1 }).chain((i) =>
        fc
          .oneof(
            { weight: 1, arbitrary: junk },
            { weight: 3, arbitrary: change(data.fields[i] as PlutusData) },
          )
          .map((one) => ({
            index: data.index,
            fields: data.fields.with(i, one),
          })),
      ),
    },
  );
}
