import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keysFromMnemonic } from "../../../src/chain/keys.ts";
import { buildTransaction } from "../../../src/chain/transaction/build.ts";
import { bundlesOf } from "../../../src/chain/transaction/bundles.ts";
import type { TransactionPlan, WalletOutput } from "../../../src/chain/transaction/plan.ts";
import { minimumCoin, payFrom } from "../../../src/chain/transaction/selection.ts";
import { addAll, encodeValue, type Value } from "../../../src/chain/transaction/value.ts";
import { POLICY_ID_LENGTH } from "../../../src/chain/unit.ts";
import { runs } from "../../support/effort.ts";
import { PROTOCOL_PARAMETERS } from "../../support/protocol-parameters.ts";

const keys = await keysFromMnemonic(`${"test ".repeat(23)}sauce`, "Preprod");
const { address } = keys;
const DOLLAR = `${"aa".repeat(28)}55534444`;
const PAID = 5_000_000n;

const hash = (n: number) => n.toString(16).padStart(64, "0");
const outputOf = (n: number, value: Value): WalletOutput => ({ txHash: hash(n), index: 0, value });

/** What the wallet's owner sent: the end of its line, and what it pays with. */
const own = [
  outputOf(1, new Map([["", 1_000_000_000n]])),
  outputOf(2, new Map([["", 2_200_000n]]).set(DOLLAR, 500_000_000n)),
];
const plan = (parameters = PROTOCOL_PARAMETERS): TransactionPlan => ({
  ...{ scriptInputs: [], mints: [], requiredSigners: [], metadata: new Map() },
  outputs: [{ address, value: new Map([["", 2_000_000n]]).set(DOLLAR, PAID) }],
  validity: { from: 1, to: 2 },
  parameters,
});

function build(outputs: WalletOutput[], mustSpend: WalletOutput[], planned = plan()) {
  const wallet = { address, outputs, mustSpend, collateral: null };
  return buildTransaction(planned, payFrom(wallet, planned), [keys]);
}

/** Tokens whose names are as long as the ledger allows, or as short. */
const tokensOf = (least: number, most: number): fc.Arbitrary<Value> =>
  fc
    .array(
      fc.tuple(fc.nat(40), fc.nat(300), fc.constantFrom(0, 2, 32), fc.bigInt(1n, 2n ** 63n - 1n)),
      { minLength: least, maxLength: most, size: "max" },
    )
    .map((tokens) => {
      const named = tokens.map(([policy, name, length, amount]): [string, bigint] => {
        const text = hash(name).slice(64 - 2 * length);
        return [hash(policy).slice(64 - POLICY_ID_LENGTH) + text, amount];
      });
      return new Map(named);
    });

describe("tokens that return to a wallet", () => {
  it("are parted so that each output holds what the ledger allows, and nothing is lost", () => {
    fc.assert(
      fc.property(tokensOf(0, 150), fc.integer({ min: 200, max: 5_000 }), (tokens, most) => {
        const bundles = bundlesOf(new Map([["", 7n], ...tokens]), most);
        const sum: Value = new Map();
        for (const bundle of bundles) {
          addAll(sum, bundle);
          const size = encodeValue(new Map([["", 2n ** 63n], ...bundle])).length;
          expect(size).toBeLessThanOrEqual(most);
        }
        expect([...sum].sort()).toEqual([...tokens].sort());
      }),
      runs(200, 2_000),
    );
  });

  it("return in outputs that the ledger takes, whatever strangers have sent", () => {
    const parameters = { ...PROTOCOL_PARAMETERS, maxTransactionSize: 1_000_000 };
    const sent = fc.array(tokensOf(40, 80), { minLength: 3, maxLength: 8 });
    fc.assert(
      fc.property(sent, fc.bigInt(0n, 60_000_000n), (strange, coin) => {
        const all = strange.map((tokens, i) =>
          outputOf(100 + i, new Map([["", 25_000_000n + coin], ...tokens])),
        );
        const outputs = [...own, ...all];
        // Everything is spent: so all of their tokens return.
        const built = build(outputs, outputs, plan(parameters));
        for (const output of built.outputs) {
          expect(encodeValue(output.value).length).toBeLessThanOrEqual(5_000);
          expect(output.value.get("")).toBeGreaterThanOrEqual(minimumCoin(output, parameters));
        }
        const given: Value = new Map([["", built.fee]]);
        for (const { value } of built.outputs) addAll(given, value);
        const taken: Value = new Map();
        for (const { value } of outputs) addAll(taken, value);
        expect([...given].sort()).toEqual([...taken].sort());
        // The line goes on with the native coin alone where there is enough of it.
        expect(built.outputs.at(-1)?.value.size).toBe(1);
      }),
      runs(60, 600),
    );
  });

  it("return with the end of the line where there is no native coin for one more output", () => {
    const tokens = new Map(
      Array.from({ length: 150 }, (_, i) => [hash(i).slice(8) + "cd".repeat(32), 1n] as const),
    );
    const fat = outputOf(3, new Map([["", 47_000_000n], ...tokens]));
    const planned = { ...plan(), outputs: [] };
    const built = build([fat], [fat], planned);
    expect(built.outputs.map(({ value }) => value.size)).toEqual([74, 74, 5]);
    for (const { value } of built.outputs)
      expect(encodeValue(value).length).toBeLessThanOrEqual(5_000);
  });
});

describe("a token payment", () => {
  it("spends the outputs with the most of its token, and none of strangers' dust", () => {
    const strange = Array.from({ length: 10 }, (_, i) => {
      const names = Array.from({ length: 9 }, (_, k) => [hash(i * 9 + k).slice(8), 1n] as const);
      return outputOf(100 + i, new Map([["", 4_200_000n], [DOLLAR, 1n], ...names]));
    });
    const built = build([...own, ...strange], own.slice(0, 1));
    expect(built.inputs).toEqual(own);
  });

  it("spends no more outputs than it must, however its token is spread", () => {
    const amounts = fc.array(fc.bigInt(1n, 3_000_000n), { minLength: 5, maxLength: 40 });
    fc.assert(
      fc.property(amounts, (held) => {
        fc.pre(held.reduce((sum, one) => sum + one, 0n) >= PAID);
        const outputs = held.map((amount, i) =>
          outputOf(10 + i, new Map([["", 1_500_000n]]).set(DOLLAR, amount)),
        );
        const spent = build([...own.slice(0, 1), ...outputs], own.slice(0, 1)).inputs.length - 1;
        let [count, sum] = [0, 0n];
        for (const amount of held.toSorted((a, b) => (a > b ? -1 : 1))) {
          if (sum >= PAID) break;
          sum += amount;
          count++;
        }
        expect(spent).toBe(count);
      }),
      runs(60, 600),
    );
  });
});
