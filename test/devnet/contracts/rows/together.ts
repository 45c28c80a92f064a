/** Several escrows in one transaction, and what the ledger refuses before any script runs. */
import type { Change, Row } from "../cases.ts";
import { having, holds, output, plus } from "../changes.ts";
import { UNLOCK } from "../escrows.ts";

const two = { orders: [{}, {}], last: ["submitResult", "submitResult"] } satisfies Partial<Row>;
const twins = { ...two, orders: [{ number: 0 }, { number: 0 }] } satisfies Partial<Row>;
const rightTwins: Row["right"] = { orders: [{}, {}] };
const collateral = [{ collateral: 3_000_000n }, { collateral: 3_000_000n }];

/** Only the first of the outputs of a role is made. */
const firstOf =
  (role: "escrow" | "collateral"): Change =>
  (draft) => {
    const [first] = draft.outputs.filter((each) => each.role === role);
    const others = draft.outputs.filter((each) => each.role !== role);
    return { ...draft, outputs: first ? [first, ...others] : others };
  };

const reversed: Change = (draft) => ({ ...draft, outputs: draft.outputs.toReversed() });

/** Each escrow goes on with what the other held. */
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

export const OTHER_ROWS: Row[] = [...TOGETHER_ROWS, ...LEDGER_ROWS];
