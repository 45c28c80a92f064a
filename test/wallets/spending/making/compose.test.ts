import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatAddress } from "../../../../src/chain/address.ts";
import type {
  ExecutionUnits,
  ProtocolParameters,
} from "../../../../src/chain/provider/provider.ts";
import { buildTransaction } from "../../../../src/chain/transaction/build-transaction.ts";
import { decodeTransaction } from "../../../../src/chain/transaction/decode-transaction.ts";
import {
  computeMinimumFee,
  sumExecutionUnits,
} from "../../../../src/chain/transaction/minimum-fee.ts";
import {
  computeMinimumCoin,
  createInputSelector,
  InsufficientFundsError,
} from "../../../../src/chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type ScriptSource,
  type WalletOutput,
} from "../../../../src/chain/transaction/transaction-plan.ts";
import {
  addAmount,
  addValue,
  sumToValue,
  type Value,
} from "../../../../src/chain/transaction/value.ts";
import { deriveWalletKeys } from "../../../../src/chain/wallet-keys.ts";
import type { TransactionPart } from "../../../../src/wallets/queue/feature.ts";
import {
  composeTransaction,
  type FundingSource,
  toStoredFields,
} from "../../../../src/wallets/spending/building/compose-transaction.ts";
import { runs } from "../../../support/effort.ts";
import { PROTOCOL_PARAMETERS as parameters } from "../../../support/protocol-parameters.ts";

const keys = await deriveWalletKeys(`${"test ".repeat(23)}sauce`, "Preprod");
const frame = { validity: { from: 100, to: 700 }, parameters, signer: keys.vkey };
const TOKENS = ["aa", "bb"].map((byte) => `${byte.repeat(28)}01`);

let made = 0;
function output(coin: bigint, tokens: readonly [string, bigint][] = []): WalletOutput {
  const txHash = (++made).toString(16).padStart(64, "0");
  return { txHash, index: made % 3, value: new Map([["", coin], ...tokens]) };
}

/** A wallet that has one output. */
const fundingOf = (placementOutput: WalletOutput) => ({
  address: keys.address,
  placementOutput,
  outputs: [placementOutput],
  collateral: null,
});

/** Pays some coins and tokens to the n-th of those who are paid. */
function payment(n: number, coin: bigint, tokens: readonly [string, bigint][]): TransactionPart {
  const hash = n.toString(16).padStart(56, "0");
  const address = formatAddress({
    network: "Preprod",
    payment: { kind: "key", hash },
    stake: null,
  });
  return {
    spends: [],
    scriptInputs: [],
    mints: [],
    metadata: new Map(),
    outputs: [{ address, value: new Map([["", coin], ...tokens]) }],
    detail: {},
  };
}
const SCRIPTS = ["5c", "5d"].map(
  (byte): ScriptSource => ({ from: "witness", hash: byte.repeat(28), cbor: "450101002499" }),
);

/** Spends an output of a script, and goes on with a little more in it. */
function step(n: number, coin: bigint, used: ExecutionUnits | null): TransactionPart {
  const [script = fail()] = SCRIPTS.slice(n % 2);
  const input = output(coin, [[TOKENS[0] ?? "", 3n]]);
  const [next] = payment(n, coin + 500_000n, [[TOKENS[0] ?? "", 3n]]).outputs;
  return {
    ...payment(n, 0n, []),
    scriptInputs: [{ ...input, script, redeemer: Uint8Array.of(0xd8, 0x79, 0x80) }],
    getMeasuredUnits: (parts) =>
      used && { memory: used.memory * BigInt(parts), steps: used.steps * BigInt(parts) },
    outputs: next ? [next] : [],
  };
}

/** Mints some of a token, and pays them to somebody. */
function mint(quantity: bigint): TransactionPart {
  const [script = fail()] = SCRIPTS;
  return {
    ...payment(99, 3_000_000n, [[`${script.hash}01`, quantity]]),
    mints: [{ script, tokens: new Map([["01", quantity]]), redeemer: Uint8Array.of(0x80) }],
  };
}

const fail = (): never => {
  throw new Error("not reached");
};
const units = fc.record({
  memory: fc.bigInt({ min: 100_000n, max: 2_000_000n }),
  steps: fc.bigInt({ min: 50_000_000n, max: 1_500_000_000n }),
});
const coins = fc.bigInt({ min: 1_500_000n, max: 80_000_000n });
const tokens = fc
  .subarray(TOKENS)
  .map((units) => units.map((unit) => [unit, 5n] as [string, bigint]));
const purses = fc
  .record({
    placementOutput: fc.bigInt({ min: 20_000_000n, max: 900_000_000n }),
    others: fc.array(fc.tuple(coins, tokens), { maxLength: 12 }),
  })
  .map(({ placementOutput, others }): FundingSource => {
    const first = output(placementOutput);
    const outputs = [
      first,
      // Enough of everything, so that what is asked for can be paid.
      output(
        6_000_000_000n,
        TOKENS.map((unit) => [unit, 10_000n]),
      ),
      ...others.map(([coin, more]) => output(coin, more)),
    ];
    return {
      address: keys.address,
      placementOutput: first,
      outputs,
      collateral: null,
      splits: placementOutput % 4n === 0n ? 3 : 0,
    };
  });
const payments = fc
  .array(fc.tuple(coins, tokens), { minLength: 1, maxLength: 25 })
  .map((all) => all.map(([coin, more], i) => payment(i, coin, more)));
const steps = fc
  .array(fc.tuple(coins, fc.option(units)), { minLength: 1, maxLength: 12 })
  .map((all) => all.map(([coin, used], i) => step(i, coin, used)));
const mixed = fc
  .tuple(payments, steps, fc.nat(4), fc.bigInt({ min: 1n, max: 9n }))
  .map(([paid, taken, n, quantity]) => {
    if (n === 0) return paid;
    if (n === 1) return [...taken, ...paid];
    return n === 2 ? [mint(quantity), ...paid] : taken;
  });
/** As a network may set them. */
const parameterSets = fc
  .record({
    feePerByte: fc.bigInt({ min: 30n, max: 60n }),
    priceMemory: fc.constantFrom("0.0577", "0.03", "0.1"),
    collateralPercent: fc.bigInt({ min: 100n, max: 200n }),
    coinsPerByte: fc.bigInt({ min: 3_000n, max: 6_000n }),
    maxTransactionSize: fc.integer({ min: 4_000, max: 16_384 }),
    maxUnits: fc.record({
      memory: fc.bigInt({ min: 8_000_000n, max: 16_500_000n }),
      steps: fc.constant(10_000_000_000n),
    }),
  })
  .map((some) => ({ ...parameters, ...some }));

function labelled(text: string): Partial<TransactionPart> {
  return { metadata: new Map([[674n, new Map([["msg", [text]]])]]) };
}

function built(
  parts: readonly TransactionPart[],
  funding: FundingSource,
  parameters: ProtocolParameters = frame.parameters,
) {
  const composed = composeTransaction(parts, funding, { ...frame, parameters });
  const pay = createInputSelector(composed.wallet, composed.plan);
  return { composed, transaction: buildTransaction(composed.plan, pay, [keys]) };
}

describe("parts of transactions put together", () => {
  it("conserve value in each unit, meet every demand, and stay within the ledger's limits", () => {
    fc.assert(
      fc.property(mixed, purses, parameterSets, (parts, funding, parameters) => {
        const { composed, transaction } = built(parts, funding, parameters);
        const tx = decodeTransaction(transaction.cbor);
        expect(composed.partCount).toBeGreaterThanOrEqual(1);
        expect(transaction.cbor.length).toBeLessThanOrEqual(parameters.maxTransactionSize);
        const inputs = tx.inputs.map(formatOutputReference);
        expect(inputs).toContain(formatOutputReference(funding.placementOutput));
        expect(tx.fee).toBeGreaterThanOrEqual(
          computeMinimumFee(composed.plan, transaction.cbor.length),
        );
        const chosen = parts.slice(0, composed.partCount);
        const spent = chosen.flatMap(({ scriptInputs }) => scriptInputs);
        const minted = chosen.flatMap(({ mints }) => mints);
        expect(tx.redeemerCount).toBe(spent.length + minted.length);
        const used = sumExecutionUnits(composed.plan);
        expect(used.memory).toBeLessThanOrEqual(parameters.maxUnits.memory);
        expect(used.steps).toBeLessThanOrEqual(parameters.maxUnits.steps);

        const left: Value = new Map([["", -tx.fee]]);
        for (const { policyId, assetName, quantity } of tx.mint)
          addAmount(left, policyId + assetName, quantity);
        for (const one of spent) {
          expect(inputs).toContain(formatOutputReference(one));
          addValue(left, one.value);
        }
        for (const one of funding.outputs)
          if (inputs.includes(formatOutputReference(one))) addValue(left, one.value);
        for (const { funds } of tx.outputs) addValue(left, sumToValue(funds), -1n);
        expect([...left.values()].every((amount) => amount === 0n)).toBe(true);

        const demands = chosen.flatMap(({ outputs }) => outputs);
        for (const [i, { value }] of demands.entries())
          expect(sumToValue(tx.outputs[i]?.funds ?? [])).toEqual(value);
        for (const { address, funds } of tx.outputs.slice(demands.length)) {
          const value = sumToValue(funds);
          expect(value.get("")).toBeGreaterThanOrEqual(
            computeMinimumCoin({ address, value }, parameters),
          );
        }
      }),
      runs(150, 5_000),
    );
  });

  it("are the same transaction each time", () => {
    fc.assert(
      fc.property(mixed, purses, (parts, funding) => {
        expect(built(parts, funding)).toEqual(built(parts, funding));
      }),
      runs(20, 1_000),
    );
  });

  it("continue the outward chain with an output that holds the native coin alone", () => {
    fc.assert(
      fc.property(mixed, purses, (parts, funding) => {
        const { composed, transaction } = built(parts, funding);
        const { made: own, changeOutput, hash } = toStoredFields(transaction, composed.wallet);
        const last = own.at(-1);
        expect(changeOutput).toBe(`${hash}#${last?.index}`);
        expect([...(last?.value.keys() ?? [])]).toEqual([""]);
      }),
      runs(50, 1_000),
    );
  });

  it("use what was measured for as many of them, with a reserve where there is room", () => {
    const used = { memory: 500_000n, steps: 100_000_000n };
    const funding = fc.sample(purses, 1)[0] ?? fail();
    const unitsOfEach = (count: number) => {
      const parts = Array.from({ length: count }, (_, i) => step(2 * i, 5_000_000n, used));
      const { plan, isMeasured } = composeTransaction(parts, funding, frame);
      expect(isMeasured).toBe(true);
      return plan.scriptInputs.map(({ units: { memory } }) => memory);
    };
    expect(unitsOfEach(2)).toEqual([1_150_000n, 1_150_000n]);
    // Five use 12.5 of the 14 million that a transaction may use.
    expect(unitsOfEach(5)).toEqual(Array.from({ length: 5 }, () => 2_800_000n));
    // Six would use 18, so three go together.
    expect(unitsOfEach(6)).toHaveLength(3);
  });

  it("are measured when it is unknown what one of them uses", () => {
    const used = { memory: 500_000n, steps: 100_000_000n };
    const parts = [step(0, 5_000_000n, used), step(2, 5_000_000n, null)];
    const { isMeasured } = composeTransaction(parts, fc.sample(purses, 1)[0] ?? fail(), frame);
    expect(isMeasured).toBe(false);
  });

  it.each<[string, Partial<TransactionPart>, Partial<TransactionPart>, number]>([
    ["spend the same output", step(0, 3_000_000n, null), {}, 1],
    ["have the same name", { exclusiveNames: ["signature"] }, { exclusiveNames: ["signature"] }, 1],
    ["have other names", { exclusiveNames: ["one"] }, { exclusiveNames: ["two"] }, 2],
    ["say another thing under a label", labelled("a"), labelled("b"), 1],
    ["say the same under a label", labelled("a"), labelled("a"), 2],
    ["are too many for one of them", {}, { maxParts: 1 }, 1],
  ])("share no transaction when they %s, and else they do", (_, one, other, count) => {
    const first = { ...payment(1, 2_000_000n, []), ...one };
    const second = { ...payment(2, 2_000_000n, []), ...one, ...other };
    const funding = fc.sample(purses, 1)[0] ?? fail();
    expect(composeTransaction([first, second], funding, frame).partCount).toBe(count);
  });

  it("are as many as the wallet can pay: else the first half", () => {
    const funding = fundingOf(output(30_000_000n));
    const parts = Array.from({ length: 8 }, (_, i) => payment(i, 6_000_000n, []));
    expect(composeTransaction(parts, funding, frame).partCount).toBe(4);
  });

  it("do not spend reserved outputs or the collateral that another part names", () => {
    const [placementOutput, kept, other] = [5_000_000n, 90_000_000n, 9_000_000n].map((coin) =>
      output(coin),
    );
    if (!placementOutput || !kept || !other) throw new Error("not reached");
    const base = {
      address: keys.address,
      placementOutput,
      outputs: [placementOutput, kept, other],
      collateral: null,
    };
    const spends = (funding: FundingSource, coin: bigint) => {
      const { plan, wallet } = composeTransaction([payment(1, coin, [])], funding, frame);
      return createInputSelector(wallet, plan)(200_000n).inputs;
    };
    const last = new Set([formatOutputReference(kept)]);
    expect(spends({ ...base, spendLast: last }, 8_000_000n)).toEqual([placementOutput, other]);
    expect(spends({ ...base, spendLast: last }, 40_000_000n)).toEqual([
      placementOutput,
      other,
      kept,
    ]);
    const named = { ...base, collateral: formatOutputReference(kept), isCollateralNamed: true };
    expect(() => spends(named, 40_000_000n)).toThrow(InsufficientFundsError);
  });

  it("spend dust and foreign units only when nothing else pays, and keep those units apart", () => {
    const units = Array.from({ length: 11 }, (_, i) => `${"ee".repeat(28)}${10 + i}`);
    const dust = output(1_900_000n);
    const crowded = output(
      50_000_000n,
      units.map((unit) => [unit, 1n]),
    );
    const foreign = output(20_000_000n, [[units[0] ?? "", 1n]]);
    const plain = output(4_000_000n);
    const placementOutput = output(3_000_000n);
    const outputs = [dust, crowded, foreign, plain, placementOutput];
    const funding = { address: keys.address, placementOutput, outputs, collateral: null };
    const paid = (coin: bigint) => {
      const { plan, wallet } = composeTransaction([payment(1, coin, [])], funding, frame);
      return createInputSelector(wallet, plan)(200_000n);
    };
    expect(paid(5_000_000n).inputs).toEqual([placementOutput, plain]);
    expect(paid(15_000_000n).inputs).toEqual([placementOutput, plain, foreign]);
    expect(paid(60_000_000n).inputs).toEqual([placementOutput, plain, foreign, dust, crowded]);
    const change = paid(15_000_000n).change.map(({ value }) => value.size);
    expect(change).toEqual([2, 1]);
  });

  it("split small outputs off a change that is large enough", () => {
    const change = (coin: bigint) => {
      const funding = { ...fundingOf(output(coin)), splits: 3 };
      const { plan, wallet } = composeTransaction([payment(1, 2_000_000n, [])], funding, frame);
      return createInputSelector(wallet, plan)(200_000n).change.map(({ value }) => value.get(""));
    };
    expect(change(100_000_000n)).toEqual([10_000_000n, 10_000_000n, 10_000_000n, 67_800_000n]);
    expect(change(35_000_000n)).toEqual([10_000_000n, 22_800_000n]);
    expect(change(25_000_000n)).toEqual([22_800_000n]);
  });

  it("are as many as fit: else the first half", () => {
    const many = Array.from({ length: 600 }, (_, i) => payment(i, 2_000_000n, []));
    const funding = fundingOf(output(6_000_000_000n));
    const { composed } = built(many, funding);
    expect(composed.partCount).toBe(300);
  });
});
