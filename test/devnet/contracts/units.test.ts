/**
 * The units of our contracts and of the deployed ones, and how many spends fit into a transaction.
 */
import { describe, expect, it } from "vitest";
import {
  DEPLOYED_BATCHES,
  DEPLOYED_UNITS,
  type Shape,
} from "../../../devnet/contracts/deployed-units.ts";
import type { Units } from "../../../devnet/demo/actors/plan.ts";
import { WALLETS } from "../../../devnet/demo/actors/wallets.ts";
import { evaluateScripts } from "../../../devnet/ledger/emulator.ts";
import { outputKey, readTransaction } from "../../../devnet/ledger/transaction.ts";
import type { DatumState } from "../../../src/chain/contracts/escrow-datum.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { sampledOfEach } from "../../support/effort.ts";
import { type Case, draftOf, type EscrowSetup, judge } from "./cases.ts";
import { build, type Draft, draft, OPERATOR_ACTIONS, type OperatorAction } from "./drafts.ts";
import { datumOf, deploymentOf, type Escrow, fundsOf, hashOf, timeAt } from "./escrows.ts";
import { evaluateDraft } from "./evaluate-draft.ts";

/** The most that a spend of a draft uses. */
function unitsOf({ stage, escrows }: EscrowSetup, made: Draft): Units {
  const cbor = build(stage, made);
  const { inputs, collateral } = readTransaction(cbor);
  const named = new Set([...inputs, ...collateral].map(outputKey));
  const addresses = new Set([
    ...WALLETS.map(({ address }) => address),
    ...escrows.map(({ deployment }) => deployment.address),
  ]);
  const utxos = [...addresses]
    .flatMap((address) => stage.utxosAt(address))
    .filter((output) => named.has(outputKey(output)));
  const used = evaluateScripts(cbor, utxos);
  const most = (unit: "memory" | "steps") => BigInt(Math.max(...used.map((each) => each[unit])));
  return { memory: most("memory"), steps: most("steps") };
}

const BEFORE: Partial<Record<OperatorAction, OperatorAction[]>> = {
  redeemer2: ["submitResult", "requestRefund"],
  authorizeRefund: ["submitResult", "requestRefund"],
  withdraw: ["submitResult"],
  withdrawDisputed: ["submitResult", "requestRefund"],
};

/** The usual state before an act. */
const STATES: Record<OperatorAction, DatumState> = {
  submitResult: "FundsLocked",
  requestRefund: "FundsLocked",
  redeemer2: "Disputed",
  authorizeRefund: "Disputed",
  withdraw: "ResultSubmitted",
  withdrawRefund: "FundsLocked",
  withdrawDisputed: "Disputed",
};
const HAS_RESULT = new Set(["ResultSubmitted", "Disputed", "WithdrawAuthorized"]);

/** The n-th escrow of a transaction, from 0. */
function escrowOf(type: PaymentSourceType, act: OperatorAction, shape: Shape, n: number): Escrow {
  const { collateral = 0n, returns = false, policies = 0, names = 0 } = shape;
  const state = shape.state ?? STATES[act];
  const resultHash = HAS_RESULT.has(state) ? hashOf(`r${n}`) : "";
  const order = { collateral, returns, datum: { state, resultHash } };
  const token = (unit: string) => ({ unit, amount: 1_000n });
  const funds = [
    ...fundsOf(order),
    ...Array.from({ length: policies }, (_, i) =>
      token(`${hashOf(`policy${i}`).slice(0, 56)}746f6b656e`),
    ),
    ...Array.from({ length: names }, (_, i) => token("aa".repeat(28) + hashOf(`n${i}`))),
  ];
  const deployment = deploymentOf(type, "one");
  return { deployment, datum: datumOf(type, order, n), funds, txHash: hashOf("tx"), index: n };
}

const ROWS = (["Web3ChainV1", "Web3ChainV2"] as const).flatMap((type) =>
  OPERATOR_ACTIONS.flatMap((act) =>
    DEPLOYED_UNITS[type][act].map(([shape, memory, steps]) => {
      const special = Object.entries(shape).map((entry) => entry.join(" "));
      return { type, act, shape, memory, steps, title: [type, act, ...special].join(", ") };
    }),
  ),
);

it.each(sampledOfEach(6, ROWS, ({ type, act }) => `${type} ${act}`))(
  "our program costs as much as the deployed one, to a tenth: $title",
  ({ type, act, shape, memory, steps }) => {
    const { count = 1 } = shape;
    const moves = Array.from({ length: count }, (_, n) => ({
      escrow: escrowOf(type, act, shape, n),
      act,
    }));
    const used = evaluateDraft(draft(moves, 1));
    expect(Math.abs(used.memory / memory - 1)).toBeLessThan(0.1);
    expect(Math.abs(used.steps / steps - 1)).toBeLessThan(0.1);
  },
);

describe("a transaction of Web3ChainV2", () => {
  const type: PaymentSourceType = "Web3ChainV2";

  /** The ledger's verdict on several acts at once, each with the units that it uses. */
  function verdictOnBatch(act: OperatorAction, count: number) {
    const all: Case = {
      orders: Array.from({ length: count }, () => ({})),
      before: BEFORE[act],
      last: Array.from({ length: count }, () => act),
    };
    const { setup, made } = draftOf(type, all);
    const units = unitsOf(setup, made);
    return judge(() => setup.stage.after(build(setup.stage, { ...made, units }), timeAt(made.at)));
  }

  it("takes as many results as with the deployed contract, and not one more", () => {
    expect(verdictOnBatch("submitResult", DEPLOYED_BATCHES.submitResult)).toBe("accepted");
    expect(verdictOnBatch("submitResult", DEPLOYED_BATCHES.submitResult + 1)).toBe(
      "ExUnitsTooBigUTxO",
    );
  });

  it("takes as many withdrawals as with the deployed contract, and not one more", () => {
    expect(verdictOnBatch("withdraw", DEPLOYED_BATCHES.withdraw)).toBe("accepted");
    expect(verdictOnBatch("withdraw", DEPLOYED_BATCHES.withdraw + 1)).toBe("ExUnitsTooBigUTxO");
  });
});
