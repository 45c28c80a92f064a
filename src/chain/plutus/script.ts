import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { encodeBytes, tryReadCbor } from "../cbor.ts";
import { bytesToHex, hexToBytes } from "../hex.ts";
import {
  BitReader,
  BitWriter,
  copyBits,
  copyNatural,
  copyTerm,
  countTerms,
  FlatError,
  readDataBytes,
  TERM_BITS,
  TERM_TAGS,
  writeData,
} from "./flat.ts";

/** A script does not take the expected parameters. */
export class ScriptError extends Error {
  override name = "ScriptError";
}

/** The prefix for Plutus V3 when the ledger hashes a script. */
const PLUTUS_V3 = Uint8Array.of(3);
/** Bytes: twice the limit of a transaction, so no script on the chain is larger. */
const MAX_SCRIPT_BYTES = 32 * 1024;

/**
 * Hash of a Plutus V3 script, hex: blake2b-224 over the language and the script.
 *
 * @param script - the flat program as a CBOR byte string, as witnesses carry it
 */
export function hashScript(script: Uint8Array): string {
  return bytesToHex(blake2b(concatBytes(PLUTUS_V3, script), { dkLen: 28 }));
}

/**
 * The Plutus V3 script with a hash, from a provider's answer. Some providers wrap the script in
 * another CBOR byte string.
 *
 * @param shown - hex
 * @returns null when it is another script
 */
export function parseScript(hash: string, shown: string): Uint8Array | null {
  // A byte string's head takes up to nine bytes.
  if (shown.length > 2 * (MAX_SCRIPT_BYTES + 9)) return null;
  const bytes = hexToBytes(shown);
  const inner = readByteString(bytes);
  return [bytes, inner].find((script) => script !== null && hashScript(script) === hash) ?? null;
}

function readByteString(cbor: Uint8Array): Uint8Array | null {
  const node = tryReadCbor(cbor);
  return node?.kind === "bytes" ? node.value : null;
}

/** Bits of the constructor number 0, and of the flag whether a list of terms continues. */
const CONSTR_INDEX_BITS = 8;
const CONTINUATION_BITS = 1;

/**
 * Replaces a script's parameters by others. They stay in place, in one of the two forms that compilers
 * use. The first form is applications around the body, `[[body p1] p2]`. The second form is one term,
 * `(case (constr 0 a1 p1 p2) body)`, with the parameters after the body's own arguments. Everything
 * else is copied bit for bit.
 *
 * @param script - the flat program as a CBOR byte string
 * @param parameters - CBOR of Plutus data, as many as the script has
 * @returns the script with those parameters, and the CBOR of those it had
 * @throws ScriptError when it is not a script with that many parameters
 */
export function replaceParameters(
  script: Uint8Array,
  parameters: readonly Uint8Array[],
): { script: Uint8Array; replaced: Uint8Array[] } {
  const program = readByteString(script);
  if (program === null || script.length > MAX_SCRIPT_BYTES)
    throw new ScriptError("not a script of a size that the ledger takes");
  const from = new BitReader(program);
  const to = new BitWriter();
  const replaced: Uint8Array[] = [];
  const expect = (value: number, bits: number) => {
    if (copyBits(from, to, bits) !== value)
      throw new ScriptError(`not a script with ${parameters.length} parameters`);
  };
  const replace = (parameter: Uint8Array) => {
    replaced.push(readDataBytes(from));
    writeData(to, parameter);
  };

  try {
    for (const _ of ["major", "minor", "patch"]) copyNatural(from, to);
    const outermost = copyBits(from, to, TERM_BITS);
    if (outermost === TERM_TAGS.case) {
      expect(TERM_TAGS.constr, TERM_BITS);
      expect(0, CONSTR_INDEX_BITS);
      for (let own = countTerms(from) - parameters.length; own > 0; own--) {
        expect(1, CONTINUATION_BITS);
        copyTerm(from, to);
      }
      for (const parameter of parameters) {
        expect(1, CONTINUATION_BITS);
        replace(parameter);
      }
      expect(0, CONTINUATION_BITS);
      expect(1, CONTINUATION_BITS);
      copyTerm(from, to);
      expect(0, CONTINUATION_BITS);
    } else if (outermost === TERM_TAGS.application) {
      for (const _ of parameters.slice(1)) expect(TERM_TAGS.application, TERM_BITS);
      copyTerm(from, to);
      for (const parameter of parameters) replace(parameter);
    } else throw new ScriptError("not a script with parameters");
    from.align();
    to.align();
  } catch (error) {
    if (error instanceof FlatError) throw new ScriptError(error.message, { cause: error });
    throw error;
  }
  if (!from.isAtEnd) throw new ScriptError("bytes left over behind the program");
  return { script: encodeBytes(to.toBytes()), replaced };
}
