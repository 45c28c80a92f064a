/** One spend of an escrow, and the rules for every spend: 1 to 4. */
import {
  equalsData,
  fstPair,
  lessThanEqualsInteger,
  lessThanInteger,
  sndPair,
  unConstrData,
  unIData,
  unListData,
} from "../plutus/builtins.ts";
import { FALSE } from "../plutus/constants.ts";
import { all, filter, find, map, some, when } from "../plutus/control.ts";
import { at, fieldAt, fieldsOf, hasIndex, isConstr, type Shape } from "../plutus/data.ts";
import { local, type Steps } from "../plutus/procedure.ts";
import { type Bool, type Data, define, type Int, type List, type Term } from "../plutus/terms.ts";
import { demand } from "../rules.ts";
import { type DatumLayout, type FieldsOf, openDatum } from "./datum.ts";
import { INLINE, OUTPUT } from "./values.ts";

/** A spend in its transaction. */
export interface Spend<L extends DatumLayout> {
  layout: L;
  /** The fields of the spent output's datum. */
  datum: FieldsOf<L>;
  /** Of the spent output. */
  own: { reference: Term<Data>; address: Term<Data>; value: Term<Data> };
  /** Constructor number and fields. */
  redeemer: { number: Term<Int>; fields: Term<List<Data>> };
  /** Spent outputs at the contract: at the whole address of the spent output. */
  spentAtContract: Term<List<Data>>;
  /** Every output of the transaction, and those at the contract. */
  outputs: Term<List<Data>>;
  atContract: Term<List<Data>>;
  /** Key hashes that the transaction lists as required signers. */
  signatories: Term<List<Data>>;
  /** When its validity starts: a bound that may be infinite. */
  start: Term<Data>;
  /** When its validity ends, ms. */
  end: Term<Int>;
}

// Positions and constructor numbers in the script context of Plutus V3.
const CONTEXT = { transaction: 0, redeemer: 1, script: 2 } as const;
const TRANSACTION = { inputs: 0, outputs: 2, validity: 7, signatories: 8 } as const;
const INPUT = { reference: 0, output: 1 } as const;
const SPENT = { reference: 0, datum: 1 } as const;
const SOME = 0n;
const NONE = 1n;
const FINITE = 1n;
const KEY = 0n;

/** Reads the script context of a spend. */
export function* openSpend<L extends DatumLayout>(layout: L, context: Term<Data>): Steps<Spend<L>> {
  const parts = yield* local(fieldsOf(context));
  const transaction = yield* local(fieldsOf(at(parts, CONTEXT.transaction)));
  const script = yield* local(fieldsOf(at(parts, CONTEXT.script)));
  const reference = yield* local(at(script, SPENT.reference));
  const option = yield* local(at(script, SPENT.datum));
  yield* demand("ownDatum", when(hasIndex(option, SOME), isConstr(fieldAt(option, 0)), FALSE));
  const datum = yield* openDatum(layout, fieldAt(option, 0));
  yield* demand("redeemer", isConstr(at(parts, CONTEXT.redeemer)));
  const redeemer = yield* local(unConstrData(at(parts, CONTEXT.redeemer)));

  const validity = yield* local(fieldsOf(at(transaction, TRANSACTION.validity)));
  const end = yield* local(timeOf(at(validity, 1)));
  yield* demand("validTo", hasIndex(end, FINITE));

  const inputs = yield* local(unListData(at(transaction, TRANSACTION.inputs)));
  const spent = yield* local(
    find(inputs, (input) => equalsData(fieldAt(input, INPUT.reference), reference)),
  );
  const output = yield* local(fieldsOf(fieldAt(spent, INPUT.output)));
  const address = yield* local(at(output, OUTPUT.address));
  const outputs = yield* local(unListData(at(transaction, TRANSACTION.outputs)));
  const spentOutputs = map(inputs, (input) => fieldAt(input, INPUT.output));
  return {
    layout,
    datum,
    own: { reference, address, value: yield* local(at(output, OUTPUT.value)) },
    redeemer: { number: yield* local(fstPair(redeemer)), fields: sndPair(redeemer) },
    spentAtContract: yield* local(outputsAt(address, spentOutputs)),
    outputs,
    atContract: outputsAt(address, outputs),
    signatories: unListData(at(transaction, TRANSACTION.signatories)),
    start: timeOf(at(validity, 0)),
    end: yield* local(unIData(fieldAt(end, 0))),
  };
}

/** The time of an interval's bound. */
const timeOf = (bound: Term<Data>) => fieldAt(bound, 0);

const credentialOf = (address: Term<Data>) => fieldAt(address, 0);

/** The outputs at an address. */
const outputsAt = define((address: Term<Data>, outputs: Term<List<Data>>) =>
  filter(outputs, (output) => equalsData(fieldAt(output, OUTPUT.address), address)),
);

export const isAt = (output: Term<Data>, { own }: Pick<Spend<DatumLayout>, "own">): Term<Bool> =>
  equalsData(fieldAt(output, OUTPUT.address), own.address);

export const hasNoScript = (output: Term<Data>): Term<Bool> =>
  hasIndex(fieldAt(output, OUTPUT.referenceScript), NONE);

/** Whether a Plutus address is of a key that is among the required signers. */
export const isSignedBy = (
  { signatories }: Pick<Spend<DatumLayout>, "signatories">,
  address: Term<Data>,
): Term<Bool> => isKeyOf(address, signatories);
const isKeyOf = define((address: Term<Data>, keyHashes: Term<List<Data>>) =>
  all(
    hasIndex(credentialOf(address), KEY),
    some(keyHashes, (keyHash) => equalsData(keyHash, fieldAt(credentialOf(address), 0))),
  ),
);

/** Whether the transaction is not valid before a time, ms. */
export const startsAt = (
  { start }: Pick<Spend<DatumLayout>, "start">,
  time: Term<Int>,
): Term<Bool> => isNotBefore(start, time);
const isNotBefore = define((start: Term<Data>, time: Term<Int>) =>
  all(hasIndex(start, FINITE), lessThanEqualsInteger(time, unIData(fieldAt(start, 0)))),
);

/** Whether the transaction is no longer valid at a time, ms. */
export const endsBefore = ({ end }: Pick<Spend<DatumLayout>, "end">, time: Term<Int>): Term<Bool> =>
  lessThanInteger(end, time);

/** The inline datum of an output. Fails when there is none. */
export const datumOf = (output: Term<Data>): Term<Data> =>
  fieldAt(fieldAt(output, OUTPUT.datum), 0);

/** Whether an output has an inline datum of that shape. */
export const hasDatum = (output: Term<Data>, isDatum: Shape): Term<Bool> =>
  when(hasIndex(fieldAt(output, OUTPUT.datum), INLINE), isDatum(datumOf(output)), FALSE);
