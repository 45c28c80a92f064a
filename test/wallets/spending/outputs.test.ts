import { expect, it } from "vitest";
import type { Block } from "../../../src/chain/provider/provider.ts";
import { OutputView } from "../../../src/wallets/spending/context/output-view.ts";

it("a wallet's view asks for the tip once in two seconds, and at once when it has forgotten", async () => {
  let asked = 0;
  const latestBlock = async (): Promise<Block> => {
    const height = ++asked;
    return { height, hash: `block-${height}`, slot: height, time: height };
  };
  const view = new OutputView();
  const heights = async (...times: number[]) => {
    const read: number[] = [];
    for (const now of times) read.push((await view.loadTip({ latestBlock }, now)).height);
    return read;
  };
  expect(await heights(10_000, 11_999, 12_000, 13_999)).toEqual([1, 1, 2, 2]);
  view.invalidate();
  expect(await heights(13_999, 14_000)).toEqual([3, 3]);
});
