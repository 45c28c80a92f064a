import { type AddressParts, type Credential, formatAddress, parseAddress } from "../address.ts";
import { bytesToHex, hexToBytes } from "../hex.ts";
import type { Network } from "../network.ts";
import { type Constr, type PlutusData, PlutusDataError } from "./data.ts";
import { expectBytes, expectConstr, expectNoFields, expectOneField } from "./fields.ts";

/** Bytes of a key or script hash. */
const HASH_LENGTH = 28;

/**
 * Reads `Address` as contracts see it.
 *
 * @param name - of the field, for the error
 * @throws PlutusDataError when the data is not an address, or has a pointer
 */
export function readPlutusAddress(data: PlutusData, name: string, network: Network): AddressParts {
  const { fields } = expectConstr(data, name, 0);
  const [payment, stake] = fields;
  if (payment === undefined || stake === undefined || fields.length > 2)
    throw new PlutusDataError(`${name}: ${fields.length} fields instead of two`);
  return {
    network,
    payment: readCredential(payment, name),
    stake: readStakeCredential(stake, name),
  };
}

function readCredential(data: PlutusData, name: string): Credential {
  const value = expectConstr(data, name, 1);
  const hash = expectBytes(expectOneField(value, name), name, HASH_LENGTH);
  if (hash.length !== HASH_LENGTH)
    throw new PlutusDataError(`${name}: not a hash of ${HASH_LENGTH} bytes`);
  return { kind: value.index === 0 ? "key" : "script", hash: bytesToHex(hash) };
}

function readStakeCredential(data: PlutusData, name: string): Credential | null {
  const option = expectConstr(data, name, 1);
  if (option.index === 1) {
    expectNoFields(option, name);
    return null;
  }
  // Constructor 0 holds the credential itself; 1 would be a pointer, which is obsolete.
  return readCredential(
    expectOneField(expectConstr(expectOneField(option, name), name, 0), name),
    name,
  );
}

const PLUTUS_NONE: Constr = { index: 1, fields: [] };

function toSome(data: PlutusData): Constr {
  return { index: 0, fields: [data] };
}

/** `Option<Address>`. */
export function toPlutusOptionalAddress(address: string | null): Constr {
  return address === null ? PLUTUS_NONE : toSome(toPlutusAddress(address));
}

/**
 * An address in bech32 as contracts see it.
 *
 * @throws Error when the text is not a base or enterprise address.
 */
export function toPlutusAddress(address: string): Constr {
  const parsed = parseAddress(address);
  if (parsed === null || formatAddress(parsed) !== parsed.bech32)
    throw new Error(`not a base or enterprise address: ${address}`);
  const { payment, stake } = parsed;
  const stakeOption = stake === null ? PLUTUS_NONE : toSome(toSome(encodeCredential(stake)));
  return { index: 0, fields: [encodeCredential(payment), stakeOption] };
}

function encodeCredential({ kind, hash }: Credential): Constr {
  return { index: kind === "key" ? 0 : 1, fields: [hexToBytes(hash)] };
}
