import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  EvaluationUnavailableError,
  ProviderError,
} from "../../../../src/chain/provider/provider.ts";
import {
  BadMembersError,
  excludeBadMembers,
  type TransactionMember,
} from "../../../../src/wallets/spending/building/exclude-bad-members.ts";
import { runs } from "../../../support/effort.ts";

const member = (n: number): TransactionMember => ({
  task: { id: String(n) },
  part: {
    spends: [],
    scriptInputs: [],
    mints: [],
    outputs: [],
    metadata: new Map(),
    detail: {},
  },
});
const ids = (members: readonly TransactionMember[]) => members.map(({ task }) => task.id);

/** Fails as long as a bad one is among them, and names those, or not. */
const builder =
  (bad: readonly string[], isNamed: boolean) => async (some: readonly TransactionMember[]) => {
    const among = some.filter(({ task }) => bad.includes(task.id));
    const error = new Error("refused");
    if (among.length > 0) throw isNamed ? new BadMembersError(among, error) : error;
    return ids(some);
  };

describe("bad members of a transaction", () => {
  it("leave when the node names them, and the other members continue at once", async () => {
    const { built, failures } = await excludeBadMembers(
      [1, 2, 3, 4].map(member),
      builder(["2", "3"], true),
    );
    expect(built).toEqual(["1", "4"]);
    expect(failures.map(({ task }) => task.id)).toEqual(["2", "3"]);
  });

  it("are looked for in halves when nobody names them, until one fails alone", async () => {
    const some = [1, 2, 3, 4, 5].map(member);
    expect(await excludeBadMembers(some, builder(["5"], false))).toEqual({
      built: ["1", "2", "3"],
      failures: [],
    });
    const { built, failures } = await excludeBadMembers(some, builder(["1"], false));
    expect(built).toBeNull();
    expect(failures.map(({ task }) => task.id)).toEqual(["1"]);
  });

  it("never take a good one with them", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(30), { minLength: 1, maxLength: 12 }),
        fc.uniqueArray(fc.nat(30)),
        fc.boolean(),
        async (numbers, badNumbers, isNamed) => {
          const bad = badNumbers.map(String);
          let left = numbers.map(member);
          const good: string[] = [];
          const gone: string[] = [];
          // As a wallet goes on until nothing is due.
          while (left.length > 0) {
            const { built, failures } = await excludeBadMembers(left, builder(bad, isNamed));
            good.push(...(built ?? []));
            gone.push(...failures.map(({ task }) => task.id));
            left = left.filter(({ task }) => ![...good, ...gone].includes(task.id));
          }
          const all = numbers.map(String);
          expect(good.toSorted()).toEqual(all.filter((one) => !bad.includes(one)).toSorted());
          expect(gone.toSorted()).toEqual(all.filter((one) => bad.includes(one)).toSorted());
        },
      ),
      runs(100, 5_000),
    );
  });

  it("are not blamed for a provider that is away or late", async () => {
    for (const error of [
      new ProviderError("away"),
      new EvaluationUnavailableError("NotSynced", "late"),
    ]) {
      const build = async () => {
        throw error;
      };
      await expect(excludeBadMembers([1, 2].map(member), build)).rejects.toBe(error);
    }
  });
});
