/** Writes a term as the script that a witness carries. */
import { encodeBytes } from "../../../src/chain/cbor.ts";
import { encodePlutusData, type PlutusData } from "../../../src/chain/plutus/data.ts";
import { BitWriter, TERM_BITS, TERM_TAGS, writeData } from "../../../src/chain/plutus/flat.ts";
import {
  type Definition,
  type Kind,
  type Target,
  type Term,
  writeNatural,
  writeTag,
} from "./terms.ts";

/** How a program takes parameters; see `replaceParameters`. */
export type ParameterForm = "applications" | "case";

const VERSION = [1n, 1n, 0n];
/** Bits of a constructor's number, and of the flag whether a list of terms continues. */
const NUMBER_BITS = 8;
const MORE_BITS = 1;

/**
 * Compiles a term to a script, a flat program in a CBOR byte string.
 *
 * @param term - takes its parameters and the script context
 * @param form - how the program takes the parameters
 */
export function compile(
  term: Term<Kind>,
  parameters: readonly PlutusData[] = [],
  form: ParameterForm = "applications",
): Uint8Array {
  const bits = new BitWriter();
  const constants = parameters.map(encodePlutusData);
  for (const part of VERSION) writeNatural(bits, part);
  if (form === "applications") {
    for (const _ of constants) bits.write(TERM_TAGS.application, TERM_BITS);
    writeProgram(bits, term);
    for (const constant of constants) writeData(bits, constant);
  } else {
    bits.write(TERM_TAGS.case, TERM_BITS);
    bits.write(TERM_TAGS.constr, TERM_BITS);
    bits.write(0, NUMBER_BITS);
    for (const constant of constants) {
      bits.write(1, MORE_BITS);
      writeData(bits, constant);
    }
    bits.write(0, MORE_BITS);
    bits.write(1, MORE_BITS);
    writeProgram(bits, term);
    bits.write(0, MORE_BITS);
  }
  bits.align();
  return encodeBytes(bits.toBytes());
}

/** Writes a term inside of the definitions that it uses: `[(lam d0 [(lam d1 term) value1]) value0]`. */
function writeProgram(bits: BitWriter, term: Term<Kind>): void {
  const definitions = definitionsIn(term);
  const levels = new Map(definitions.map((definition, level) => [definition, level]));
  const to: Target = {
    bits,
    levelOf(definition) {
      const level = levels.get(definition);
      if (level === undefined) throw new Error("a definition changes from one writing to the next");
      return level;
    },
  };
  for (const _ of definitions) {
    writeTag(to, TERM_TAGS.application);
    writeTag(to, TERM_TAGS.lambda);
  }
  term.write(to, definitions.length);
  for (const [level, definition] of [...definitions.entries()].reverse())
    definition.write(to, level);
}

/** The definitions that a term uses, each after its own definitions. */
function definitionsIn(term: Term<Kind>): Definition[] {
  const complete = new Set<Definition>();
  const begun = new Set<Definition>();
  const discover: Target = {
    bits: new BitWriter(),
    levelOf(definition) {
      if (!begun.has(definition)) {
        begun.add(definition);
        definition.write(discover, 0);
        complete.add(definition);
      }
      return 0;
    },
  };
  term.write(discover, 0);
  return [...complete];
}
