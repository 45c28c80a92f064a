/**
 * Contracts that take parameters, as those of the default deployment do, for the local chain: the
 * permissive ones in as many lambdas, which take the parameters and pass over them. What the service
 * derives from them is as permissive as they are.
 */
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { formatAddress } from "../../src/chain/address.ts";
import { encodeBytes, readCbor } from "../../src/chain/cbor.ts";
import { escrowParameters, policyParameters } from "../../src/chain/contract-parameters.ts";
import {
  BitReader,
  BitWriter,
  copyNatural,
  copyTerm,
  TERM,
  TERM_BITS,
  writeData,
} from "../../src/chain/flat.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { encodePlutusData, type PlutusData } from "../../src/chain/plutus-data.ts";
import { scriptHash } from "../../src/chain/plutus-script.ts";
import type { Templates } from "../../src/sources/templates.ts";
import { ADMIN } from "../actors/wallets.ts";
import { contractOf } from "./index.ts";

/** How parameters stand in a program; see `replaceParameters`. */
export type ParameterForm = "applications" | "case";

/**
 * A script in lambdas, applied to parameters.
 *
 * @param scriptCbor - of a closed program, hex
 */
export function applyTo(
  scriptCbor: string,
  parameters: readonly PlutusData[],
  form: ParameterForm,
): Uint8Array {
  const node = readCbor(hexToBytes(scriptCbor));
  if (node.kind !== "bytes") throw new Error("a script is a byte string");
  const from = new BitReader(node.value);
  const to = new BitWriter();
  const tag = (value: number) => to.write(value, TERM_BITS);
  const more = (bit: 0 | 1) => to.write(bit, 1);
  const constants = parameters.map(encodePlutusData);
  const body = () => {
    for (const _ of constants) tag(TERM.lambda);
    copyTerm(from, to);
  };

  for (const _ of ["major", "minor", "patch"]) copyNatural(from, to);
  if (form === "applications") {
    for (const _ of constants) tag(TERM.application);
    body();
    for (const constant of constants) writeData(to, constant);
  } else {
    tag(TERM.case);
    tag(TERM.constr);
    to.write(0, 8);
    for (const constant of constants) {
      more(1);
      writeData(to, constant);
    }
    more(0);
    more(1);
    body();
    more(0);
  }
  to.align();
  return encodeBytes(to.bytes());
}

const V1 = contractOf("Web3ChainV1");
const V2 = contractOf("Web3ChainV2");
const TERMS = {
  requiredAdminSignatures: 2,
  adminVkeys: [ADMIN.vkey, ADMIN.vkey, ADMIN.vkey],
  cooldownTime: 420_000,
};
const v1Escrow = applyTo(
  V1.scriptCbor,
  escrowParameters({
    ...TERMS,
    type: "Web3ChainV1",
    fee: { receiver: ADMIN.address, permille: 50 },
  }),
  "case",
);
const v1Policy = applyTo(
  V1.scriptCbor,
  policyParameters(
    formatAddress({
      network: "Preprod",
      payment: { kind: "script", hash: scriptHash(v1Escrow) },
      stake: null,
    }),
  ),
  "applications",
);
const v2Escrow = applyTo(
  V2.scriptCbor,
  escrowParameters({ ...TERMS, type: "Web3ChainV2", fee: null }),
  "applications",
);

/** Their scripts, hex, for whoever publishes them. */
export const TEMPLATE_SCRIPTS: readonly string[] = [v1Escrow, v1Policy, v2Escrow].map(bytesToHex);

/** What `CONTRACT_TEMPLATES` says on the local chain, as JSON. */
export const TEMPLATES: Record<PaymentSourceType, Templates> = {
  Web3ChainV1: { escrow: scriptHash(v1Escrow), policy: scriptHash(v1Policy) },
  Web3ChainV2: { escrow: scriptHash(v2Escrow), policy: V2.policyId },
};
