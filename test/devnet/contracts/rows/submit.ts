/** Submitting a result, and the rules for every action that continues an escrow. */
import { scriptOf } from "../../../../devnet/contracts/scripts.ts";
import { formatAddress } from "../../../../src/chain/address.ts";
import type { DatumState, EscrowDatum } from "../../../../src/chain/contracts/escrow-datum.ts";
import { hexToBytes } from "../../../../src/chain/hex.ts";
import type { Change, Row } from "../cases.ts";
import {
  add,
  freshLock,
  having,
  holds,
  next,
  nextFields,
  otherStake,
  output,
  plus,
  redeemer,
  signedBy,
  without,
} from "../changes.ts";
import { cooldownAfter, datumData, type Plan } from "../drafts.ts";
import {
  BUYER,
  COOLDOWN,
  DISPUTE,
  SELLER,
  STRANGER,
  SUBMIT_BY,
  timeAt,
  UNLOCK,
} from "../escrows.ts";
import { TOKENS } from "../stage.ts";

const submit = { last: "submitResult" } as const;
const again = { before: ["submitResult"], last: "submitResult" } satisfies Partial<Row>;
const upTo = (to: number): Plan => ({ from: to - 300, to });
const TOKEN_ORDER = [{ tokens: 100n }];

/** A field that no step may change, and another value for it. */
const kept = (field: keyof EscrowDatum, change: (datum: EscrowDatum) => Partial<EscrowDatum>) => ({
  id: `F-${field}`,
  title: `the new datum has another ${field}`,
  ...submit,
  change: next(change),
});
const otherHex = (hex: string) => `${hex.slice(0, -2)}${hex.endsWith("00") ? "01" : "00"}`;
const hexFields = [
  "referenceKey",
  "sellerNonce",
  "buyerNonce",
  "inputHash",
  "agentIdentifier",
] as const;
const numberFields = [
  "collateralReturn",
  "payByTime",
  "submitResultTime",
  "unlockTime",
  "externalDisputeUnlockTime",
] as const;
const newState = (state: DatumState): Change => next(() => ({ state }));

/** A script that accepts everything, and the address of a contract that is the seller. */
const ALWAYS = scriptOf(hexToBytes("450101002499"));
const SCRIPT_ADDRESS = formatAddress({
  network: "Preprod",
  payment: { kind: "script", hash: SELLER.vkey },
  stake: null,
});

export const SUBMIT_ROWS: Row[] = [
  { id: "S01", title: "a seller submits", ...submit },
  { id: "S02", title: "the buyer signs", ...submit, change: signedBy(BUYER), refused: "signer" },
  {
    id: "S03",
    title: "the seller signs, and is no required signer",
    ...submit,
    change: having({ requiredSigners: [] }),
    refused: "signer",
  },
  {
    id: "S04",
    title: "a stranger pays, the seller signs too",
    ...submit,
    change: signedBy(STRANGER, SELLER),
  },
  {
    id: "S05",
    title: "the validity has no end",
    ...submit,
    change: having({ to: null }),
    refused: "validTo",
  },
  {
    id: "S06",
    title: "the validity has no start, though the cooldown is 0",
    ...submit,
    change: having({ from: null }),
    refused: "notBefore",
  },
  {
    id: "S07",
    title: "ends at the submit-result time",
    ...submit,
    plan: upTo(SUBMIT_BY),
    refused: "notAfter",
    right: { plan: upTo(SUBMIT_BY - 1) },
  },
  {
    id: "S08",
    title: "ends one slot before the submit-result time",
    ...submit,
    plan: upTo(SUBMIT_BY - 1),
  },
  {
    id: "S09",
    title: "a first result after the submit-result time",
    ...submit,
    plan: upTo(SUBMIT_BY + 600),
    refused: "notAfter",
    right: { before: ["submitResult"] },
  },
  {
    id: "S10",
    title: "a second result after the submit-result time",
    ...again,
    plan: upTo(SUBMIT_BY + 600),
  },
  { id: "S11", title: "a second result after the unlock time", ...again, plan: upTo(UNLOCK + 600) },
  {
    id: "S12",
    title: "a second result that ends at the external dispute time",
    ...again,
    plan: upTo(DISPUTE),
    refused: "notAfter",
    right: { plan: upTo(DISPUTE - 1) },
  },
  {
    id: "S13",
    title: "an empty result",
    ...submit,
    change: next(() => ({ resultHash: "" })),
    refused: "nextResult",
  },
  {
    id: "S14",
    title: "a result of 3 bytes",
    ...submit,
    change: next(() => ({ resultHash: "010203" })),
  },
  {
    id: "S15",
    title: "a result of 65 bytes",
    ...submit,
    change: next(() => ({ resultHash: "ab".repeat(65) })),
  },
  {
    id: "S16",
    title: "a cooldown 1 ms short",
    ...submit,
    change: next(({ sellerCooldownTime: time }) => ({ sellerCooldownTime: time - 1n })),
    refused: "ownCooldown",
  },
  { id: "S17", title: "a cooldown of exactly the period from the validity's end", ...submit },
  {
    id: "S18",
    title: "a cooldown far in the future",
    ...submit,
    change: next(({ sellerCooldownTime: time }) => ({ sellerCooldownTime: time + 10n ** 15n })),
  },
  {
    id: "S18a",
    title: "a cooldown beyond 64 bits",
    ...submit,
    change: next(() => ({ sellerCooldownTime: 2n ** 70n })),
  },
  {
    id: "S19",
    title: "a cooldown from the validity's start",
    ...submit,
    change: (draft, setup) =>
      next(() => ({ sellerCooldownTime: BigInt(timeAt(draft.from ?? 0) + COOLDOWN) }))(
        draft,
        setup,
      ),
    refused: "ownCooldown",
  },
  {
    id: "S20",
    title: "the buyer's cooldown is 1",
    ...submit,
    change: next(() => ({ buyerCooldownTime: 1n })),
    refused: "otherCooldown",
  },
  {
    id: "S21",
    title: "starts 1 s before the seller's cooldown is over",
    ...again,
    plan: { from: cooldownAfter(1) - 1 },
    refused: "notBefore",
    right: { plan: { from: cooldownAfter(1) } },
  },
  {
    id: "S22",
    title: "starts when the seller's cooldown is over",
    ...again,
    plan: { from: cooldownAfter(1) },
  },
  {
    id: "S23",
    title: "starts inside of the buyer's cooldown",
    before: ["requestRefund"],
    last: "submitResult",
    plan: { from: cooldownAfter(1) - 300 },
  },
  { ...kept("buyer", () => ({ buyer: STRANGER.address })), refused: "fieldsKept" },
  { ...kept("seller", () => ({ seller: STRANGER.address })), refused: "fieldsKept" },
  ...hexFields.map(
    (field): Row => ({
      ...kept(field, (datum) => ({ [field]: otherHex(datum[field] ?? "") })),
      refused: "fieldsKept",
    }),
  ),
  ...numberFields.map(
    (field): Row => ({
      ...kept(field, (datum) => ({ [field]: datum[field] + 1n })),
      refused: "fieldsKept",
    }),
  ),
  {
    ...kept("referenceSignature", (datum) => ({
      referenceSignature: otherHex(datum.referenceSignature),
    })),
    on: 1,
    refused: "fieldsKept",
  },
  {
    ...kept("referenceSignature", (datum) => ({
      referenceSignature: otherHex(datum.referenceSignature),
    })),
    on: 2,
    refused: "continuingOutput",
  },
  {
    ...kept("buyerReturnAddress", () => ({ buyerReturnAddress: STRANGER.address })),
    on: 2,
    refused: "fieldsKept",
  },
  {
    ...kept("sellerReturnAddress", () => ({ sellerReturnAddress: STRANGER.address })),
    on: 2,
    refused: "fieldsKept",
  },
  {
    id: "S30",
    title: "into Disputed",
    ...submit,
    change: newState("Disputed"),
    refused: "nextState",
  },
  {
    id: "S31",
    title: "into FundsLocked",
    ...submit,
    change: newState("FundsLocked"),
    refused: "nextState",
  },
  {
    id: "S32",
    title: "out of RefundRequested into Disputed",
    before: ["requestRefund"],
    ...submit,
  },
  {
    id: "S33",
    title: "out of RefundRequested into ResultSubmitted",
    before: ["requestRefund"],
    ...submit,
    change: newState("ResultSubmitted"),
    refused: "nextState",
  },
  {
    id: "S40",
    title: "one coin less",
    ...submit,
    change: holds("escrow", plus(-1n)),
    refused: "valueKept",
  },
  { id: "S41", title: "one coin more", ...submit, change: holds("escrow", plus(1n)) },
  {
    id: "S42",
    title: "one token less",
    orders: TOKEN_ORDER,
    ...submit,
    change: holds("escrow", plus(-1n, TOKENS[0])),
    refused: "valueKept",
  },
  {
    id: "S43",
    title: "one token more",
    orders: TOKEN_ORDER,
    ...submit,
    change: holds("escrow", plus(1n, TOKENS[0])),
    refused: "valueKept",
  },
  {
    id: "S44",
    title: "another token as well",
    ...submit,
    change: holds("escrow", (funds) => [...funds, { unit: TOKENS[1], amount: 1n }]),
    refused: "valueKept",
  },
  { id: "S45", title: "tokens are kept", orders: TOKEN_ORDER, ...submit },
  {
    id: "S50",
    title: "the money goes to the seller",
    ...submit,
    change: output("escrow", ({ funds }) => ({ role: "seller", address: SELLER.address, funds })),
    refused: "continuingOutput",
  },
  {
    id: "S50a",
    title: "no output",
    ...submit,
    change: without("escrow"),
    refused: "continuingOutput",
  },
  {
    id: "S51",
    title: "at the contract with a stake part",
    ...submit,
    change: otherStake("escrow"),
    refused: "continuingOutput",
  },
  {
    id: "S52",
    title: "the new datum by its hash",
    on: 1,
    ...submit,
    change: output("escrow", (each) => ({ ...each, byHash: true })),
    refused: "continuingOutput",
  },
  {
    id: "S52",
    title: "the new datum by its hash",
    on: 2,
    ...submit,
    change: output("escrow", (each) => ({ ...each, byHash: true })),
    refused: "readableOutputs",
  },
  {
    id: "S53",
    title: "a reference script at the contract",
    ...submit,
    change: output("escrow", (each) => ({ ...each, referenceScript: ALWAYS })),
    refused: "noReferenceScript",
  },
  ...[
    { id: "S54", title: "a datum of one field less", change: nextFields((f) => f.slice(0, -1)) },
    { id: "S55", title: "a datum of one field more", change: nextFields((f) => [...f, 0n]) },
    {
      id: "S55a",
      title: "a datum with a number for a hash",
      change: nextFields((f) => f.with(-9, 0n)),
    },
  ].flatMap((row): Row[] => [
    { ...row, on: 1, ...submit, refused: "continuingOutput" },
    {
      ...row,
      on: 2,
      ...submit,
      // If a field is missing or of another kind, the program fails before it names a rule.
      refused: row.id === "S55" ? "readableOutputs" : { ledger: "PlutusFailure" },
    },
  ]),
  {
    id: "S56",
    title: "another output stands before",
    ...submit,
    change: (draft) => ({
      ...draft,
      outputs: [
        { role: "other", address: STRANGER.address, funds: [{ unit: "", amount: 2_000_000n }] },
        ...draft.outputs,
      ],
    }),
  },
  {
    id: "S57",
    title: "a second output with the same datum",
    on: 1,
    ...submit,
    change: output("escrow", (each) => [each, each]),
    refused: "alone",
  },
  {
    id: "S57",
    title: "a second output with the same datum",
    on: 2,
    ...submit,
    change: output("escrow", (each) => [each, each]),
    refused: "distinctSignatures",
  },
  { id: "S58", title: "a lock beside it", on: 1, ...submit, change: freshLock, refused: "alone" },
  { id: "S58", title: "a lock beside it", on: 2, ...submit, change: freshLock },
  ...([1, 2] as const).map(
    (on): Row => ({
      id: "S59",
      title: "an output without a datum at the contract beside it",
      on,
      ...submit,
      change: add(({ escrows: [escrow] }) => ({
        role: "other",
        address: escrow?.deployment.address ?? "",
        funds: [{ unit: "", amount: 2_000_000n }],
      })),
      refused: on === 1 ? "alone" : "readableOutputs",
    }),
  ),
  {
    id: "S60",
    title: "with metadata",
    ...submit,
    change: having({ metadata: { 674: { msg: "hello" } } }),
  },
  {
    id: "S61",
    title: "a redeemer with a field too many",
    ...submit,
    change: redeemer(({ index, fields }) => ({ index, fields: [...fields, 0n] })),
    refused: "redeemer",
  },
  {
    id: "S62",
    title: "a redeemer with the constructor 7",
    ...submit,
    change: redeemer(() => ({ index: 7, fields: [] })),
    refused: "redeemer",
  },
  {
    id: "S63",
    title: "the escrow was locked with the hash of a datum",
    orders: [{ byHash: true }],
    ...submit,
    refused: { ledger: "MissingRequiredDatums" },
    right: { orders: [{}] },
  },
  {
    id: "S63a",
    title: "the escrow was locked with the hash of a datum, which the transaction has",
    orders: [{ byHash: true }],
    ...submit,
    change: (draft) => ({
      ...draft,
      datums: draft.spends.map(({ escrow: { datum } }) => datumData(datum)),
    }),
  },
  {
    id: "S64",
    title: "the seller is a script",
    orders: [{ datum: { seller: SCRIPT_ADDRESS } }],
    ...submit,
    refused: "signer",
    right: { orders: [{}] },
  },
];
