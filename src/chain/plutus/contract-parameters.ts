import { parseAddress } from "../address.ts";
import { bytesToHex, hexToBytes } from "../hex.ts";
import type { Network, PaymentSourceType } from "../network.ts";
import { readPlutusAddress, toPlutusAddress } from "./address.ts";
import { decodePlutusData, encodePlutusData, type PlutusData, PlutusDataError } from "./data.ts";
import { expectBytes } from "./fields.ts";
import { replaceParameters, ScriptError } from "./script.ts";

/** The parameters of an escrow contract, built into its script. */
export interface EscrowParameters {
  type: PaymentSourceType;
  /** Signatures of admins that settle a dispute. */
  requiredAdminSignatures: number;
  /** Payment key hashes, hex, in order. One that occurs twice counts twice. */
  adminVkeys: readonly string[];
  /** Milliseconds that a party waits between two moves. */
  cooldownTime: number;
  /** The receiver (bech32) of the fee, and its rate. Web3ChainV1 only. */
  fee: { receiver: string; permille: number } | null;
}

/** The parameters of an escrow script, in order; Web3ChainV2 takes no fee. */
export function encodeEscrowParameters(terms: EscrowParameters): PlutusData[] {
  const { requiredAdminSignatures, adminVkeys, fee, cooldownTime } = terms;
  return [
    BigInt(requiredAdminSignatures),
    adminVkeys.map(hexToBytes),
    ...(fee ? [toPlutusAddress(fee.receiver), BigInt(fee.permille)] : []),
    BigInt(cooldownTime),
  ];
}

/** The parameters of the registry policy of Web3ChainV1: the text of the escrow's address. */
export function encodePolicyParameters(escrowAddress: string): PlutusData[] {
  return [new TextEncoder().encode(escrowAddress)];
}

/** @throws PlutusDataError when it is something else */
type ParameterCheck = (data: PlutusData, network: Network) => void;

/** Bytes of a key hash, and of the longest address in bech32. */
const HASH_LENGTH = 28;
const MAX_ADDRESS_BYTES = 128;

const checkInteger: ParameterCheck = (data) => {
  if (typeof data !== "bigint") throw new PlutusDataError("parameter: not an integer");
};

const checkKeyHashes: ParameterCheck = (data) => {
  if (!Array.isArray(data)) throw new PlutusDataError("parameter: not a list");
  for (const item of data)
    if (expectBytes(item, "parameter", HASH_LENGTH).length < HASH_LENGTH)
      throw new PlutusDataError(`parameter: not a hash of ${HASH_LENGTH} bytes`);
};

const checkAddress: ParameterCheck = (data, network) => {
  readPlutusAddress(data, "parameter", network);
};

const checkContractAddress: ParameterCheck = (data, network) => {
  const text = new TextDecoder().decode(expectBytes(data, "parameter", MAX_ADDRESS_BYTES));
  const parsed = parseAddress(text);
  if (parsed?.payment.kind !== "script" || parsed.network !== network)
    throw new PlutusDataError("parameter: not the address of a contract");
};

/** The reader of each parameter of a contract. */
const PARAMETER_CHECKS: Record<PaymentSourceType | "policy", readonly ParameterCheck[]> = {
  Web3ChainV1: [checkInteger, checkKeyHashes, checkAddress, checkInteger, checkInteger],
  Web3ChainV2: [checkInteger, checkKeyHashes, checkInteger],
  policy: [checkContractAddress],
};

/**
 * The script of a contract that differs from another only in its parameters.
 *
 * @param template - the other's script, with its own parameters; the caller has checked its hash
 * @param of - what both are
 * @throws ScriptError when the template does not have the parameters of such a contract
 */
export function createScriptFromTemplate(
  template: Uint8Array,
  of: PaymentSourceType | "policy",
  network: Network,
  parameters: readonly PlutusData[],
): Uint8Array {
  const { script, replaced } = replaceParameters(template, parameters.map(encodePlutusData));
  let own: PlutusData[];
  try {
    own = replaced.map(decodePlutusData);
    for (const [i, check] of PARAMETER_CHECKS[of].entries()) {
      const data = own[i];
      if (data === undefined) throw new PlutusDataError(`only ${own.length} parameters`);
      check(data, network);
    }
  } catch (error) {
    if (error instanceof PlutusDataError) throw new ScriptError(error.message, { cause: error });
    throw error;
  }
  // If its compiler encodes parameters differently, ours would give another script.
  const again = replaceParameters(template, own.map(encodePlutusData)).script;
  if (bytesToHex(again) !== bytesToHex(template))
    throw new ScriptError("its parameters are written in another way than ours");
  return script;
}
