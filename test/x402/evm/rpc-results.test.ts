import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RpcRefusal, RpcUnavailableError, readResult } from "../../../src/x402/evm/rpc.ts";
import * as results from "../../../src/x402/evm/rpc-results.ts";
import { runs } from "../../support/effort.ts";

const HASH = `0x${"ab".repeat(32)}`;
const BLOCK = { number: "0x10", hash: HASH, timestamp: "0x6925f000" };
const RECEIPT = {
  transactionHash: HASH,
  blockNumber: "0x10",
  blockHash: HASH,
  status: "0x1",
  logs: [{ address: `0x${"cd".repeat(20)}`, topics: [HASH], data: "0x" }],
};

/** Each form, and a result that has it. */
const FORMS = [
  ["quantity", results.quantity, "0x0"],
  ["count", results.smallQuantity, "0x10"],
  ["bytes", results.bytes, "0x00"],
  ["block", results.block, { ...BLOCK, baseFeePerGas: "0x7" }],
  ["logs", results.logs, []],
  ["receipt", results.receipt, RECEIPT],
  ["transactionInput", results.transactionInput, { input: "0x01" }],
] as const;

describe("readResult", () => {
  it.each(FORMS)("reads a %s", (_, form, result) => {
    expect(() => readResult(form, result)).not.toThrow();
  });

  it.each(FORMS)(
    "throws RpcUnavailableError alone for results that are no %s",
    (_, form, result) => {
      const anywhere =
        typeof result === "object" && !Array.isArray(result)
          ? fc
              .tuple(fc.constantFrom(...Object.keys(result)), fc.jsonValue())
              .map(([field, value]) => ({ ...result, [field]: value }))
          : fc.jsonValue();
      const answer = fc.oneof(fc.jsonValue(), anywhere);
      fc.assert(
        fc.property(answer, (value) => {
          try {
            readResult(form, value);
          } catch (error) {
            expect(error).toBeInstanceOf(RpcUnavailableError);
          }
        }),
        runs(200, 5_000),
      );
    },
  );

  it("throws RpcUnavailableError for a refusal", () => {
    const refusal = new RpcRefusal(-32000, "no", null);
    expect(() => readResult(results.quantity, refusal)).toThrow(RpcUnavailableError);
  });

  it.each([null, undefined])("reads the base fee %s as none", (baseFeePerGas) => {
    expect(readResult(results.block, { ...BLOCK, baseFeePerGas }).baseFeePerGas ?? null).toBeNull();
  });

  it("reads lists that are null as empty, and an unmined transaction's receipt", () => {
    expect(readResult(results.logs, null)).toEqual([]);
    const pending = { ...RECEIPT, blockNumber: null, blockHash: null, logs: null };
    expect(readResult(results.receipt, pending)).toMatchObject({ blockNumber: null, logs: [] });
  });

  it("reads a transaction's data from either of its two names", () => {
    expect(readResult(results.transactionInput, { data: "0x02" })).toBe("0x02");
    expect(readResult(results.transactionInput, { input: null, data: "0x02" })).toBe("0x02");
  });
});
