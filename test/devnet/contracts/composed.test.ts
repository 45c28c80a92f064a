/** Transactions that wallets compose, on the local chain's ledger and with its contracts. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildTransaction } from "../../../devnet/demo/actors/transaction.ts";
import type { Wallet } from "../../../devnet/demo/actors/wallets.ts";
import { readTransaction } from "../../../devnet/ledger/transaction.ts";
import type { Funds } from "../../../src/chain/network.ts";
import { encodePlutusData } from "../../../src/chain/plutus/data.ts";
import { InsufficientFundsError } from "../../../src/chain/transaction/select-inputs.ts";
import { sumToValue } from "../../../src/chain/transaction/value.ts";
import type { TransactionPart } from "../../../src/wallets/queue/feature.ts";
import { runs } from "../../support/effort.ts";
import { type Case, draftOf, judge } from "./cases.ts";
import { composed, outputsOf } from "./composing.ts";
import { type Draft, datumData, draft, type OperatorAction } from "./drafts.ts";
import { BUYER, type Escrow, type Order, SELLER, STRANGER, timeAt } from "./escrows.ts";
import { openStage, type Stage, TOKENS } from "./stage.ts";

/** The part of an act in a transaction. */
function partOf(escrow: Escrow, { spends, outputs }: Draft): TransactionPart {
  const { hash, cbor } = escrow.deployment.escrow;
  return {
    spends: [],
    mints: [],
    scriptInputs: spends.map(({ escrow: { txHash, index, funds }, redeemer }) => ({
      txHash,
      index,
      value: sumToValue(funds),
      script: { from: "witness", hash, cbor },
      redeemer: encodePlutusData(redeemer),
    })),
    outputs: outputs.map(({ address, funds, next, datum }) => {
      const data = datum ?? (next && datumData(next));
      return { address, value: sumToValue(funds), ...(data && { datum: encodePlutusData(data) }) };
    }),
    metadata: new Map([[674n, new Map([["msg", ["Masumi"]]])]]),
    detail: {},
  };
}

const BEFORE: Partial<Record<OperatorAction, OperatorAction[]>> = {
  redeemer2: ["submitResult", "requestRefund"],
  authorizeRefund: ["submitResult", "requestRefund"],
  withdraw: ["submitResult"],
};
const acts = fc.constantFrom<OperatorAction>(
  "submitResult",
  "requestRefund",
  "redeemer2",
  "authorizeRefund",
  "withdraw",
  "withdrawRefund",
);
const order = fc.record<Order>({
  // A lower price would make the fee's output too small for the ledger.
  price: fc.bigInt({ min: 40_000_000n, max: 200_000_000n }),
  collateral: fc.constantFrom(0n, 2_000_000n),
  tokens: fc.constantFrom(0n, 7n),
  returns: fc.boolean(),
});
const cases = fc.oneof(
  fc.record({
    type: fc.constant("Web3ChainV1" as const),
    act: acts,
    orders: fc.array(order, { minLength: 1, maxLength: 1 }),
  }),
  fc.record({
    type: fc.constant("Web3ChainV2" as const),
    act: acts,
    orders: fc.array(order, { minLength: 1, maxLength: 7 }),
  }),
);

/** Outputs of a wallet, many about as small as a collateral can be. */
const purses = fc
  .array(
    fc.tuple(
      fc.oneof(
        fc.bigInt({ min: 1_400_000n, max: 3_000_000n }),
        fc.bigInt({ min: 3_000_000n, max: 9_000_000n }),
      ),
      fc.subarray(TOKENS),
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((all) =>
    all.map(([amount, tokens]): Funds[] => [
      { unit: "", amount },
      ...tokens.map((unit) => ({ unit, amount: 3n })),
    ]),
  );

/** A ledger on which a wallet received these outputs, and no others. */
function withPurse(stage: Stage, wallet: Wallet, purse: readonly Funds[][], at: number) {
  const { address } = wallet;
  const cbor = buildTransaction(stage, {
    payer: STRANGER,
    outputs: purse.map((funds) => ({ address, funds })),
  });
  const { hash } = readTransaction(cbor);
  const after = stage.after(cbor, timeAt(at));
  return { stage: after, outputs: outputsOf(after, wallet).filter((one) => one.txHash === hash) };
}

describe("what a wallet puts together is accepted by the ledger", () => {
  it("of steps, as many as a transaction holds", async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ type, act, orders }) => {
        const before = BEFORE[act] ?? [];
        const all: Case = { orders, before, last: orders.map(() => act) };
        const { setup, made } = draftOf(type, all);
        const { from, to, payer, at } = made;
        const parts = setup.escrows.map((escrow) =>
          partOf(escrow, draft([{ escrow, act }], before.length)),
        );
        const contract = setup.escrows[0]?.deployment.address ?? "";
        const time = { from: from ?? 0, to: to ?? 0 };
        const { cbor, count } = await composed(setup.stage, parts, payer, time, contract);
        expect(count).toBeGreaterThanOrEqual(Math.min(orders.length, 2));
        expect(judge(() => setup.stage.after(cbor, timeAt(at)))).toBe("accepted");
      }),
      runs(12, 1_000),
    );
  });

  it("of payments, with and without tokens", async () => {
    const stage = openStage();
    const payment = fc.record({
      coin: fc.bigInt({ min: 1_500_000n, max: 80_000_000n }),
      tokens: fc.subarray(TOKENS),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(payment, { minLength: 1, maxLength: 20 }),
        fc.constantFrom(SELLER, BUYER),
        async (payments, payer) => {
          const parts = payments.map(
            ({ coin, tokens }): TransactionPart => ({
              spends: [],
              scriptInputs: [],
              mints: [],
              metadata: new Map(),
              outputs: [
                {
                  address: STRANGER.address,
                  value: new Map([["", coin], ...tokens.map((unit) => [unit, 3n] as const)]),
                },
              ],
              detail: {},
            }),
          );
          const { cbor, count } = await composed(stage, parts, payer, { from: 0, to: 300 }, "");
          expect(count).toBe(payments.length);
          expect(judge(() => stage.after(cbor, timeAt(1)))).toBe("accepted");
        },
      ),
      runs(12, 1_000),
    );
  });

  it("the ledger accepts a step paid from any wallet outputs, with the return of its collateral", async () => {
    const types = fc.constantFrom("Web3ChainV1" as const, "Web3ChainV2" as const);
    let paid = 0;
    await fc.assert(
      fc.asyncProperty(types, purses, async (type, purse) => {
        const { setup, made } = draftOf(type, { last: "submitResult" });
        const [escrow] = setup.escrows;
        if (!escrow) throw new Error("nothing is locked");
        const { payer, from, to, at } = made;
        const { stage, outputs } = withPurse(setup.stage, payer, purse, at);
        const part = partOf(escrow, draft([{ escrow, act: "submitResult" }], 0));
        const time = { from: from ?? 0, to: to ?? 0 };
        const { address } = escrow.deployment;
        let cbor: Uint8Array;
        try {
          ({ cbor } = await composed(stage, [part], payer, time, address, outputs));
        } catch (error) {
          if (error instanceof InsufficientFundsError) return;
          throw error;
        }
        paid++;
        // The ledger has one rule for all outputs, even for the collateral return.
        expect(judge(() => stage.after(cbor, timeAt(at)))).toBe("accepted");
        expect(readTransaction(cbor).collateralReturn).not.toBeNull();
      }),
      runs(50, 2_000),
    );
    expect(paid).toBeGreaterThan(20);
  });
});
