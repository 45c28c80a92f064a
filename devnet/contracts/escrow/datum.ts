/** The datum of an escrow output: the names and types of its fields. */
import {
  equalsByteString,
  equalsData,
  equalsInteger,
  headList,
  nullList,
  tailList,
  unBData,
  unIData,
} from "../plutus/builtins.ts";
import { bytes, data } from "../plutus/constants.ts";
import { all, any, not } from "../plutus/control.ts";
import {
  fieldsOf,
  hasIndex,
  isBytes,
  isInt,
  oneOf,
  readBytes,
  readInt,
  readOneOf,
  type Shape,
} from "../plutus/data.ts";
import { local, type Steps } from "../plutus/procedure.ts";
import type { Bool, Bytes, Data, Int, Kind, Term } from "../plutus/terms.ts";

/** A field that is a value of a kind. */
interface Field<K extends Kind> {
  /** Whether data is one. */
  isOne: Shape;
  /** Fails on data of another kind. */
  read(data: Term<Data>): Term<K>;
  /** Whether a value that was read is one: false or a failure if not. Null: every value is. */
  isRead: Shape | null;
  equals(a: Term<K>, b: Term<K>): Term<Bool>;
}

const BYTES: Field<Bytes> = {
  isOne: isBytes,
  read: unBData,
  isRead: null,
  equals: equalsByteString,
};
const INTEGER: Field<Int> = { isOne: isInt, read: unIData, isRead: null, equals: equalsInteger };

/** Checks of shapes. Those of `FAILING` cost less, and may fail in place of being false. */
interface Checks {
  bytes: Shape;
  int: Shape;
  oneOf(...constructors: readonly (readonly Shape[])[]): Shape;
}
const TOTAL: Checks = { bytes: isBytes, int: isInt, oneOf };
const FAILING: Checks = { bytes: readBytes, int: readInt, oneOf: readOneOf };

function field(shapeBy: (checks: Checks) => Shape): Field<Data> {
  return { isOne: shapeBy(TOTAL), read: (of) => of, isRead: shapeBy(FAILING), equals: equalsData };
}

function addressShape({ bytes, int, oneOf }: Checks): Shape {
  const credential = oneOf([bytes], [bytes]);
  const reference = oneOf([credential], [int, int, int]);
  return oneOf([credential, oneOf([reference], [])]);
}
const ADDRESS = field(addressShape);
const OPTIONAL_ADDRESS = field((checks) => checks.oneOf([addressShape(checks)], []));
const stateOf = (count: number): Field<Data> =>
  field((checks) => checks.oneOf(...Array.from({ length: count }, () => [])));

/** The fields that end both layouts. */
const TERMS = {
  collateralReturn: INTEGER,
  inputHash: BYTES,
  resultHash: BYTES,
  payByTime: INTEGER,
  submitResultTime: INTEGER,
  unlockTime: INTEGER,
  externalDisputeUnlockTime: INTEGER,
  sellerCooldownTime: INTEGER,
  buyerCooldownTime: INTEGER,
} as const;

/** The fields of Web3ChainV1 in order, and what each must be. */
export const V1_LAYOUT = {
  buyer: ADDRESS,
  seller: ADDRESS,
  referenceKey: BYTES,
  referenceSignature: BYTES,
  sellerNonce: BYTES,
  buyerNonce: BYTES,
  ...TERMS,
  state: stateOf(4),
} as const;

/** The fields of Web3ChainV2 in order, and what each must be. */
export const V2_LAYOUT = {
  buyer: ADDRESS,
  buyerReturnAddress: OPTIONAL_ADDRESS,
  seller: ADDRESS,
  sellerReturnAddress: OPTIONAL_ADDRESS,
  referenceKey: BYTES,
  referenceSignature: BYTES,
  sellerNonce: BYTES,
  buyerNonce: BYTES,
  agentIdentifier: BYTES,
  ...TERMS,
  state: stateOf(6),
} as const;

export type DatumLayout = typeof V1_LAYOUT | typeof V2_LAYOUT;
type KindOf<F> = F extends Field<infer K> ? K : never;
/** The fields of a layout, by name. */
export type FieldsOf<L extends DatumLayout> = { readonly [N in keyof L]: Term<KindOf<L[N]>> };
/** The fields of both layouts. */
export type DatumFields = FieldsOf<typeof V1_LAYOUT>;

const entriesOf = (layout: DatumLayout) =>
  Object.entries(layout as unknown as Readonly<Record<string, Field<never>>>);

/** Whether data is a complete datum of a layout. It never fails. */
export const isDatumOf = (layout: DatumLayout): Shape =>
  oneOf(entriesOf(layout).map(([, { isOne }]) => isOne));

/** Position of a field in a layout. */
export const positionOf = (layout: DatumLayout, field: keyof typeof V1_LAYOUT): number =>
  Object.keys(layout).indexOf(field);

/**
 * Reads the fields of a datum. It fails if a field is missing, or is no number or byte string as the layout says.
 * It checks neither addresses nor the state, and ignores additional fields.
 */
export function* openDatum<L extends DatumLayout>(
  layout: L,
  datum: Term<Data>,
): Steps<FieldsOf<L>> {
  const { fields } = yield* openFields(layout, datum);
  return fields;
}

function* openFields<L extends DatumLayout>(layout: L, datum: Term<Data>) {
  const fields: Record<string, Term<Kind>> = {};
  let left = fieldsOf(datum);
  for (const [name, { read }] of entriesOf(layout)) {
    const list = yield* local(left);
    fields[name] = yield* local(read(headList(list)));
    left = tailList(list);
  }
  return { fields: fields as FieldsOf<L>, left };
}

/** Reads the fields, and checks the whole datum. `isWhole` is false or fails if it is incomplete. */
export function* openWhole<L extends DatumLayout>(
  layout: L,
  datum: Term<Data>,
): Steps<{ fields: FieldsOf<L>; isWhole: Term<Bool> }> {
  const { fields, left } = yield* openFields(layout, datum);
  const others = entriesOf(layout).flatMap(([name, { isRead }]) =>
    isRead === null ? [] : [isRead(fields[name as keyof L] as Term<Data>)],
  );
  return { fields, isWhole: all(hasIndex(datum, 0n), nullList(left), ...others) };
}

/** Whether two datums are equal except in some fields. */
export function areSame<L extends DatumLayout>(
  layout: L,
  a: FieldsOf<L>,
  b: FieldsOf<L>,
  butFor: readonly (keyof L)[],
): Term<Bool> {
  const compared = entriesOf(layout).flatMap(([key, { equals }]) => {
    const name = key as keyof L;
    const isCompared = !butFor.includes(name);
    return isCompared ? [equals(a[name] as Term<never>, b[name] as Term<never>)] : [];
  });
  return all(...compared);
}

/** Constructor numbers of the states; Web3ChainV1 has the first four. */
export const STATE = {
  FundsLocked: 0n,
  ResultSubmitted: 1n,
  RefundRequested: 2n,
  Disputed: 3n,
  WithdrawAuthorized: 4n,
  RefundAuthorized: 5n,
} as const;
export type State = keyof typeof STATE;

/** A state as a datum has it. */
export const stateData = (state: State): Term<Data> =>
  data({ index: Number(STATE[state]), fields: [] });

/** Whether a datum's state is one of these. */
export const isState = (
  { state }: Pick<DatumFields, "state">,
  ...states: readonly State[]
): Term<Bool> => any(...states.map((name) => equalsData(state, stateData(name))));

const NO_BYTES = bytes(new Uint8Array());
export const hasResult = ({ resultHash }: Pick<DatumFields, "resultHash">): Term<Bool> =>
  not(equalsByteString(resultHash, NO_BYTES));
