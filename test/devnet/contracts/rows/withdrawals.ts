/** Withdrawing: the seller's share, the fee of Web3ChainV1, the collateral, return addresses. */
import type { Row } from "../cases.ts";
import {
  both,
  freshLock,
  having,
  holds,
  otherStake,
  output,
  plus,
  signedBy,
  split,
  staysAsWell,
  tagByHash,
  untagged,
  without,
} from "../changes.ts";
import type { OperatorAction } from "../drafts.ts";
import { BUYER, STRANGER, SUBMIT_BY, timeAt, UNLOCK } from "../escrows.ts";
import { TOKENS } from "../stage.ts";

const withdraw = { before: ["submitResult"], last: "withdraw" } satisfies Partial<Row>;
const collateral = { orders: [{ collateral: 3_000_000n }], ...withdraw } satisfies Partial<Row>;
const v1 = { on: 1, ...withdraw } as const;
const returns = {
  on: 2,
  orders: [{ collateral: 3_000_000n, tokens: 100n, returns: true }],
  ...withdraw,
} satisfies Partial<Row>;
const RESULT = "ab".repeat(32);

const otherTag = output("collateral", ({ datum: _, ...each }, { escrows: [escrow] }) => ({
  ...each,
  datum: { index: 0, fields: [Buffer.from(escrow?.txHash ?? "", "hex"), 99n] },
}));

const COMMON_ROWS: Row[] = [
  { id: "W01", title: "by the seller", ...withdraw },
  { id: "W02", title: "with a collateral", ...collateral },
  {
    id: "W03",
    title: "starts 1 s before the unlock time",
    ...withdraw,
    plan: { from: UNLOCK - 1 },
    refused: "notBefore",
    right: { plan: { from: UNLOCK } },
  },
  { id: "W04", title: "starts at the unlock time", ...withdraw, plan: { from: UNLOCK } },
  {
    id: "W05",
    title: "the validity has no start",
    ...withdraw,
    change: having({ from: null }),
    refused: "notBefore",
  },
  {
    id: "W06",
    title: "the validity has no end",
    ...withdraw,
    change: having({ to: null }),
    refused: "validTo",
  },
  ...(
    [
      { id: "W07", title: "out of FundsLocked", before: [] },
      { id: "W08", title: "out of RefundRequested", before: ["requestRefund"] },
      { id: "W09", title: "out of Disputed", before: ["submitResult", "requestRefund"] },
    ] satisfies { id: string; title: string; before: OperatorAction[] }[]
  ).map(
    (row): Row => ({
      ...withdraw,
      ...row,
      refused: "state",
      right: { before: ["submitResult"] },
    }),
  ),
  { id: "W10", title: "the buyer signs", ...withdraw, change: signedBy(BUYER), refused: "signer" },
  {
    id: "W11",
    title: "the collateral is one coin short",
    ...collateral,
    change: holds("collateral", plus(-1n)),
    refused: "collateralReturned",
  },
  {
    id: "W12",
    title: "the collateral is untagged",
    ...collateral,
    change: untagged("collateral"),
    refused: "collateralReturned",
  },
  {
    id: "W13",
    title: "the collateral is tagged with another output",
    ...collateral,
    change: otherTag,
    refused: "collateralReturned",
  },
  {
    id: "W14",
    title: "the collateral goes to the buyer's key without its stake part",
    ...collateral,
    change: otherStake("collateral"),
    refused: "collateralReturned",
  },
  {
    id: "W15",
    title: "the collateral is divided",
    ...collateral,
    change: split("collateral", 1_500_000n),
  },
  {
    id: "W16",
    title: "the collateral's tag is a hash",
    ...collateral,
    change: tagByHash("collateral"),
    refused: "collateralReturned",
  },
  {
    id: "W17",
    title: "the seller's part goes into the change",
    ...withdraw,
    change: without("seller"),
  },
  {
    id: "W18",
    title: "the seller's part goes to a stranger, untagged",
    ...withdraw,
    change: output("seller", ({ role, funds }) => ({ role, address: STRANGER.address, funds })),
  },
  { id: "W19", title: "with tokens", orders: [{ tokens: 100n }], ...withdraw },
  {
    id: "W20",
    title: "inside of the seller's own cooldown",
    orders: [{ datum: { unlockTime: BigInt(timeAt(SUBMIT_BY + 60)) } }],
    before: [["submitResult", { from: SUBMIT_BY - 301 }]],
    last: "withdraw",
    plan: { from: SUBMIT_BY + 60 },
  },
  {
    id: "W21",
    title: "without a result, out of a state that has one",
    orders: [{ datum: { state: "ResultSubmitted" } }],
    last: "withdraw",
    refused: "result",
    right: { orders: [{ datum: { state: "ResultSubmitted", resultHash: RESULT } }] },
  },
  {
    id: "W46",
    title: "an escrow that was locked as ResultSubmitted",
    orders: [{ datum: { state: "ResultSubmitted", resultHash: RESULT } }],
    last: "withdraw",
  },
];

const V1_ROWS: Row[] = [
  { id: "W30", title: "no fee", ...v1, change: without("fee"), refused: "fee" },
  {
    id: "W31",
    title: "a fee one coin short",
    ...v1,
    change: holds("fee", plus(-1n)),
    refused: "fee",
  },
  { id: "W32", title: "a fee of everything that was locked", ...v1, ...collateral },
  {
    id: "W33",
    title: "a fee of the price only",
    ...v1,
    ...collateral,
    change: holds("fee", plus(-150_000n)),
    refused: "fee",
  },
  { id: "W34", title: "an untagged fee", ...v1, change: untagged("fee"), refused: "fee" },
  {
    id: "W35",
    title: "the fee goes to its key without the stake part",
    ...v1,
    change: otherStake("fee"),
    refused: "fee",
  },
  {
    id: "W36",
    title: "no fee of the tokens",
    ...v1,
    orders: [{ tokens: 100n }],
    change: holds("fee", (funds) => funds.filter(({ unit }) => unit === "")),
    refused: "fee",
  },
  { id: "W37", title: "a fee of tokens that rounds to 0", ...v1, orders: [{ tokens: 19n }] },
  { id: "W38", title: "the fee is divided", ...v1, change: split("fee", 2_000_000n) },
  {
    id: "W39",
    title: "fee and collateral come out of the seller's wallet",
    ...v1,
    ...collateral,
    change: output("seller", (each, { escrows: [escrow] }) => ({
      ...each,
      funds: escrow?.funds ?? [],
    })),
  },
  { id: "W40", title: "a lock beside it", ...v1, change: freshLock },
  { id: "W41", title: "the same datum stays at the contract", ...v1, change: staysAsWell },
  {
    id: "W42",
    title: "two escrows at once",
    on: 1,
    orders: [{}, {}],
    before: ["submitResult"],
    last: ["withdraw", "withdraw"],
    refused: "alone",
    right: { last: ["withdraw", null] },
  },
];

const V2_ROWS: Row[] = [
  { id: "W30", title: "to return addresses", ...returns },
  {
    id: "W31",
    title: "to the seller's return address, untagged",
    ...returns,
    change: untagged("seller"),
    refused: "returnAddress",
  },
  {
    id: "W32",
    title: "to the seller's own address instead of its return address",
    ...returns,
    change: output("seller", (each, { escrows: [escrow] }) => ({
      ...each,
      address: escrow?.datum.seller ?? "",
    })),
    refused: "returnAddress",
  },
  {
    id: "W33",
    title: "to the seller's return address, one coin short",
    ...returns,
    change: holds("seller", plus(-1n)),
    refused: "returnAddress",
  },
  {
    id: "W34",
    title: "to the seller's return address, more than due",
    ...returns,
    change: holds("seller", plus(1_000_000n)),
  },
  {
    id: "W35",
    title: "the collateral goes to the buyer's own address instead of its return address",
    ...returns,
    change: output("collateral", (each, { escrows: [escrow] }) => ({
      ...each,
      address: escrow?.datum.buyer ?? "",
    })),
    refused: "collateralReturned",
  },
  {
    id: "W36",
    title: "to the seller's return address, without the tokens",
    ...returns,
    change: holds("seller", (funds) => funds.filter(({ unit }) => unit !== TOKENS[0])),
    refused: "returnAddress",
  },
  {
    id: "W37",
    title: "the transaction's fee is taken out of the seller's part",
    ...returns,
    change: holds("seller", plus(-700_000n)),
    refused: "returnAddress",
  },
  {
    id: "W47",
    title: "out of a state that only Web3ChainV2 has",
    on: 1,
    orders: [{ datum: { state: "WithdrawAuthorized", resultHash: "ab" } }],
    last: "withdraw",
    refused: "state",
    right: { orders: [{ datum: { state: "ResultSubmitted", resultHash: "ab" } }] },
  },
  {
    id: "W39",
    title: "out of WithdrawAuthorized, the validity has no start",
    on: 2,
    before: ["submitResult", "requestRefund", "redeemer2"],
    last: "withdraw",
    change: having({ from: null }),
  },
  {
    id: "W40",
    title: "an output with the escrow's reference signature stays",
    on: 2,
    ...withdraw,
    change: staysAsWell,
    refused: "ended",
  },
  {
    id: "W42",
    title: "less is locked than the collateral",
    on: 2,
    orders: [
      {
        price: 5_000_000n,
        datum: { collateralReturn: 5_000_001n, resultHash: RESULT, state: "ResultSubmitted" },
      },
    ],
    last: "withdraw",
    change: both(without("seller"), holds("collateral", plus(1n))),
    refused: "collateralLocked",
    right: {
      orders: [
        {
          price: 5_000_001n,
          datum: { collateralReturn: 5_000_001n, resultHash: RESULT, state: "ResultSubmitted" },
        },
      ],
    },
  },
  {
    id: "W43",
    title: "submitting where less is locked than the collateral",
    on: 2,
    orders: [{ price: 5_000_000n, datum: { collateralReturn: 5_000_001n } }],
    last: "submitResult",
    refused: "collateralLocked",
    right: { orders: [{ price: 5_000_000n, datum: { collateralReturn: 5_000_000n } }] },
  },
  {
    id: "W44",
    title: "a negative collateral",
    on: 2,
    orders: [{ datum: { collateralReturn: -1n } }],
    last: "submitResult",
    refused: "payableDatum",
    right: { orders: [{ datum: { collateralReturn: 0n } }] },
  },
  {
    id: "W45",
    title: "a reference signature of 15 bytes",
    on: 2,
    orders: [{ datum: { referenceSignature: "ab".repeat(15) } }],
    last: "submitResult",
    refused: "payableDatum",
    right: { orders: [{ datum: { referenceSignature: "ab".repeat(16) } }] },
  },
];

export const WITHDRAWAL_ROWS: Row[] = [...COMMON_ROWS, ...V1_ROWS, ...V2_ROWS];
