/**
 * Several escrows in one transaction, and transactions that the ledger refuses before any script
 * runs.
 */

import { scriptOf } from "../../../../devnet/contracts/scripts.ts";
import type { EscrowDatum } from "../../../../src/chain/contracts/escrow-datum.ts";
import { hexToBytes } from "../../../../src/chain/hex.ts";
import type { Change, Row } from "../cases.ts";
import { addStaked, having, holds, lockWith, output, plus } from "../changes.ts";
import { deploymentOf, UNLOCK } from "../escrows.ts";

const ALWAYS = scriptOf(hexToBytes("450101002499"));

const two = { orders: [{}, {}], last: ["submitResult", "submitResult"] } satisfies Partial<Row>;
const twins = { ...two, orders: [{ number: 0 }, { number: 0 }] } satisfies Partial<Row>;
const rightTwins: Row["right"] = { orders: [{}, {}] };
const collateral = [{ collateral: 3_000_000n }, { collateral: 3_000_000n }];

/** Removes all outputs of a role but the first. */
const firstOf =
  (role: "escrow" | "collateral"): Change =>
  (draft) => {
    const [first] = draft.outputs.filter((each) => each.role === role);
    const others = draft.outputs.filter((each) => each.role !== role);
    return { ...draft, outputs: first ? [first, ...others] : others };
  };

const reversed: Change = (draft) => ({ ...draft, outputs: draft.outputs.toReversed() });

/** Exchanges the values of the continuing outputs. */
const swapped: Change = (draft) => ({
  ...draft,
  outputs: draft.outputs.map((each, i) => ({
    ...each,
    funds: draft.outputs[1 - i]?.funds ?? each.funds,
  })),
});

const spendsSecond: Change = (draft, { escrows: [, second] }) => ({
  ...draft,
  spends: second
    ? [...draft.spends, { escrow: second, redeemer: { index: 5, fields: [] } }]
    : draft.spends,
});

const TOGETHER_ROWS: Row[] = [
  { id: "M01", title: "two escrows of one seller", on: 2, ...two },
  {
    id: "M01",
    title: "two escrows of one seller",
    on: 1,
    ...two,
    refused: "alone",
    right: { last: ["submitResult", null] },
  },
  {
    id: "M02",
    title: "two escrows, one of which goes on",
    on: 1,
    ...two,
    change: firstOf("escrow"),
    refused: "alone",
    right: { last: ["submitResult", null] },
  },
  {
    id: "M02",
    title: "two escrows, one of which goes on",
    on: 2,
    ...two,
    change: firstOf("escrow"),
    refused: "continuingOutput",
  },
  {
    id: "M03",
    title: "two escrows of the same terms, one of which goes on",
    on: 1,
    ...twins,
    change: firstOf("escrow"),
    refused: "alone",
    right: { last: ["submitResult", null] },
  },
  {
    id: "M03",
    title: "two escrows of the same terms, one of which goes on",
    on: 2,
    ...twins,
    change: firstOf("escrow"),
    refused: "distinctSignatures",
    right: rightTwins,
  },
  {
    id: "M04",
    title: "two escrows of the same terms",
    on: 1,
    ...twins,
    refused: "alone",
    right: { last: ["submitResult", null] },
  },
  {
    id: "M04",
    title: "two escrows of the same terms",
    on: 2,
    ...twins,
    refused: "distinctSignatures",
    right: rightTwins,
  },
  {
    id: "M05",
    title: "two escrows of the same terms, each in a transaction of its own",
    orders: twins.orders,
    before: ["submitResult"],
    last: ["submitResult", null],
  },
  {
    id: "M10",
    title: "two withdrawals share one collateral",
    on: 2,
    orders: collateral,
    before: ["submitResult"],
    last: ["withdraw", "withdraw"],
    change: firstOf("collateral"),
    refused: "collateralReturned",
  },
  {
    id: "M11",
    title: "two withdrawals",
    on: 2,
    orders: collateral,
    before: ["submitResult"],
    last: ["withdraw", "withdraw"],
  },
  {
    id: "M12",
    title: "a withdrawal and a result",
    on: 2,
    orders: [{}, {}],
    before: ["submitResult"],
    last: ["withdraw", "submitResult"],
    plan: { from: UNLOCK },
  },
  {
    id: "M13",
    title: "a result and the request of a refund, both parties sign",
    on: 2,
    orders: [{}, {}],
    last: ["submitResult", "requestRefund"],
  },
  { id: "M14", title: "outputs in another order than inputs", on: 2, ...two, change: reversed },
  {
    id: "M15",
    title: "two escrows swap what they hold",
    on: 2,
    ...two,
    orders: [{}, { price: 90_000_000n }],
    change: swapped,
    refused: "valueKept",
  },
  {
    id: "M16",
    title: "an output whose datum is none of an escrow is spent beside one",
    on: 2,
    orders: [{}, { raw: "80" }],
    last: ["submitResult", null],
    change: spendsSecond,
    refused: "ownDatum",
  },
  {
    id: "M17",
    title: "an escrow and another lock of the same terms beside it",
    on: 2,
    last: "submitResult",
    change: output("escrow", (each, { locked: [first] }) => [
      each,
      {
        role: "other",
        address: each.address,
        funds: each.funds,
        ...(first && { next: first.datum }),
      },
    ]),
    refused: "distinctSignatures",
  },
  {
    id: "M18",
    title: "one of two escrows is topped up",
    on: 2,
    ...two,
    change: holds("escrow", plus(1n)),
  },
];

const submit = { last: "submitResult" } as const;
const withdraw = { before: ["submitResult"], last: "withdraw" } satisfies Partial<Row>;
const settle = {
  before: ["submitResult", "requestRefund"],
  last: "withdrawDisputed",
} satisfies Partial<Row>;
const signature = (bytes: number): Partial<EscrowDatum> => ({
  referenceSignature: "5a".repeat(bytes),
});

/** The rules of Web3ChainV2 for every output at the contract, whatever the action. */
const BESIDE_ROWS: Row[] = [
  { id: "", title: "a step", ...submit },
  { id: "a", title: "a withdrawal", ...withdraw },
  { id: "b", title: "a settlement", ...settle },
].flatMap(({ id, title, ...row }): Row[] => [
  {
    id: `M19${id}`,
    title: `a lock with a reference signature of 15 bytes beside ${title}`,
    on: 2,
    ...row,
    change: lockWith(signature(15)),
    refused: "payableDatum",
  },
  {
    id: `M20${id}`,
    title: `a lock with a reference signature of 16 bytes beside ${title}`,
    on: 2,
    ...row,
    change: lockWith(signature(16)),
  },
]);

/** The contract's script with another stake part is another address. */
const STAKED_ROWS: Row[] = [
  {
    id: "M21",
    title: "an escrow that was locked with a stake part goes on there",
    orders: [{ isStaked: true }],
    ...submit,
  },
  {
    id: "M22",
    title: "an escrow that was locked with a stake part goes on without one",
    orders: [{ isStaked: true }],
    ...submit,
    change: output("escrow", (each, { type }) => ({
      ...each,
      address: deploymentOf(type).address,
    })),
    refused: "continuingOutput",
  },
  {
    id: "M23",
    title: "an output without a datum at another stake part",
    ...submit,
    change: addStaked((each) => each),
  },
  {
    id: "M24",
    title: "an output at another stake part whose datum is none of an escrow",
    ...submit,
    change: addStaked((each) => ({ ...each, datum: 5n })),
  },
  {
    id: "M25",
    title: "a reference script at another stake part",
    ...submit,
    change: addStaked((each) => ({ ...each, referenceScript: ALWAYS })),
  },
  {
    id: "M26",
    title: "the same escrow once more at another stake part",
    ...submit,
    change: addStaked((each, { escrows: [escrow] }) => ({
      ...each,
      ...(escrow && { next: escrow.datum }),
    })),
  },
  {
    id: "M27",
    title: "a withdrawal that leaves the same escrow at another stake part",
    ...withdraw,
    change: addStaked((each, { escrows: [escrow] }) => ({
      ...each,
      ...(escrow && { next: escrow.datum }),
    })),
  },
  {
    id: "M28",
    title: "two escrows at two stake parts",
    orders: [{}, { isStaked: true }],
    last: ["submitResult", "submitResult"],
  },
  {
    id: "M29",
    title: "two escrows with the same terms at two stake parts",
    orders: [{ number: 0 }, { number: 0, isStaked: true }],
    last: ["submitResult", "submitResult"],
  },
];

const LEDGER_ROWS: Row[] = [
  {
    id: "L01",
    title: "the script is missing",
    ...submit,
    change: having({ scripts: [] }),
    refused: { ledger: "ExtraRedeemers" },
  },
  {
    id: "L02",
    title: "too few execution units",
    ...submit,
    change: having({ units: { memory: 40_000n, steps: 12_000_000n } }),
    refused: { ledger: "PlutusFailure" },
  },
  {
    id: "L03",
    title: "the validity is over",
    ...submit,
    change: (draft) => ({ ...draft, at: draft.to ?? 0 }),
    refused: { ledger: "OutsideValidityIntervalUTxO" },
  },
  {
    id: "L04",
    title: "the validity has not begun",
    ...submit,
    change: (draft) => ({ ...draft, at: draft.at - 1 }),
    refused: { ledger: "OutsideValidityIntervalUTxO" },
  },
  {
    id: "L05",
    title: "the escrow was spent before",
    before: ["submitResult"],
    ...submit,
    change: (draft, { locked: [first] }) => ({
      ...draft,
      spends: draft.spends.map((spend) => (first ? { ...spend, escrow: first } : spend)),
    }),
    refused: { ledger: "BadInputsUTxO" },
  },
];

export const OTHER_ROWS: Row[] = [...TOGETHER_ROWS, ...BESIDE_ROWS, ...STAKED_ROWS, ...LEDGER_ROWS];
