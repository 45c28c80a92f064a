/** What our contracts use, beside what the deployed ones do, and how many fit into a transaction. */
import { describe, expect, it } from "vitest";
import { DEPLOYED_BATCHES, DEPLOYED_UNITS } from "../../../devnet/contracts/deployed-units.ts";
import type { Units } from "../../../devnet/demo/actors/plan.ts";
import { WALLETS } from "../../../devnet/demo/actors/wallets.ts";
import { evaluateScripts } from "../../../devnet/ledger/emulator.ts";
import { readTransaction } from "../../../devnet/ledger/transaction.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { type Case, draftOf, judge, type Scene } from "./cases.ts";
import { type Act, build, type Draft } from "./drafts.ts";
import { timeAt } from "./escrows.ts";

/** What each spend of a draft uses, at the most. */
function unitsOf({ stage, escrows }: Scene, made: Draft): Units {
  const cbor = build(stage, made);
  const { inputs, collateral } = readTransaction(cbor);
  const named = new Set(
    [...inputs, ...collateral].map(({ txHash, index }) => `${txHash}#${index}`),
  );
  const addresses = new Set([
    ...WALLETS.map(({ address }) => address),
    ...escrows.map(({ deployment }) => deployment.address),
  ]);
  const utxos = [...addresses]
    .flatMap((address) => stage.utxosAt(address))
    .filter(({ txHash, index }) => named.has(`${txHash}#${index}`));
  const used = evaluateScripts(cbor, utxos);
  const most = (unit: "memory" | "steps") => BigInt(Math.max(...used.map((each) => each[unit])));
  return { memory: most("memory"), steps: most("steps") };
}

const BEFORE: Partial<Record<Act, Act[]>> = {
  redeemer2: ["submitResult", "requestRefund"],
  authorizeRefund: ["submitResult", "requestRefund"],
  withdraw: ["submitResult"],
  withdrawDisputed: ["submitResult", "requestRefund"],
};

describe("a spend", () => {
  const rows = (["Web3ChainV1", "Web3ChainV2"] as const).flatMap((type) =>
    Object.entries<Units>(DEPLOYED_UNITS[type]).map(([action, units]) => ({ type, action, units })),
  );

  it.each(rows)("$action of $type uses between half and twice as much as deployed", (row) => {
    const { type, action, units } = row;
    const act = (/^cancel|^authorizeW/.test(action) ? "redeemer2" : action) as Act;
    const { scene, made } = draftOf(type, { board: "one", before: BEFORE[act], last: act });
    const { memory } = unitsOf(scene, made);
    expect(memory * 2n).toBeGreaterThan(units.memory);
    expect(memory).toBeLessThan(units.memory * 2n);
  });
});

describe("a transaction of Web3ChainV2", () => {
  const type: PaymentSourceType = "Web3ChainV2";

  /** What the ledger says to as many acts at once, each with the units that it uses. */
  function verdictOnBatch(act: Act, count: number) {
    const all: Case = {
      orders: Array.from({ length: count }, () => ({})),
      before: BEFORE[act],
      last: Array.from({ length: count }, () => act),
    };
    const { scene, made } = draftOf(type, all);
    const units = unitsOf(scene, made);
    return judge(() => scene.stage.after(build(scene.stage, { ...made, units }), timeAt(made.at)));
  }

  it("takes as many results as with the deployed contract, and not one more", () => {
    expect(verdictOnBatch("submitResult", DEPLOYED_BATCHES.submitResult)).toBe("accepted");
    expect(verdictOnBatch("submitResult", DEPLOYED_BATCHES.submitResult + 1)).toBe(
      "ExUnitsTooBigUTxO",
    );
  });

  it("takes as many withdrawals as with the deployed contract", () => {
    expect(verdictOnBatch("withdraw", DEPLOYED_BATCHES.withdraw)).toBe("accepted");
  });
});
