import { describe, expect, it } from "vitest";
import { formatAddress } from "../../../src/chain/address.ts";
import { encodeBytes } from "../../../src/chain/cbor.ts";
import { bytesToHex, hexToBytes } from "../../../src/chain/hex.ts";
import {
  createScriptFromTemplate,
  encodeEscrowParameters,
  encodePolicyParameters,
} from "../../../src/chain/plutus/contract-parameters.ts";
import { encodePlutusData, type PlutusData } from "../../../src/chain/plutus/data.ts";
import { BitWriter, TERM_BITS, TERM_TAGS, writeData } from "../../../src/chain/plutus/flat.ts";
import { ScriptError } from "../../../src/chain/plutus/script.ts";

const ADMINS = [
  "fc16a1fcf309aed03ec18bb2176f5ea29acea70bb79145ebaffa8e75",
  "7f78161369549d8e2b138fee724c9fa606d6107a66720bdb4c48ada6",
  "89eef9ea84e0ee7fe4921fa93eb2873ff6e34473f751d5d52cb75aa6",
];
const RECEIVER = formatAddress({
  network: "Preprod",
  payment: { kind: "key", hash: "13cedc5388c33ff6eac2f0d919a9fd5517910de8def01b11523995e4" },
  stake: { kind: "key", hash: "c447a7c9eae8438a852033e904952a1680dfd035166e1800e1505b96" },
});
const CONTRACT = formatAddress({
  network: "Preprod",
  payment: { kind: "script", hash: "ab".repeat(28) },
  stake: null,
});
const TERMS = { requiredAdminSignatures: 2, adminVkeys: ADMINS, cooldownTime: 420_000 };
const V1 = encodeEscrowParameters({
  ...TERMS,
  type: "Web3ChainV1",
  fee: { receiver: RECEIVER, permille: 50 },
});
const V2 = encodeEscrowParameters({ ...TERMS, type: "Web3ChainV2", fee: null });

const hexOf = (data: PlutusData) => bytesToHex(encodePlutusData(data));

/** A script that fails, applied to parameters in CBOR. */
function template(parameters: readonly Uint8Array[]): Uint8Array {
  const to = new BitWriter();
  for (const part of [1, 1, 0]) to.write(part, 8);
  for (const _ of parameters) to.write(TERM_TAGS.application, TERM_BITS);
  to.write(TERM_TAGS.error, TERM_BITS);
  for (const parameter of parameters) writeData(to, parameter);
  to.align();
  return encodeBytes(to.toBytes());
}

const templateOf = (parameters: readonly PlutusData[]) =>
  template(parameters.map(encodePlutusData));

describe("the parameters of a contract", () => {
  it("are written as the default deployment of V1 has them", () => {
    expect(V1.map(hexOf)).toEqual([
      "02",
      "9f581cfc16a1fcf309aed03ec18bb2176f5ea29acea70bb79145ebaffa8e75581c7f78161369549d8e2b138fee724c9fa606d6107a66720bdb4c48ada6581c89eef9ea84e0ee7fe4921fa93eb2873ff6e34473f751d5d52cb75aa6ff",
      "d8799fd8799f581c13cedc5388c33ff6eac2f0d919a9fd5517910de8def01b11523995e4ffd8799fd8799fd8799f581cc447a7c9eae8438a852033e904952a1680dfd035166e1800e1505b96ffffffff",
      "1832",
      "1a000668a0",
    ]);
  });

  it("are the same without the fee on V2", () => {
    expect(V2).toEqual([V1[0], V1[1], V1[4]]);
  });

  it("are the text of the escrow's address for a policy", () => {
    expect(encodePolicyParameters(CONTRACT).map(hexOf)).toEqual([
      bytesToHex(encodeBytes(new TextEncoder().encode(CONTRACT))),
    ]);
  });

  it("make the same script as a template that has them already", () => {
    for (const [of, parameters] of [
      ["Web3ChainV1", V1],
      ["Web3ChainV2", V2],
      ["policy", encodePolicyParameters(CONTRACT)],
    ] as const)
      expect(createScriptFromTemplate(templateOf(parameters), of, "Preprod", parameters)).toEqual(
        templateOf(parameters),
      );
  });
});

describe("a template is refused", () => {
  const base = RECEIVER;
  const otherNetwork = formatAddress({
    network: "Mainnet",
    payment: { kind: "script", hash: "ab".repeat(28) },
    stake: null,
  });

  it.each<[string, "Web3ChainV1" | "Web3ChainV2" | "policy", PlutusData[]]>([
    ["with the parameters of the other generation", "Web3ChainV1", V2],
    ["with one more", "Web3ChainV2", [...V2, 1n]],
    ["with text for a number", "Web3ChainV2", [new Uint8Array(1), V2[1] ?? [], 1n]],
    ["with a number for the admins", "Web3ChainV2", [2n, 3n, 1n]],
    ["with a number among the admins", "Web3ChainV2", [2n, [3n], 1n]],
    ["with a short key hash", "Web3ChainV2", [2n, [new Uint8Array(27)], 1n]],
    ["with a long key hash", "Web3ChainV2", [2n, [new Uint8Array(29)], 1n]],
    ["with a number for the receiver", "Web3ChainV1", V1.with(2, 1n)],
    ["whose policy is for a wallet", "policy", encodePolicyParameters(base)],
    ["whose policy is for another network", "policy", encodePolicyParameters(otherNetwork)],
    ["whose policy is for no text", "policy", [Uint8Array.of(0xff)]],
  ])("%s", (_, of, own) => {
    const wanted =
      of === "policy" ? encodePolicyParameters(CONTRACT) : of === "Web3ChainV1" ? V1 : V2;
    expect(() => createScriptFromTemplate(templateOf(own), of, "Preprod", wanted)).toThrow(
      ScriptError,
    );
  });

  it("with parameters that are no Plutus data", () => {
    const own = [Uint8Array.of(0xff), ...V2.slice(1).map(encodePlutusData)];
    expect(() => createScriptFromTemplate(template(own), "Web3ChainV2", "Preprod", V2)).toThrow(
      ScriptError,
    );
  });

  it("with parameters that are written in another way", () => {
    // A list of definite length.
    const admins = hexToBytes(`81581c${ADMINS[0]}`);
    const own = [encodePlutusData(2n), admins, encodePlutusData(1n)];
    expect(() => createScriptFromTemplate(template(own), "Web3ChainV2", "Preprod", V2)).toThrow(
      "written in another way",
    );
  });
});
