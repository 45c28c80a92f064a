import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { createSource, settle } from "../support/sources/sync.ts";
import { ask, documents } from "./support.ts";

const VERSION = "Web3ChainV2";
const DAY_MS = 86_400_000;

beforeEach(emptyTables);
afterEach(() => {
  vi.useRealTimers();
});

describe("a history that is synced a month late", () => {
  it("is billed in the months of its blocks", async () => {
    const chain = await TestChain.create();
    const play = (as: string) =>
      chain.act([
        { do: "lock", as, version: VERSION },
        { do: "submitResult", on: as },
        { do: "withdraw", on: as },
      ]);
    const monthOf = (ms: number) => new Date(ms).toISOString().slice(0, 7);
    const months = [monthOf(Date.now())];
    await play("first");
    await chain.advance(40 * DAY_MS);
    months.push(monthOf(Date.now() + 40 * DAY_MS));
    await play("second");
    await play("third");
    await chain.advance(35 * DAY_MS);
    const late = Date.now() + 75 * DAY_MS;

    const { wallets } = await chain.wallets();
    const vkeyOf = (name: string) => wallets.find((wallet) => wallet.name === name)?.vkey;
    const source = await createSource(chain, VERSION);
    await settle(chain, source);

    vi.useFakeTimers({ toFake: ["Date"], now: late });
    const quantities: string[][] = [];
    for (const month of [...months, monthOf(late)]) {
      const answer = await ask({ buyerWalletVkey: vkeyOf("buyer-0"), month });
      const { lines } = JSON.parse((await documents()).at(-1)?.content ?? "{}") as {
        lines: { quantity: string }[];
      };
      quantities.push(
        answer.status === 200 ? lines.map(({ quantity }) => quantity) : [answer.message],
      );
    }
    expect(quantities).toEqual([
      ["1"],
      ["2"],
      ["No payments are billable for this month and wallet. Check both."],
    ]);
  });
});
