import { describe, expect, it } from "vitest";
import {
  formatOutputReference,
  type WalletOutput,
} from "../../../src/chain/transaction/transaction-plan.ts";
import type { WalletTransaction } from "../../../src/wallets/model/wallet-transaction.ts";
import {
  ancestryOf,
  chooseParallelOutput,
  selectTasksForTransaction,
} from "../../../src/wallets/spending/model/choose-parallel-output.ts";
import { transaction } from "./transactions.ts";

const output = (name: string, coins: number, tokens: [string, bigint][] = []): WalletOutput => {
  const [txHash = "", index] = name.split("#");
  const value = new Map([["", BigInt(coins) * 1_000_000n], ...tokens]);
  return { txHash, index: Number(index), value };
};

/** So many steps in a row that wait for a block, each of which spends the change of the one before. */
function steps(name: string, count: number, more: Partial<WalletTransaction> = {}) {
  return Array.from({ length: count }, (_, i) =>
    transaction(`${name}${i}`, [i === 0 ? `${name}#0` : `${name}${i - 1}#0`], {
      changeOutput: `${name}${i}#0`,
      ...more,
    }),
  );
}

const firm = { isReplaceable: false, isUrgent: false };
const shaky = { isReplaceable: true, isUrgent: false };
const urgent = { isReplaceable: false, isUrgent: true };

function chosen(...given: Parameters<typeof chooseParallelOutput>) {
  const found = chooseParallelOutput(...given);
  return typeof found === "string" ? found : formatOutputReference(found.output);
}

describe("parallel outputs of steps", () => {
  it("begin with the smallest outputs that suffice, without tokens", () => {
    const outputs = [
      output("large#0", 500),
      output("dust#0", 1),
      output("token#0", 9, [["aa", 1n]]),
      output("small#0", 10),
    ];
    expect(chosen(firm, outputs, [])).toBe("small#0");
    expect(chosen(firm, [output("dust#0", 1)], [])).toBe("none");
  });

  it("leave the output that a wallet keeps for collateral", () => {
    expect(chosen(firm, [output("collateral#0", 5)], [])).toBe("none");
  });

  it("are three at the most, of twenty unconfirmed each", () => {
    const open = ["a", "b", "c"].flatMap((name) => steps(name, 20));
    const outputs = [..."abc"].map((name) => output(`${name}19#0`, 9));
    expect(chosen(firm, [...outputs, output("other#0", 10)], open)).toBe("full");
    const shorter = open.filter(({ hash }) => hash !== "b19");
    const heads = [output("a19#0", 9), output("b18#0", 9), output("c19#0", 9)];
    expect(chosen(firm, [...heads, output("other#0", 10)], shorter)).toBe("b18#0");
  });

  it("tell how many more the wallet could have", () => {
    expect(chooseParallelOutput(firm, [output("a#0", 10), output("b#0", 10)], [])).toMatchObject({
      missingOutputCount: 1,
    });
  });

  it("have what can be overtaken behind what cannot, and one of them free of it", () => {
    const open = [...steps("a", 3, { isReplaceable: true }), ...steps("b", 5)];
    const outputs = [output("a2#0", 9), output("b4#0", 9)];
    expect(chosen(firm, outputs, open)).toBe("b4#0");
    expect(chosen(shaky, outputs, open)).toBe("a2#0");
    // While another is free of it, too, the shorter one is taken.
    expect(chosen(shaky, [...outputs, output("c#0", 10)], open)).toBe("c#0");
  });

  it("are begun anew on a confirmed output by what is urgent", () => {
    const open = [..."abc"].flatMap((name) => steps(name, 1));
    const outputs = [..."abc"].map((name) => output(`${name}0#0`, 9));
    expect(chosen(urgent, [...outputs, output("large#0", 500)], open)).toBe("large#0");
    expect(chosen(urgent, outputs, open)).toBe("a0#0");
  });
});

describe("what an output hangs on", () => {
  it("is all that waits for a block, each once", () => {
    const open = [
      transaction("old", ["x#0"], { phase: "InBlock" }),
      transaction("a", ["old#0"]),
      transaction("b", ["a#0", "a#1"], { isReplaceable: true }),
      transaction("c", ["b#0", "a#2"]),
    ];
    const ancestry = ancestryOf(open);
    expect(ancestry("old#0")).toEqual({ depth: 0, isReplaceable: false });
    expect(ancestry("a#3")).toEqual({ depth: 1, isReplaceable: false });
    expect(ancestry("c#0")).toEqual({ depth: 3, isReplaceable: true });
  });
});

describe("the tasks of the next transaction", () => {
  const now = 1_000_000;
  const ids = (tasks: Parameters<typeof selectTasksForTransaction>[0]) =>
    selectTasksForTransaction(tasks, now).map(({ id }) => id);

  it("are those near their deadline, then what nobody can overtake, then the rest", () => {
    const soon = now + 9 * 60_000;
    const later = now + 11 * 60_000;
    const tasks = [
      { id: "a", isReplaceable: true },
      { id: "b", deadline: later },
      { id: "c" },
      { id: "d", isReplaceable: true, deadline: soon },
    ];
    expect(ids(tasks)).toEqual(["d"]);
    expect(ids(tasks.slice(0, 3))).toEqual(["b", "c"]);
    expect(ids(tasks.slice(0, 1))).toEqual(["a"]);
  });

  it("have one that failed alone alone", () => {
    const tasks = [{ id: "a" }, { id: "b", isAlone: true }, { id: "c" }];
    expect(ids(tasks)).toEqual(["a", "c"]);
    expect(ids(tasks.slice(1))).toEqual(["b"]);
  });
});
