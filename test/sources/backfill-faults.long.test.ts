import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { type Around, wrapD1 } from "../support/d1.ts";
import { addWallets, lockMany, sides } from "../support/sources/backfill.ts";
import { createSource, leftBehind, runPass, settle } from "../support/sources/sync.ts";

const V1 = "Web3ChainV1";
const act = (on: string, action: string) => ({ do: action, on });

describe("a backfill of wallets added", () => {
  /** A small chain, and a source on it that knows no wallet yet. */
  async function begin(): Promise<{ chain: TestChain; source: () => Promise<string> }> {
    const chain = await TestChain.create();
    await chain.act([
      ...lockMany("old", 3),
      act("old-0", "submitResult"),
      act("old-0", "withdraw"),
    ]);
    const source = async () => {
      await emptyTables();
      const id = await createSource(chain, V1, () => false);
      await settle(chain, id);
      return id;
    };
    return { chain, source };
  }

  /** Runs something at the k-th call of D1, and counts them. */
  function atCall(k: number, what: () => Promise<void>): { d1: D1Database; calls: () => number } {
    let calls = 0;
    const around: Around = async (_, run) => {
      if (++calls === k) await what();
      return run();
    };
    return { d1: wrapD1(env.DB, around), calls: () => calls };
  }

  it("at any step of a pass under way misses nothing", async () => {
    const { chain, source: fresh } = await begin();
    for (let step = 1; ; step++) {
      const source = await fresh();
      await addWallets(chain, source, "buyer");
      const { d1, calls } = atCall(step, () => addWallets(chain, source, "seller"));
      await settle(chain, source, { env: { DB: d1 } });
      if (calls() < step) {
        expect(step).toBeGreaterThan(8);
        return;
      }
      await settle(chain, source);
      expect(await sides(source), `step ${step}`).toEqual({ payment: 3, purchase: 3 });
    }
  });

  it("stopped at any step goes on and ends the same", async () => {
    const { chain, source: fresh } = await begin();
    let whole: unknown;
    for (let step = 0, steps = 1; step <= steps; step++) {
      const source = await fresh();
      await addWallets(chain, source, "buyer");
      await addWallets(chain, source, "seller");
      const stop = () => Promise.reject(new Error("stopped here"));
      const { d1, calls } = atCall(step, stop);
      await runPass(chain, source, { env: { DB: d1 } });
      await settle(chain, source);
      const { events, ...left } = await leftBehind(source);
      const told = { ...left, events: events.length };
      if (step === 0) steps = calls();
      whole ??= withoutSource(told);
      expect(withoutSource(told), `step ${step}`).toEqual(whole);
    }
  });
});

function withoutSource(left: object): unknown {
  return JSON.parse(
    JSON.stringify(left, (key, value: unknown) =>
      key === "PaymentSource" || key === "SmartContractWallet" || key.endsWith("erWallet")
        ? undefined
        : value,
    ),
  );
}
