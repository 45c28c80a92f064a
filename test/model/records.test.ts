import fc from "fast-check";
import { expect, it } from "vitest";
import type { Side } from "../../src/escrow/model/escrow-record.ts";
import type { Step } from "../../src/escrow/model/intent.ts";
import { runs } from "../support/effort.ts";
import { ModelDatabase } from "./database.ts";
import { EscrowChain, isAllowed } from "./escrow-chain.ts";
import { EscrowRecords, TABLES } from "./escrow-records.ts";

const STEPS: Record<Side, Step[]> = {
  payment: ["SubmitResult", "Withdraw", "AuthorizeRefund"],
  purchase: ["FundsLocking", "SetRefundRequested", "AuthorizeWithdrawal", "WithdrawRefund"],
};
const side = fc.constantFrom<Side>("payment", "purchase");
const pick = fc.nat(1000);

/**
 * What may happen, in an order that nobody decides. `take` is a step from its request to its block, and after
 * `finish` no rollback reaches the older blocks.
 */
const WEIGHTS = {
  ask: 3,
  store: 3,
  end: 1,
  seen: 1,
  land: 3,
  stranger: 2,
  take: 4,
  sync: 4,
  rollback: 3,
  finish: 3,
} as const;
type What = keyof typeof WEIGHTS;
const happening = fc.record({
  what: fc.oneof(
    ...Object.entries(WEIGHTS).map(([what, weight]) => ({
      weight,
      arbitrary: fc.constant(what as What),
    })),
  ),
  side,
  pick,
});
interface Happening {
  what: What;
  side: Side;
  pick: number;
}

/** Of one rollback, in blocks. */
const MAX_DEPTH = 3;
const ENDS = ["Expired", "Refused", "Orphaned", "Failed"] as const;
const of = <Value>(values: readonly Value[], n: number) => values[n % values.length];

class Story {
  readonly chain = new EscrowChain();
  readonly records: EscrowRecords;
  /** Hashes of the service's transactions. */
  readonly ours: string[] = [];
  /** Blocks that no rollback can reach. */
  finalBlocks = 0;

  constructor(records: EscrowRecords) {
    this.records = records;
  }

  async play({ what, side, pick }: Happening): Promise<void> {
    const { chain, records } = this;
    switch (what) {
      case "ask": {
        const { state } = await records.record(side);
        const steps = STEPS[side].filter((step) => isAllowed(step, state.onChainState));
        const step = of(steps, pick);
        if (step) await records.ask(side, step);
        return;
      }
      case "store": {
        const { state, progress } = await records.record(side);
        const { intent } = progress;
        if (intent === null || progress.pendingTransaction !== null || progress.error?.isManual)
          return;
        const transaction = chain.make(intent.step, state.utxo);
        if (transaction === null) return;
        expect(await records.store(side, intent, transaction.hash)).toBe(true);
        expect(await records.store(side, intent, "ff".repeat(32))).toBe(false);
        this.ours.push(transaction.hash);
        return;
      }
      case "end":
      case "seen": {
        const hash = of(this.ours, pick);
        const phase = what === "seen" ? "InBlock" : of(ENDS, pick);
        if (hash && phase) await records.tell(hash, phase);
        return;
      }
      case "land": {
        const transaction = of(chain.loose(), pick);
        if (transaction) chain.mine(transaction);
        return;
      }
      case "stranger": {
        const transaction = chain.make(of(STEPS[side], pick) ?? "Withdraw", chain.live());
        if (transaction && chain.takes(transaction)) chain.mine(transaction);
        return;
      }
      case "take": {
        await this.play({ what: "ask", side, pick });
        await this.play({ what: "store", side, pick });
        const mine = chain.loose().find(({ hash }) => hash === this.ours.at(-1));
        if (mine) chain.mine(mine);
        return;
      }
      case "sync":
        await records.sync(chain);
        await records.checkFound(chain);
        return;
      case "finish": {
        await records.sync(chain);
        const last = chain.blocks.at(-MAX_DEPTH);
        if (last === undefined) return;
        await records.deleteFinalUndoData(last.height);
        this.finalBlocks = Math.max(chain.blocks.length - MAX_DEPTH + 1, this.finalBlocks);
        return;
      }
      case "rollback": {
        const depth = Math.min(1 + (pick % MAX_DEPTH), chain.blocks.length - this.finalBlocks);
        chain.blocks.splice(chain.blocks.length - depth);
      }
    }
  }
}

it("Rollback fault: records show the state of the chain, and lose no requested step", async () => {
  const database = new ModelDatabase("", TABLES);
  const seen = { stored: 0, blocks: 0, final: 0 };
  const property = fc.asyncProperty(
    fc.array(happening, { minLength: 30, maxLength: 100, size: "max" }),
    async (happenings) => {
      const story = new Story(new EscrowRecords(database));
      await story.records.begin();
      for (const one of happenings) {
        await story.play(one);
        await story.records.check();
      }
      await story.records.sync(story.chain);
      await story.records.check();
      await story.records.checkFound(story.chain);
      seen.stored += story.ours.length;
      seen.blocks += story.chain.blocks.length;
      seen.final += story.finalBlocks;
    },
  );
  await fc.assert(property, runs(25, 1000));
  expect(Math.min(seen.stored, seen.blocks)).toBeGreaterThan(20);
  expect(seen.final).toBeGreaterThan(5);
});
