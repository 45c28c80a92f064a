import { beforeAll, describe, expect, it, vi } from "vitest";
import type { ScriptSource } from "../../src/chain/transaction/transaction-plan.ts";
import { STEP_SCRIPT } from "./steps.ts";
import { WalletModel } from "./wallet-model.ts";

const OUTPUT = { txHash: "7e".repeat(32), index: 0 };

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
});

/** The transaction of a step, whose script an output on the chain carries or not. */
async function step(published: readonly ScriptSource[]) {
  const model = new WalletModel([200, 100]);
  model.published = new Map(published.map((one) => [one.hash, one]));
  model.askStep({ isMeasured: true });
  await model.run();
  const [transaction] = await model.transactions();
  if (!transaction) throw new Error("there is no transaction");
  return transaction;
}

describe("a script that an output on the chain carries", () => {
  it("is read from there, in a transaction that names the output and does not hold the script", async () => {
    const { hash } = STEP_SCRIPT;
    const reading = await step([{ from: "reference", hash, output: OUTPUT, size: 6 }]);
    const holding = await step([]);
    expect(reading.reads).toEqual([`${OUTPUT.txHash}#${OUTPUT.index}`]);
    expect(holding.reads).toEqual([]);
    expect(reading.hash).not.toBe(holding.hash);
  });

  it("is not read by what runs another script", async () => {
    const other = { from: "reference", hash: "0f".repeat(28), output: OUTPUT, size: 6 } as const;
    expect((await step([other])).reads).toEqual([]);
  });
});
