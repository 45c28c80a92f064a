import { type Constr, type PlutusData, PlutusDataError, type PlutusMap } from "./data.ts";

/*
 * Typed access to untrusted Plutus data. Each function takes the name of what it reads, for the
 * error, and throws PlutusDataError when the data is something else.
 */

/** A constructor with a number from 0 to `lastIndex`. */
export function expectConstr(data: PlutusData, name: string, lastIndex: number): Constr {
  const isConstr =
    typeof data === "object" && !Array.isArray(data) && "index" in data && "fields" in data;
  if (!isConstr || data.index > lastIndex)
    throw new PlutusDataError(`${name}: not the expected constructor`);
  return data;
}

/** Refuses fields. */
export function expectNoFields({ fields }: Constr, name: string): void {
  if (fields.length > 0)
    throw new PlutusDataError(`${name}: ${fields.length} fields instead of none`);
}

/** The only field. */
export function expectOneField({ fields }: Constr, name: string): PlutusData {
  const [field] = fields;
  if (field === undefined || fields.length > 1)
    throw new PlutusDataError(`${name}: ${fields.length} fields instead of one`);
  return field;
}

/** The entries of a map. */
export function expectEntries(data: PlutusData, name: string): PlutusMap["entries"] {
  const isMap =
    typeof data === "object" &&
    !Array.isArray(data) &&
    !(data instanceof Uint8Array) &&
    "entries" in data;
  if (!isMap) throw new PlutusDataError(`${name}: not a map`);
  return data.entries;
}

/** A byte string of at most `longest` bytes. */
export function expectBytes(data: PlutusData, name: string, longest: number): Uint8Array {
  if (!(data instanceof Uint8Array)) throw new PlutusDataError(`${name}: not a byte string`);
  if (data.length > longest) throw new PlutusDataError(`${name}: longer than ${longest} bytes`);
  return data;
}
