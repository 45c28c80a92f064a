import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ContractTransaction } from "../../../src/escrow/sync/escrow-source.ts";
import { readSettledFunds } from "../../../src/escrow/sync/read-settled-funds.ts";
import { makeRecord } from "../../support/sources/records.ts";

const native = (amount: bigint) => [{ unit: "", amount: String(amount) }];
const OUTPOINT = `${"cd".repeat(32)}#0`;

describe("a dispute of Web3ChainV1 that a stranger's tool settles, without a name on its outputs", () => {
  const { terms } = makeRecord("payment");
  const record = makeRecord("payment", { terms: { ...terms, sellerReturnAddress: terms.seller } });

  /** What the seller received of a settlement that the seller's wallet pays for. */
  async function received(inputs: bigint[], outputs: bigint[]) {
    const atSeller = (amount: bigint) => ({
      ...{ address: terms.seller, funds: [{ unit: "", amount }] },
      ...{ datum: null, datumHash: null, hasReferenceScript: false },
    });
    const read = {
      tx: {
        inputs: inputs.map((_, index) => ({ txHash: "ef".repeat(32), index })),
        outputs: outputs.map(atSeller),
      },
      spent: async ({ index }: { index: number }) => atSeller(inputs[index] ?? 0n),
    } as unknown as ContractTransaction;
    const ending = { onChainState: "DisputedWithdrawn" as const, outpoint: OUTPOINT };
    return (await readSettledFunds(record, { feeReceiverAddress: null }, read, ending))?.seller;
  }

  it("gives a party what it received beyond what it spent, and never less than nothing", async () => {
    expect(await received([10_000_000n], [9_700_000n])).toEqual([]);
    expect(await received([10_000_000n], [10_000_000n])).toEqual([]);
    expect(await received([10_000_000n], [14_700_000n])).toEqual(native(4_700_000n));
    const coins = fc.array(fc.bigInt({ min: 0n, max: 9n }), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(coins, coins, async (inputs, outputs) => {
        const sum = (all: bigint[]) => all.reduce((total, one) => total + one, 0n);
        const gain = sum(outputs) - sum(inputs);
        expect(await received(inputs, outputs)).toEqual(gain > 0n ? native(gain) : []);
      }),
    );
  });
});
