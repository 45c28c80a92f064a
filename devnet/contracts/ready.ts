/**
 * Compiled scripts that replace ours. `ESCROW_CONTRACTS` names a JSON file with the scripts of one or both
 * generations, such as the deployed ones from a public chain:
 *
 *     {"Web3ChainV1": {"language": "PlutusV3", "escrow": "5918b0…", "policy": "590a21…"}}
 *
 * A script is the flat program as a CBOR byte string, which a second byte string may wrap. It has parameters,
 * which the parameters of the local chain replace. Without a policy, our policy is used.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { CborError, readCbor } from "../../src/chain/cbor.ts";
import { hexToBytes } from "../../src/chain/hex.ts";
import { PAYMENT_SOURCE_TYPES, type PaymentSourceType } from "../../src/chain/network.ts";
import { createScriptFromTemplate } from "../../src/chain/plutus/contract-parameters.ts";
import type { PlutusData } from "../../src/chain/plutus/data.ts";
import { ScriptError } from "../../src/chain/plutus/script.ts";
import { LANGUAGES, type Language, type Script, scriptOf } from "./scripts.ts";

/** A script that takes parameters. */
type Parameterised = (parameters: readonly PlutusData[]) => Script;

/** The scripts of one generation. Each throws an Error in one sentence when it does not take the parameters. */
export interface ReadyScripts {
  escrow: Parameterised;
  /** Null when the file has none. */
  policy: Parameterised | null;
}
export type ReadyContracts = Partial<Record<PaymentSourceType, ReadyScripts>>;

const script = z
  .string()
  .regex(/^([0-9a-f]{2})+$/, "must be bytes in lower-case hex")
  .transform(hexToBytes);
const generation = z
  .strictObject({ language: z.enum(LANGUAGES), escrow: script, policy: script.optional() })
  .optional();
const contents = z
  .strictObject({ Web3ChainV1: generation, Web3ChainV2: generation })
  .refine((file) => file.Web3ChainV1 ?? file.Web3ChainV2, "names no generation");

/**
 * Reads such a file.
 *
 * @throws Error in one sentence when it is not there or is not right
 */
export function readReadyContracts(path: string): ReadyContracts {
  const file = parse(path);
  return Object.fromEntries(
    PAYMENT_SOURCE_TYPES.flatMap((type) => {
      const scripts = file[type];
      if (!scripts) return [];
      const { language, escrow, policy } = scripts;
      const at = (name: string) => `${path}: ${type}: ${name}`;
      const ready: ReadyScripts = {
        escrow: parameterised(at("escrow"), language, escrow, type),
        policy: policy ? parameterised(at("policy"), language, policy, "policy") : null,
      };
      return [[type, ready]];
    }),
  );
}

function parameterised(
  place: string,
  language: Language,
  wrapped: Uint8Array,
  of: PaymentSourceType | "policy",
): Parameterised {
  return (parameters) => {
    try {
      const template = unwrap(wrapped);
      // The policy of Web3ChainV2 takes none.
      if (parameters.length === 0) return scriptOf(template, language);
      return scriptOf(createScriptFromTemplate(template, of, "Preprod", parameters), language);
    } catch (error) {
      if (!(error instanceof ScriptError)) throw error;
      throw refusal(`${place}: does not take the local parameters: ${error.message}`);
    }
  };
}

function parse(path: string): z.infer<typeof contents> {
  const { data, error } = contents.safeParse(jsonOf(path));
  if (data) return data;
  const [issue] = error.issues;
  throw refusal([path, ...(issue?.path ?? []), issue?.message].join(": "));
}

function jsonOf(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw refusal(`${path} cannot be read (${code})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw refusal(`${path} is not JSON`);
  }
}

const refusal = (problem: string) => new Error(`ESCROW_CONTRACTS: ${problem}`);

/** Unwraps the second byte string. A program begins with its version, so it is no byte string. */
function unwrap(script: Uint8Array): Uint8Array {
  const inner = byteString(script);
  if (inner === null) throw new ScriptError("not a CBOR byte string");
  return byteString(inner) === null ? script : inner;
}

function byteString(cbor: Uint8Array): Uint8Array | null {
  try {
    const node = readCbor(cbor);
    return node.kind === "bytes" ? node.value : null;
  } catch (error) {
    if (error instanceof CborError) return null;
    throw error;
  }
}
