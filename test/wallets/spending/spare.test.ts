import { expect, it } from "vitest";
import {
  formatOutputReference,
  type WalletOutput,
} from "../../../src/chain/transaction/transaction-plan.ts";
import { listUnreservedOutputs } from "../../../src/wallets/spending/list-unreserved-outputs.ts";
import type { WalletState } from "../../../src/wallets/spending/store/wallet.ts";
import { transaction } from "./transactions.ts";

const TOKEN = "aa".repeat(28);

const output = (name: string, coin: bigint, token = 0n): WalletOutput => ({
  txHash: name.repeat(64),
  index: 0,
  value: new Map([["", coin], ...(token > 0n ? [[TOKEN, token] as const] : [])]),
});

const HEAD = output("1", 500_000_000n);
const LARGE = output("2", 700_000_000n);
const SMALL = output("3", 10_000_000n);
const COLLATERAL = output("4", 5_000_000n);
const TOKENS = output("5", 20_000_000n, 7n);
const ALL = [HEAD, LARGE, SMALL, COLLATERAL, TOKENS];

const WALLET: WalletState = {
  ...{ network: "Preprod", vkey: "aa", version: 1, sequence: 0, spentElsewhere: [], blocker: null },
  chainRoot: formatOutputReference(HEAD),
  collateral: formatOutputReference(COLLATERAL),
};

const spareOf = (
  shown: WalletOutput[],
  wallet: Partial<WalletState> = {},
  open: Parameters<typeof listUnreservedOutputs>[2] = [],
  reserved: string[] = [],
) => listUnreservedOutputs(shown, { ...WALLET, ...wallet }, open, new Set(reserved));

it("a wallet can spare what is neither the head of its chain, nor its collateral, nor holds tokens", () => {
  expect(spareOf(ALL)).toEqual([SMALL, LARGE]);
  expect(spareOf(ALL, {}, [], [formatOutputReference(SMALL)])).toEqual([LARGE]);
  const foreignSpends = [{ output: formatOutputReference(LARGE), txHash: "ff".repeat(32), at: 0 }];
  expect(spareOf([HEAD, SMALL], { spentElsewhere: foreignSpends })).toEqual([SMALL]);
});

it("a wallet without an outward chain reserves its largest output for the chain", () => {
  expect(spareOf(ALL, { chainRoot: null, collateral: null })).toEqual([SMALL, HEAD]);
  expect(spareOf([LARGE], { chainRoot: null, collateral: null })).toEqual([]);
  expect(spareOf([], {})).toEqual([]);
});

it("a wallet cannot spare what its transactions spend, or what waits for a block", () => {
  const next = output("6", 9_000_000n);
  const open = [
    transaction(next.txHash, [formatOutputReference(SMALL)], {
      made: [{ index: 0, value: next.value }],
    }),
  ];
  expect(spareOf([...ALL, next], {}, open)).toEqual([LARGE]);
});
