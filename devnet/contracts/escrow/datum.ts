/** The datum of an escrow output: what its fields are called, and which data is one. */
import { equalsData, headList, tailList } from "../plutus/builtins.ts";
import { data } from "../plutus/constants.ts";
import { any, not } from "../plutus/control.ts";
import { constr, fieldsOf, hasIndex, isBytes, isInt, oneOf, type Shape } from "../plutus/data.ts";
import { local, type Steps } from "../plutus/procedure.ts";
import type { Bool, Data, Term } from "../plutus/terms.ts";

const credential = oneOf([isBytes], [isBytes]);
const inline = oneOf([credential], [isInt, isInt, isInt]);
const address = oneOf([credential, oneOf([inline], [])]);
const optionalAddress = oneOf([address], []);

type Layout = Readonly<Record<string, Shape>>;

/** The fields that end both layouts. */
const TERMS = {
  collateralReturn: isInt,
  inputHash: isBytes,
  resultHash: isBytes,
  payByTime: isInt,
  submitResultTime: isInt,
  unlockTime: isInt,
  externalDisputeUnlockTime: isInt,
  sellerCooldownTime: isInt,
  buyerCooldownTime: isInt,
} as const satisfies Layout;

/** The fields of Web3ChainV1 in order, and what each must be. */
export const V1_LAYOUT = {
  buyer: address,
  seller: address,
  referenceKey: isBytes,
  referenceSignature: isBytes,
  sellerNonce: isBytes,
  buyerNonce: isBytes,
  ...TERMS,
  state: oneOf([], [], [], []),
} as const satisfies Layout;

/** The fields of Web3ChainV2 in order, and what each must be. */
export const V2_LAYOUT = {
  buyer: address,
  buyerReturnAddress: optionalAddress,
  seller: address,
  sellerReturnAddress: optionalAddress,
  referenceKey: isBytes,
  referenceSignature: isBytes,
  sellerNonce: isBytes,
  buyerNonce: isBytes,
  agentIdentifier: isBytes,
  ...TERMS,
  state: oneOf([], [], [], [], [], []),
} as const satisfies Layout;

export type DatumLayout = typeof V1_LAYOUT | typeof V2_LAYOUT;
/** The fields of both layouts, by name. */
export type DatumFields = Readonly<Record<keyof typeof V1_LAYOUT, Term<Data>>>;
export type FieldsOf<L extends DatumLayout> = Readonly<Record<keyof L, Term<Data>>>;

/** Whether data is a datum of a layout: neither a field less nor one more. Fails on nothing. */
export const isDatumOf = (layout: DatumLayout): Shape => oneOf(Object.values<Shape>(layout));

/** Position of a field in a layout. */
export const positionOf = (layout: DatumLayout, field: keyof typeof V1_LAYOUT): number =>
  Object.keys(layout).indexOf(field);

/** Gives names to the fields of a datum. */
export function* openDatum<L extends DatumLayout>(
  layout: L,
  datum: Term<Data>,
): Steps<FieldsOf<L>> {
  const fields: Record<string, Term<Data>> = {};
  let left = fieldsOf(datum);
  for (const name of Object.keys(layout)) {
    const list = yield* local(left);
    fields[name] = yield* local(headList(list));
    left = tailList(list);
  }
  return fields as FieldsOf<L>;
}

/** A datum with other values in some fields. */
export function withChanges<L extends DatumLayout>(
  layout: L,
  fields: FieldsOf<L>,
  changes: Partial<DatumFields>,
): Term<Data> {
  const changed: Readonly<Record<string, Term<Data>>> = { ...fields, ...changes };
  return constr(0n, ...Object.keys(layout).flatMap((name) => changed[name] ?? []));
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
export const isState = ({ state }: DatumFields, ...states: readonly State[]): Term<Bool> =>
  any(...states.map((name) => hasIndex(state, STATE[name])));

const NO_BYTES = data(new Uint8Array());
export const hasResult = ({ resultHash }: DatumFields): Term<Bool> =>
  not(equalsData(resultHash, NO_BYTES));
