/** Settling disputes: by the administrators' keys (Web3ChainV1), or by their signatures (Web3ChainV2). */
import { ADMIN } from "../../../../devnet/demo/actors/wallets.ts";
import type { Funds } from "../../../../src/chain/network.ts";
import type { Constr } from "../../../../src/chain/plutus/data.ts";
import type { Change, Row } from "../cases.ts";
import {
  both,
  having,
  holds,
  output,
  plus,
  redeemer,
  signedBy,
  untagged,
  without,
} from "../changes.ts";
import { sharesOf } from "../drafts.ts";
import { ADMINISTRATORS, BUYER, DISPUTE, type Escrow, SELLER } from "../escrows.ts";
import { BARE_HEADERS, headersWith, type Settlement, settle, valueData } from "../settlements.ts";
import { TOKENS } from "../stage.ts";

const dispute = {
  before: ["submitResult", "requestRefund"],
  last: "withdrawDisputed",
} satisfies Partial<Row>;
const v1 = { on: 1, ...dispute } as const;
const v2 = { on: 2, ...dispute } as const;

/** Replaces the settlement, but not the outputs. */
const settled = (of: Partial<Settlement> | ((escrow: Escrow) => Partial<Settlement>)): Change =>
  redeemer((_, escrow) =>
    settle(escrow, { ...sharesOf(escrow), ...(typeof of === "function" ? of(escrow) : of) }),
  );

/** Headers of a length from 37 to 266 bytes. */
function headersOf(length: number): Uint8Array {
  const headers = headersWith(new Uint8Array(length - 13));
  if (headers.length !== length) throw new Error(`headers of ${headers.length} bytes`);
  return headers;
}

const all = ({ funds }: Escrow): Funds[] => funds;
const toBuyerAlone = both(
  without("seller"),
  output("buyer", (each, { escrows: [escrow] }) => ({ ...each, funds: escrow?.funds ?? [] })),
);
const [A, B, C] = ADMINISTRATORS;

const SHORT = new Uint8Array(63);

/** Replaces a part of the first signature. */
const signedWith =
  (part: { key?: Uint8Array; headers?: Uint8Array; signature?: Uint8Array }) =>
  ([first]: Constr[]): Constr => {
    const [key, headers, signature] = first?.fields ?? [];
    const given = { key, headers, signature, ...part };
    return {
      index: 0,
      fields: [given.key, given.headers, given.signature].flatMap((data) => data ?? []),
    };
  };

const COMMON_ROWS: Row[] = [
  { id: "D01", title: "two of three administrators", ...dispute },
  {
    id: "D06",
    title: "starts 1 s before the external dispute time",
    ...dispute,
    plan: { from: DISPUTE - 1 },
    refused: "notBefore",
    right: { plan: { from: DISPUTE } },
  },
  {
    id: "D07",
    title: "starts at the external dispute time",
    ...dispute,
    plan: { from: DISPUTE },
  },
  {
    id: "D08",
    title: "out of RefundRequested",
    ...dispute,
    before: ["requestRefund"],
    refused: "state",
    right: { before: dispute.before },
  },
  {
    id: "D09",
    title: "out of ResultSubmitted",
    ...dispute,
    before: ["submitResult"],
    refused: "state",
    right: { before: dispute.before },
  },
  {
    id: "D11",
    title: "without a result",
    orders: [{ datum: { state: "Disputed" } }],
    last: "withdrawDisputed",
    refused: "result",
    right: { orders: [{ datum: { state: "Disputed", resultHash: "ab" } }] },
  },
];

const V1_ROWS: Row[] = [
  { id: "D02", title: "one administrator", ...v1, change: signedBy(A), refused: "administrators" },
  {
    id: "D03",
    title: "one administrator twice",
    ...v1,
    change: signedBy(A, A),
    refused: "administrators",
  },
  {
    id: "D04",
    title: "one administrator and the seller",
    ...v1,
    change: signedBy(A, SELLER),
    refused: "administrators",
  },
  {
    id: "D05",
    title: "one administrator in three places",
    ...v1,
    board: "one",
    change: signedBy(A),
  },
  {
    id: "D12",
    title: "more are required than there are",
    ...v1,
    board: "tooSmall",
    refused: "administrators",
    right: { board: "three" },
  },
  { id: "D10", title: "all administrators", ...v1, change: signedBy(A, B, C) },
  {
    id: "D21",
    title: "buyer and seller agree, no administrator",
    ...v1,
    change: signedBy(BUYER, SELLER),
    refused: "administrators",
  },
  {
    id: "D22",
    title: "to whom the administrators like",
    ...v1,
    change: both(without("seller"), untagged("buyer")),
  },
];

const V2_ROWS: Row[] = [
  {
    id: "D02",
    title: "one administrator",
    ...v2,
    change: settled({ by: [A] }),
    refused: "administrators",
  },
  {
    id: "D03",
    title: "one administrator twice",
    ...v2,
    change: settled({ by: [A, A] }),
    refused: "administrators",
  },
  {
    id: "D04",
    title: "one administrator and the seller",
    ...v2,
    change: settled({ by: [A, SELLER] }),
    refused: "administrators",
  },
  {
    id: "D05",
    title: "one administrator in three places",
    ...v2,
    board: "one",
    change: settled({ by: [A] }),
  },
  {
    id: "D12",
    title: "more are required than there are",
    ...v2,
    board: "tooSmall",
    change: settled({ by: [A] }),
    refused: "administrators",
    right: { board: "three" },
  },
  { id: "D10", title: "all administrators", ...v2, change: settled({ by: [C, B, A] }) },
  { id: "D21", title: "no required signer", ...v2, change: having({ requiredSigners: [] }) },
  {
    id: "D22",
    title: "the buyer gets one coin less than was signed",
    ...v2,
    change: holds("buyer", plus(-1n)),
    refused: "settlementPaid",
  },
  {
    id: "D23",
    title: "the seller's part is untagged",
    ...v2,
    change: untagged("seller"),
    refused: "settlementPaid",
  },
  {
    id: "D24",
    title: "other values than were signed",
    ...v2,
    change: settled((escrow) => ({ signed: { toBuyer: plus(1n)(sharesOf(escrow).toBuyer) } })),
    refused: "administrators",
  },
  {
    id: "D25",
    title: "signed for another output",
    ...v2,
    change: settled(({ txHash, index }) => ({ signed: { own: { txHash, index: index + 1 } } })),
    refused: "administrators",
  },
  {
    id: "D26",
    title: "signed as the hash of the message",
    ...v2,
    change: settled({ hashings: 1 }),
  },
  {
    id: "D27",
    title: "signed as the hash of the hash",
    ...v2,
    change: settled({ hashings: 2 }),
    refused: "administrators",
  },
  {
    id: "D28",
    title: "headers of 257 bytes",
    ...v2,
    change: settled({ headers: headersOf(257) }),
    refused: "signatureHeaders",
  },
  {
    id: "D28a",
    title: "headers of 256 bytes",
    ...v2,
    change: settled({ headers: headersOf(256) }),
  },
  {
    id: "D29",
    title: "headers of the algorithm alone",
    ...v2,
    change: settled({ headers: BARE_HEADERS }),
  },
  {
    id: "D29a",
    title: "headers of 24 bytes",
    ...v2,
    change: settled({ headers: headersWith(new Uint8Array(12)) }),
  },
  {
    id: "D30",
    title: "four signatures for three places",
    ...v2,
    change: settled({ by: [A, B, C, A] }),
    refused: "signatureCount",
  },
  {
    id: "D31",
    title: "a surplus goes to who submits",
    ...v2,
    change: both(
      settled((escrow) => ({ toBuyer: plus(-3_000_000n)(sharesOf(escrow).toBuyer) })),
      holds("buyer", plus(-3_000_000n)),
    ),
  },
  {
    id: "D32",
    title: "everything to the buyer",
    ...v2,
    change: both(
      settled((escrow) => ({ toBuyer: all(escrow), toSeller: [] })),
      toBuyerAlone,
    ),
  },
  {
    id: "D33",
    title: "everything to the buyer, and 0 coins to the seller",
    ...v2,
    change: both(
      settled((escrow) => ({ toBuyer: all(escrow), toSeller: [{ unit: "", amount: 0n }] })),
      toBuyerAlone,
    ),
    refused: "settledValues",
  },
  {
    id: "D33a",
    title: "tokens before the native coin",
    ...v2,
    orders: [{ tokens: 100n }],
    change: both(
      settled((escrow) => ({
        toBuyer: all(escrow),
        toSeller: [],
        arrange: ({ entries }) => ({ entries: entries.toReversed() }),
      })),
      toBuyerAlone,
    ),
  },
  {
    id: "D33c",
    title: "the native coin twice",
    ...v2,
    change: both(
      settled((escrow) => ({ toBuyer: all(escrow), toSeller: [] })),
      toBuyerAlone,
      redeemer(({ index, fields: [, ...others] }, { funds }) => {
        const { entries } = valueData(funds);
        return { index, fields: [{ entries: [...entries, ...entries] }, ...others] };
      }),
    ),
    refused: "settledValues",
  },
  {
    id: "D33b",
    title: "a policy without tokens",
    ...v2,
    change: redeemer(({ index, fields }) => ({
      index,
      fields: fields.with(1, {
        entries: [[Buffer.from(TOKENS[0].slice(0, 56), "hex"), { entries: [] }]],
      }),
    })),
    refused: "settledValues",
  },
  {
    id: "D40",
    title: "a key of three bytes before two administrators",
    ...v2,
    change: settled({ present: (good) => [signedWith({ key: new Uint8Array(3) })(good), ...good] }),
  },
  {
    id: "D41",
    title: "a signature of 63 bytes behind the good one of the same administrator",
    ...v2,
    change: settled({ present: (good) => [...good, signedWith({ signature: SHORT })(good)] }),
  },
  {
    id: "D42",
    title: "a signature of 63 bytes before the good one of the same administrator",
    ...v2,
    change: settled({ present: (good) => [signedWith({ signature: SHORT })(good), ...good] }),
    refused: { ledger: "PlutusFailure" },
  },
  {
    id: "D43",
    title: "headers of 257 bytes behind a signature that is enough",
    ...v2,
    board: "one",
    change: settled({
      by: [A],
      present: (good) => [...good, signedWith({ headers: headersOf(257) })(good)],
    }),
  },
  {
    id: "D44",
    title: "headers of 257 bytes before a signature that is enough",
    ...v2,
    board: "one",
    change: settled({
      by: [A],
      present: (good) => [signedWith({ headers: headersOf(257) })(good), ...good],
    }),
    refused: "signatureHeaders",
  },
  {
    id: "D45",
    title: "headers of 257 bytes where a third administrator is looked for",
    ...v2,
    change: settled({
      present: (good) => [...good, signedWith({ headers: headersOf(257) })(good)],
    }),
    refused: "signatureHeaders",
  },
  {
    id: "D34",
    title: "no signatures",
    ...v2,
    change: settled({ by: [] }),
    refused: "administrators",
  },
  {
    id: "D35",
    title: "an administrator signs the transaction alone",
    ...v2,
    change: both(settled({ by: [] }), signedBy(ADMIN)),
    refused: "administrators",
  },
  { id: "D36", title: "tokens to the seller", ...v2, orders: [{ tokens: 100n }] },
  {
    id: "D37",
    title: "to return addresses",
    ...v2,
    orders: [{ returns: true }],
  },
  {
    id: "D38",
    title: "to the seller's own address instead of its return address",
    ...v2,
    orders: [{ returns: true }],
    change: output("seller", (each) => ({ ...each, address: SELLER.address })),
    refused: "settlementPaid",
  },
  {
    id: "D39",
    title: "a redeemer without fields, as on Web3ChainV1",
    ...v2,
    change: redeemer(({ index }) => ({ index, fields: [] })),
    refused: "redeemer",
  },
];

export const DISPUTE_ROWS: Row[] = [...COMMON_ROWS, ...V1_ROWS, ...V2_ROWS];
