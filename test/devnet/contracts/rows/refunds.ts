/**
 * Requesting a refund, taking the request back, authorizing either side, and withdrawing a refund.
 */
import type { Row } from "../cases.ts";
import { having, holds, next, output, plus, signedBy, untagged } from "../changes.ts";
import { cooldownAfter } from "../drafts.ts";
import { BUYER, DISPUTE, SELLER, STRANGER, SUBMIT_BY, timeAt, UNLOCK } from "../escrows.ts";

const until = (to: number) => ({ from: to - 300, to });
const bothGenerations = [1, 2] as const;

const ask = { last: "requestRefund" } as const;
const disputed = ["submitResult", "requestRefund"] satisfies Row["before"];

const REQUEST_ROWS: Row[] = [
  { id: "Q01", title: "without a result, into RefundRequested", ...ask },
  { id: "Q02", title: "with a result, into Disputed", before: ["submitResult"], ...ask },
  { id: "Q03", title: "out of Disputed into Disputed", before: disputed, ...ask },
  {
    id: "Q04",
    title: "out of RefundRequested",
    before: ["requestRefund"],
    ...ask,
    refused: "state",
    right: { before: [] },
  },
  {
    id: "Q05",
    title: "ends at the unlock time",
    ...ask,
    plan: until(UNLOCK),
    refused: "notAfter",
    right: { plan: until(UNLOCK - 1) },
  },
  { id: "Q06", title: "ends one slot before the unlock time", ...ask, plan: until(UNLOCK - 1) },
  {
    id: "Q07",
    title: "starts 1 s before the buyer's cooldown is over",
    before: disputed,
    ...ask,
    plan: { from: cooldownAfter(2) - 1 },
    refused: "notBefore",
    right: { plan: { from: cooldownAfter(2) } },
  },
  { id: "Q08", title: "the seller signs", ...ask, change: signedBy(SELLER), refused: "signer" },
  {
    id: "Q09",
    title: "the result is cleared",
    before: ["submitResult"],
    ...ask,
    change: next(() => ({ resultHash: "" })),
    refused: "nextResult",
  },
  {
    id: "Q10",
    title: "the seller's cooldown is kept",
    orders: [{ datum: { sellerCooldownTime: BigInt(timeAt(300)) } }],
    ...ask,
    change: next((_, { datum }) => ({ sellerCooldownTime: datum.sellerCooldownTime })),
    refused: "otherCooldown",
  },
  { id: "Q11", title: "after the submit-result time", ...ask, plan: { from: SUBMIT_BY + 60 } },
  {
    id: "Q12",
    title: "a cooldown 1 ms short",
    ...ask,
    change: next(({ buyerCooldownTime: time }) => ({ buyerCooldownTime: time - 1n })),
    refused: "ownCooldown",
  },
];

const takeBack = { on: 1, last: "redeemer2" } as const;
const letWithdraw = { on: 2, last: "redeemer2" } as const;

const SECOND_REDEEMER_ROWS: Row[] = [
  { id: "N01", title: "into FundsLocked", before: ["requestRefund"], ...takeBack },
  { id: "N02", title: "into ResultSubmitted", before: disputed, ...takeBack },
  {
    id: "N03",
    title: "out of FundsLocked",
    ...takeBack,
    refused: "state",
    right: { before: ["requestRefund"] },
  },
  {
    id: "N04",
    title: "out of ResultSubmitted",
    before: ["submitResult"],
    ...takeBack,
    refused: "state",
    right: { before: disputed },
  },
  {
    id: "N05",
    title: "inside of the buyer's cooldown",
    before: ["requestRefund"],
    ...takeBack,
    plan: { from: cooldownAfter(1) - 1 },
    refused: "notBefore",
    right: { plan: { from: cooldownAfter(1) } },
  },
  {
    id: "N06",
    title: "after the external dispute time",
    before: ["requestRefund"],
    ...takeBack,
    plan: { from: DISPUTE + 60 },
  },
  {
    id: "N07",
    title: "into FundsLocked, though there is a result",
    before: disputed,
    ...takeBack,
    change: next(() => ({ state: "FundsLocked" })),
    refused: "nextState",
  },
  {
    id: "N08",
    title: "the seller signs",
    before: ["requestRefund"],
    ...takeBack,
    change: signedBy(SELLER),
    refused: "signer",
  },
  { id: "N01", title: "into WithdrawAuthorized", before: disputed, ...letWithdraw },
  {
    id: "N02",
    title: "out of RefundRequested",
    before: ["requestRefund"],
    ...letWithdraw,
    refused: "state",
    right: { before: disputed },
  },
  {
    id: "N03",
    title: "out of ResultSubmitted",
    before: ["submitResult"],
    ...letWithdraw,
    refused: "state",
    right: { before: disputed },
  },
  {
    id: "N04",
    title: "the seller signs",
    before: disputed,
    ...letWithdraw,
    change: signedBy(SELLER),
    refused: "signer",
  },
  {
    id: "N05",
    title: "into ResultSubmitted, which redeemer 2 means on Web3ChainV1",
    before: disputed,
    ...letWithdraw,
    change: next(() => ({ state: "ResultSubmitted" })),
    refused: "nextState",
  },
  {
    id: "N06",
    title: "inside of the buyer's cooldown",
    before: disputed,
    ...letWithdraw,
    plan: { from: cooldownAfter(2) - 1 },
    refused: "notBefore",
    right: { plan: { from: cooldownAfter(2) } },
  },
  {
    id: "N07",
    title: "out of a dispute without a result",
    on: 2,
    orders: [{ datum: { state: "Disputed" } }],
    last: "redeemer2",
    refused: "result",
    right: { orders: [{ datum: { state: "Disputed", resultHash: "ab" } }] },
  },
  {
    id: "N08",
    title: "a refund is asked for after WithdrawAuthorized",
    on: 2,
    before: [...disputed, "redeemer2"],
    ...ask,
    refused: "state",
    right: { before: disputed },
  },
];

const authorize = { last: "authorizeRefund" } as const;

const AUTHORIZE_ROWS: Row[] = [
  { id: "A01", title: "out of Disputed, the result is cleared", before: disputed, ...authorize },
  {
    id: "A02",
    title: "the result is kept",
    before: disputed,
    ...authorize,
    change: next((_, { datum }) => ({ resultHash: datum.resultHash })),
    refused: "nextResult",
  },
  ...(
    [
      { id: "A03", title: "out of RefundRequested", before: ["requestRefund"] },
      { id: "A04", title: "out of FundsLocked", before: [] },
      { id: "A05", title: "out of ResultSubmitted", before: ["submitResult"] },
    ] satisfies Partial<Row>[]
  ).flatMap((row): Row[] => [
    { ...row, on: 1, ...authorize, refused: "state", right: { before: disputed } },
    { ...row, on: 2, ...authorize },
  ]),
  {
    id: "A06",
    title: "after the external dispute time",
    before: disputed,
    ...authorize,
    plan: { from: DISPUTE + 60 },
  },
  {
    id: "A07",
    title: "the buyer signs",
    before: disputed,
    ...authorize,
    change: signedBy(BUYER),
    refused: "signer",
  },
  ...bothGenerations.map(
    (on): Row => ({
      id: "A08",
      title: "into another state",
      on,
      before: disputed,
      ...authorize,
      change: next(() => ({ state: on === 1 ? "FundsLocked" : "RefundRequested" })),
      refused: "nextState",
    }),
  ),
  {
    id: "A09",
    title: "inside of the seller's cooldown",
    on: 2,
    before: ["submitResult"],
    ...authorize,
    plan: { from: cooldownAfter(1) - 1 },
    refused: "notBefore",
    right: { plan: { from: cooldownAfter(1) } },
  },
];

const refund = { last: "withdrawRefund" } as const;
const authorized = ["requestRefund", "authorizeRefund"] satisfies Row["before"];
const returns = { on: 2, orders: [{ returns: true }] } satisfies Partial<Row>;

const REFUND_ROWS: Row[] = [
  {
    id: "B20",
    title: "out of a state that only Web3ChainV2 has",
    on: 1,
    orders: [{ datum: { state: "RefundAuthorized" } }],
    ...refund,
    refused: "state",
    right: { orders: [{ datum: { state: "RefundRequested" } }] },
  },
  { id: "B01", title: "out of FundsLocked", ...refund },
  { id: "B02", title: "out of RefundRequested", before: ["requestRefund"], ...refund },
  {
    id: "B03",
    title: "starts 1 s before the submit-result time",
    ...refund,
    plan: { from: SUBMIT_BY - 1 },
    refused: "notBefore",
    right: { plan: { from: SUBMIT_BY } },
  },
  { id: "B04", title: "starts at the submit-result time", ...refund, plan: { from: SUBMIT_BY } },
  {
    id: "B05",
    title: "the validity has no start",
    ...refund,
    change: having({ from: null }),
    refused: "notBefore",
  },
  {
    id: "B06",
    title: "the validity has no end",
    ...refund,
    change: having({ to: null }),
    refused: "validTo",
  },
  {
    id: "B07",
    title: "out of ResultSubmitted",
    before: ["submitResult"],
    ...refund,
    refused: "state",
    right: { before: [] },
  },
  {
    id: "B08",
    title: "out of Disputed",
    before: disputed,
    ...refund,
    refused: "state",
    right: { before: [] },
  },
  { id: "B09", title: "the seller signs", ...refund, change: signedBy(SELLER), refused: "signer" },
  {
    id: "B10",
    title: "to a stranger, untagged",
    ...refund,
    change: output("buyer", ({ role, funds }) => ({ role, address: STRANGER.address, funds })),
  },
  {
    id: "B11",
    title: "with a result, out of a state that has none",
    orders: [{ datum: { resultHash: "ab" } }],
    ...refund,
    refused: "result",
    right: { orders: [{}] },
  },
  {
    id: "B12",
    title: "inside of the buyer's own cooldown",
    before: [["requestRefund", until(SUBMIT_BY - 60)]],
    ...refund,
  },
  ...bothGenerations.map((on): Row => {
    const row: Row = {
      id: "B13",
      title: "all of it stays at the contract with the same datum",
      on,
      ...refund,
      change: output("buyer", ({ funds }, { escrows: [escrow] }) => ({
        role: "other",
        address: escrow?.deployment.address ?? "",
        funds,
        ...(escrow && { next: escrow.datum }),
      })),
    };
    return on === 1 ? row : { ...row, refused: "ended" };
  }),
  { id: "B14", title: "with tokens", orders: [{ tokens: 100n }], ...refund },
  { id: "B30", title: "to the buyer's return address", ...returns, ...refund },
  {
    id: "B31",
    title: "to the buyer's return address, one coin short",
    ...returns,
    ...refund,
    change: holds("buyer", plus(-1n)),
    refused: "returnAddress",
  },
  {
    id: "B32",
    title: "to the buyer's return address, untagged",
    ...returns,
    ...refund,
    change: untagged("buyer"),
    refused: "returnAddress",
  },
  {
    id: "B33",
    title: "out of RefundAuthorized, long before the submit-result time",
    on: 2,
    before: authorized,
    ...refund,
    plan: { from: 2_700 },
  },
  {
    id: "B34",
    title: "a result after RefundAuthorized",
    on: 2,
    before: authorized,
    last: "submitResult",
    refused: "state",
    right: { before: ["requestRefund"] },
  },
  {
    id: "B35",
    title: "out of RefundAuthorized, the validity has no start",
    on: 2,
    before: authorized,
    ...refund,
    change: having({ from: null }),
  },
  {
    id: "B36",
    title: "authorizing twice",
    on: 2,
    before: authorized,
    ...authorize,
    refused: "state",
    right: { before: ["requestRefund"] },
  },
];

export const REFUND_SIDE_ROWS: Row[] = [
  ...REQUEST_ROWS,
  ...SECOND_REDEEMER_ROWS,
  ...AUTHORIZE_ROWS,
  ...REFUND_ROWS,
];
