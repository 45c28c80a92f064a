/** What wallets put together, on the local chain's ledger and with its contracts. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Wallet } from "../../../devnet/demo/actors/wallets.ts";
import COST_MODELS from "../../../devnet/ledger/cost-models.json" with { type: "json" };
import { evaluateScripts } from "../../../devnet/ledger/emulator.ts";
import { readTransaction } from "../../../devnet/ledger/transaction.ts";
import { encodePlutusData } from "../../../src/chain/plutus/data.ts";
import type { Provider } from "../../../src/chain/provider/provider.ts";
import { slotAt } from "../../../src/chain/slots.ts";
import { buildTransaction } from "../../../src/chain/transaction/build.ts";
import { outputName, type WalletOutput } from "../../../src/chain/transaction/plan.ts";
import { payFrom, walletOutputs } from "../../../src/chain/transaction/selection.ts";
import { sumOf } from "../../../src/chain/transaction/value.ts";
import { compose } from "../../../src/wallets/spending/making/compose.ts";
import { measured } from "../../../src/wallets/spending/making/measure.ts";
import { withoutBad } from "../../../src/wallets/spending/making/members.ts";
import type { TransactionPart } from "../../../src/wallets/work.ts";
import { runs } from "../../support/effort.ts";
import { PROTOCOL_PARAMETERS } from "../../support/protocol-parameters.ts";
import { type Case, draftOf, judge } from "./cases.ts";
import { type Act, type Draft, datumData, draft } from "./drafts.ts";
import { BUYER, type Escrow, type Order, SELLER, STRANGER, timeAt } from "./escrows.ts";
import { openStage, type Stage, TOKENS } from "./stage.ts";

const parameters = { ...PROTOCOL_PARAMETERS, plutusV3Costs: (COST_MODELS[2] ?? []).map(BigInt) };
const NOTHING = { open: [], accepted: new Set<string>() };

/** What the wallet can spend. */
function outputsOf(stage: Stage, { address }: Wallet): WalletOutput[] {
  return walletOutputs(
    stage.utxosAt(address).map(({ txHash, index, amount }) => ({
      address,
      txHash,
      outputIndex: index,
      amount: amount.map(({ unit, quantity }) => ({ unit, quantity: String(quantity) })),
      inlineDatum: null,
      referenceScriptHash: null,
    })),
  );
}

/** A node that has everything on the stage. */
function nodeOf(stage: Stage, addresses: readonly string[]): Pick<Provider, "evaluate"> {
  const utxos = [...new Set(addresses)].flatMap((address) => stage.utxosAt(address));
  return {
    async evaluate(cbor) {
      const { inputs, collateral } = readTransaction(cbor);
      const named = new Set([...inputs, ...collateral].map(outputName));
      const used = evaluateScripts(
        cbor,
        utxos.filter((one) => named.has(outputName(one))),
      );
      return new Map(
        used.map(({ tag, index, memory, steps }) => [
          `${tag}:${index}`,
          { memory: BigInt(memory), steps: BigInt(steps) },
        ]),
      );
    },
  };
}

/** Seconds after the lock. */
interface Time {
  from: number;
  to: number;
}

/** The transaction of as many parts as it holds. */
async function composed(
  stage: Stage,
  parts: readonly TransactionPart[],
  payer: Wallet,
  { from, to }: Time,
  contract: string,
) {
  const outputs = outputsOf(stage, payer);
  const [line] = outputs;
  if (!line) throw new Error("the payer has nothing");
  const validity = { from: slotAt("Preprod", timeAt(from)), to: slotAt("Preprod", timeAt(to)) };
  const purse = { address: payer.address, line, outputs, collateral: null, splits: 3 };
  const frame = { validity, parameters, signer: payer.vkey };
  const node = nodeOf(stage, [payer.address, contract]);
  const members = parts.map((part, i) => ({ task: { id: String(i) }, part }));
  const { built } = await withoutBad(members, async (some) => {
    const { count, ...made } = compose(
      some.map(({ part }) => part),
      purse,
      frame,
    );
    const plan = await measured(node, { count, ...made }, some.slice(0, count), NOTHING);
    const { cbor } = buildTransaction(plan, payFrom(made.wallet, plan), [payer.keys]);
    return { cbor, count };
  });
  if (!built) throw new Error("nothing could be built");
  return built;
}

/** What an act puts into a transaction. */
function partOf(escrow: Escrow, { spends, outputs }: Draft): TransactionPart {
  const { hash, cbor } = escrow.deployment.escrow;
  return {
    spends: [],
    mints: [],
    scriptInputs: spends.map(({ escrow: { txHash, index, funds }, redeemer }) => ({
      txHash,
      index,
      value: sumOf(funds),
      script: { from: "witness", hash, cbor },
      redeemer: encodePlutusData(redeemer),
    })),
    outputs: outputs.map(({ address, funds, next, datum }) => {
      const data = datum ?? (next && datumData(next));
      return { address, value: sumOf(funds), ...(data && { datum: encodePlutusData(data) }) };
    }),
    metadata: new Map([[674n, new Map([["msg", ["Masumi"]]])]]),
    detail: {},
  };
}

const BEFORE: Partial<Record<Act, Act[]>> = {
  redeemer2: ["submitResult", "requestRefund"],
  authorizeRefund: ["submitResult", "requestRefund"],
  withdraw: ["submitResult"],
};
const acts = fc.constantFrom<Act>(
  "submitResult",
  "requestRefund",
  "redeemer2",
  "authorizeRefund",
  "withdraw",
  "withdrawRefund",
);
const order = fc.record<Order>({
  // Of less, the fee would be an output that is too small for the ledger.
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

describe("what a wallet puts together is accepted by the ledger", () => {
  it("of steps, as many as a transaction holds", async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ type, act, orders }) => {
        const before = BEFORE[act] ?? [];
        const all: Case = { orders, before, last: orders.map(() => act) };
        const { scene, made } = draftOf(type, all);
        const { from, to, payer, at } = made;
        const parts = scene.escrows.map((escrow) =>
          partOf(escrow, draft([{ escrow, act }], before.length)),
        );
        const contract = scene.escrows[0]?.deployment.address ?? "";
        const time = { from: from ?? 0, to: to ?? 0 };
        const { cbor, count } = await composed(scene.stage, parts, payer, time, contract);
        expect(count).toBeGreaterThanOrEqual(Math.min(orders.length, 2));
        expect(judge(() => scene.stage.after(cbor, timeAt(at)))).toBe("accepted");
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
});
