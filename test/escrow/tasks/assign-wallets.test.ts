import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Value } from "../../../src/chain/transaction/value.ts";
import {
  assignWallets,
  describeShortage,
  type FundingNeed,
  type WalletFunds,
} from "../../../src/escrow/tasks/assign-wallets.ts";
import { runs } from "../../support/effort.ts";
import { makeRecord } from "../../support/sources/records.ts";

const TOKEN = `${"aa".repeat(28)}01`;
const value = (coin: bigint, tokens = 0n): Value =>
  new Map(
    tokens > 0n
      ? [
          ["", coin],
          [TOKEN, tokens],
        ]
      : [["", coin]],
  );

function purser(i: number, free: Value): WalletFunds {
  return {
    wallet: { id: `wallet-${i}`, vkey: String(i), address: `addr_test1wallet${i}` },
    availableFunds: free,
  };
}

function bid(takes: Value, walletIds?: string[]): FundingNeed {
  const { terms, ...record } = makeRecord("purchase");
  return {
    record: { ...record, terms: { ...terms, buyer: null, ...(walletIds && { walletIds }) } },
    amounts: takes,
  };
}

describe("purchases are dealt", () => {
  const amounts = fc.tuple(
    fc.bigInt({ min: 1n, max: 60_000_000n }),
    fc.bigInt({ min: 0n, max: 5n }),
  );
  const limit = fc.option(fc.subarray(["wallet-0", "wallet-1", "wallet-2"]), { nil: undefined });

  it("so that no wallet is dealt more than it has, and none is short that another could serve", () => {
    fc.assert(
      fc.property(
        fc.array(amounts, { minLength: 1, maxLength: 3 }),
        fc.array(fc.tuple(amounts, limit), { maxLength: 12 }),
        (wallets, purchases) => {
          const pursers = wallets.map(([coin, tokens], i) => purser(i, value(coin, tokens)));
          const bids = purchases.map(([[coin, tokens], ids]) => bid(value(coin, tokens), ids));
          const left = new Map(
            pursers.map(({ wallet, availableFunds: free }) => [wallet.id, new Map(free)]),
          );
          for (const [i, dealt] of assignWallets(bids, pursers).entries()) {
            const { amounts: takes, record } = bids[i] as FundingNeed;
            const allowed = pursers.filter(
              ({ wallet }) => record.terms.walletIds?.includes(wallet.id) ?? true,
            );
            if ("wallet" in dealt) {
              expect(allowed.map(({ wallet }) => wallet)).toContain(dealt.wallet);
              const free = left.get(dealt.wallet.id) as Value;
              for (const [unit, amount] of takes) free.set(unit, (free.get(unit) ?? 0n) - amount);
              for (const amount of free.values()) expect(amount >= 0n).toBe(true);
              continue;
            }
            expect(dealt.short === null).toBe(allowed.length === 0);
            for (const { wallet } of allowed) {
              const free = left.get(wallet.id) as Value;
              const hasAll = [...takes].every(
                ([unit, amount]) =>
                  (free.get(unit) ?? 0n) >= amount + (unit === "" ? 2_000_000n : 0n),
              );
              expect(hasAll).toBe(false);
            }
          }
        },
      ),
      runs(200, 20_000),
    );
  });

  it("to the fullest by what is scarce, and the wallet that lacks least is named", () => {
    const rich = purser(0, value(90_000_000n, 1n));
    const owner = purser(1, value(20_000_000n, 4n));
    const [first, second] = assignWallets(
      [bid(value(5_000_000n, 3n)), bid(value(5_000_000n, 3n))],
      [rich, owner],
    );
    expect(first).toMatchObject({ wallet: owner.wallet });
    const short = second && "short" in second ? second.short : null;
    expect(short && describeShortage(short, "the lock")).toMatch(
      /^the wallet wallet-\d lacks 2 minor units of the token \w+: send them to addr_test1wallet\d, /,
    );
  });
});
