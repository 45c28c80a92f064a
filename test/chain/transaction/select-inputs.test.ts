import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildTransaction } from "../../../src/chain/transaction/build-transaction.ts";
import { createCollateralReturn } from "../../../src/chain/transaction/encode.ts";
import {
  computeMinimumCoin,
  createInputSelector,
  MissingCollateralError,
  splitTokens,
} from "../../../src/chain/transaction/select-inputs.ts";
import type {
  TransactionPlan,
  WalletOutput,
} from "../../../src/chain/transaction/transaction-plan.ts";
import { addValue, encodeValue, type Value } from "../../../src/chain/transaction/value.ts";
import { POLICY_ID_LENGTH } from "../../../src/chain/unit.ts";
import { deriveWalletKeys } from "../../../src/chain/wallet-keys.ts";
import { runs } from "../../support/effort.ts";
import { PROTOCOL_PARAMETERS } from "../../support/protocol-parameters.ts";

const keys = await deriveWalletKeys(`${"test ".repeat(23)}sauce`, "Preprod");
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
  return buildTransaction(planned, createInputSelector(wallet, planned), [keys]);
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
        const bundles = splitTokens(new Map([["", 7n], ...tokens]), most);
        const sum: Value = new Map();
        for (const bundle of bundles) {
          addValue(sum, bundle);
          const size = encodeValue(new Map([["", 2n ** 63n], ...bundle])).length;
          expect(size).toBeLessThanOrEqual(most);
        }
        expect([...sum].sort()).toEqual([...tokens].sort());
      }),
      runs(60, 2_000),
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
          expect(output.value.get("")).toBeGreaterThanOrEqual(
            computeMinimumCoin(output, parameters),
          );
        }
        const given: Value = new Map([["", built.fee]]);
        for (const { value } of built.outputs) addValue(given, value);
        const taken: Value = new Map();
        for (const { value } of outputs) addValue(taken, value);
        expect([...given].sort()).toEqual([...taken].sort());
        // The line goes on with the native coin alone where there is enough of it.
        expect(built.outputs.at(-1)?.value.size).toBe(1);
      }),
      runs(20, 600),
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
      runs(20, 600),
    );
  });
});

describe("The collateral of a transaction", () => {
  const SCRIPT = {
    from: "reference",
    hash: "ab".repeat(28),
    output: outputOf(9, new Map()),
    size: 9_000,
  } as const;
  /** A spend of a script's output, which uses as much as a node is asked to measure. */
  const spending: TransactionPlan = {
    ...plan(),
    outputs: [],
    requiredSigners: [keys.vkey],
    scriptInputs: [
      {
        ...outputOf(8, new Map([["", 5_000_000n]])),
        script: SCRIPT,
        redeemer: Uint8Array.of(0x80),
        units: { memory: 7_000_000n, steps: 3_000_000_000n },
      },
    ],
  };

  const collateralOf = (outputs: readonly WalletOutput[], kept: WalletOutput | null = null) => {
    const wallet = { address, outputs, mustSpend: [], collateral: kept };
    const { selection: payment, fee } = buildTransaction(
      spending,
      createInputSelector(wallet, spending),
      [keys],
    );
    if (payment.collateral === null) throw new Error("a script runs without collateral");
    return { ...payment.collateral, fee };
  };
  const coins = (...amounts: number[]) =>
    amounts.map((amount, i) => outputOf(20 + i, new Map([["", BigInt(amount)]])));

  it("is the kept output, else the smallest that suffices, else as few of the largest as suffice", () => {
    const [kept, small, large] = coins(5_000_000, 4_000_000, 9_000_000);
    if (!kept || !small || !large) throw new Error("there are three");
    expect(collateralOf([kept, small, large], kept).inputs).toEqual([kept]);
    expect(collateralOf([kept, small, large]).inputs).toEqual([small]);
    const three = coins(1_100_000, 1_600_000, 1_500_000);
    expect(collateralOf(three).inputs).toEqual([three[1], three[2]]);
    expect(collateralOf(coins(1_000_000, 1_000_000, 1_000_000)).inputs).toHaveLength(3);
  });

  it("is what the ledger takes, whatever the wallet holds, or the wallet says what it lacks", () => {
    const amounts = fc.array(fc.integer({ min: 900_000, max: 3_000_000 }), { maxLength: 8 });
    fc.assert(
      fc.property(amounts, tokensOf(0, 3), (some, tokens) => {
        const outputs = coins(...some).map((one, i) =>
          i === 0 ? { ...one, value: new Map([...one.value, ...tokens]) } : one,
        );
        try {
          const { inputs, totalCollateral: stake, fee } = collateralOf(outputs);
          expect(inputs.length).toBeLessThanOrEqual(PROTOCOL_PARAMETERS.maxCollateralInputs);
          expect(new Set(inputs).size).toBe(inputs.length);
          expect(stake * 100n).toBeGreaterThanOrEqual(fee * PROTOCOL_PARAMETERS.collateralPercent);
          const returned = createCollateralReturn({ inputs, totalCollateral: stake, address });
          const least = computeMinimumCoin(returned, PROTOCOL_PARAMETERS);
          expect(returned.value.get("")).toBeGreaterThanOrEqual(least);
          const taken: Value = new Map([["", stake]]);
          addValue(taken, returned.value);
          const given: Value = new Map();
          for (const { value } of inputs) addValue(given, value);
          expect(taken).toEqual(given);
        } catch (error) {
          if (!(error instanceof MissingCollateralError)) throw error;
          // Three of the largest with the native coin alone do not suffice.
          const plain = outputs.slice(1).map(({ value }) => value.get("") ?? 0n);
          const [a = 0n, b = 0n, c = 0n] = plain.toSorted((x, y) => (x > y ? -1 : 1));
          expect(a + b + c).toBeLessThan(3_000_000n);
        }
      }),
      runs(60, 2_000),
    );
  });

  it("is told to be mergeable where more outputs than the ledger takes hold enough", () => {
    const lacking = (outputs: readonly WalletOutput[]) => {
      try {
        return collateralOf(outputs);
      } catch (error) {
        return error;
      }
    };
    const small = Array<number>(6).fill(800_000);
    expect(lacking(coins(...small))).toMatchObject({ isScattered: true });
    expect(lacking(coins(...small.slice(3)))).toMatchObject({ isScattered: false });
  });
});
