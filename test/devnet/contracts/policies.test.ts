/** The registry policies: lawful mints, and mints with one fault. */
import { describe, expect, it } from "vitest";
import type { Rule } from "../../../devnet/contracts/rules.ts";
import type { PlannedMint } from "../../../devnet/demo/actors/plan.ts";
import { buildTransaction } from "../../../devnet/demo/actors/transaction.ts";
import { encodeRedeemer } from "../../../src/chain/contracts/redeemers.ts";
import { computeRegistryAssetName } from "../../../src/chain/contracts/registry-token.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { judge, verdictBy } from "./cases.ts";
import { deploymentOf, SELLER, timeAt } from "./escrows.ts";
import { openStage, type Stage } from "./stage.ts";

const UNITS = { memory: 2_000_000n, steps: 1_000_000_000n };
const HELD = { unit: "", amount: 5_000_000n };

/** Quantity by name. */
type Names = Record<string, bigint>;

const START = openStage();
/** The payer's largest output, which every transaction spends, and another one. */
const [SEED, OTHER] = START.utxosAt(SELLER.address);

function nameOf(type: PaymentSourceType, seed = SEED): string {
  if (!seed) throw new Error("no output to derive a name from");
  return computeRegistryAssetName(type, seed);
}

/** Mints and burns in one transaction. The payer gets the minted tokens. */
function mintOn(stage: Stage, type: PaymentSourceType, redeemer: Uint8Array, names: Names): Stage {
  const { policy } = deploymentOf(type);
  const mints = Object.entries(names).map(
    ([assetName, quantity]): PlannedMint => ({
      policyId: policy.hash,
      assetName,
      quantity,
      redeemer,
    }),
  );
  const made = mints.filter(({ quantity }) => quantity > 0n);
  const funds = made.map(({ assetName, quantity }) => ({
    unit: policy.hash + assetName,
    amount: quantity,
  }));
  const cbor = buildTransaction(stage, {
    payer: SELLER,
    outputs: made.length > 0 ? [{ address: SELLER.address, funds: [HELD, ...funds] }] : [],
    mints,
    scripts: [policy],
    units: UNITS,
  });
  return stage.after(cbor, timeAt(0));
}

interface Row {
  title: string;
  /** The existing tokens, minted lawfully. */
  minted?: Names;
  redeemer: Uint8Array;
  names: Names;
  refused?: Rule;
}

const V1_NAME = nameOf("Web3ChainV1");
const V1_ROWS: Row[] = [
  { title: "a mint", redeemer: encodeRedeemer(0), names: { [V1_NAME]: 1n } },
  {
    title: "a burn",
    minted: { [V1_NAME]: 1n },
    redeemer: encodeRedeemer(1),
    names: { [V1_NAME]: -1n },
  },
  {
    title: "the redeemer of no action",
    redeemer: encodeRedeemer(2),
    names: { [V1_NAME]: 1n },
    refused: "mintRedeemer",
  },
  {
    title: "a redeemer with a field",
    redeemer: encodeRedeemer(0, [0n]),
    names: { [V1_NAME]: 1n },
    refused: "mintRedeemer",
  },
  {
    title: "two tokens",
    redeemer: encodeRedeemer(0),
    names: { [V1_NAME]: 1n, "00": 1n },
    refused: "mintAlone",
  },
  {
    title: "two of a token",
    redeemer: encodeRedeemer(0),
    names: { [V1_NAME]: 2n },
    refused: "mintQuantity",
  },
  {
    title: "a mint by the redeemer of a burn",
    redeemer: encodeRedeemer(1),
    names: { [V1_NAME]: 1n },
    refused: "mintQuantity",
  },
  {
    title: "the name of an output that is not spent",
    redeemer: encodeRedeemer(0),
    names: { [nameOf("Web3ChainV1", OTHER)]: 1n },
    refused: "mintName",
  },
];

const V2_NAME = nameOf("Web3ChainV2");
/** The name with other first or last bytes, hex. */
const named = (nonce: string, version: string) => nonce + V2_NAME.slice(2, -6) + version;
const FIRST = named("10", "000000");
const SECOND = named("11", "000000");
const both = { [FIRST]: 1n, [SECOND]: 1n };
const V2_ROWS: Row[] = [
  { title: "a mint of two tokens", redeemer: encodeRedeemer(0), names: both },
  {
    title: "a burn of two tokens",
    minted: both,
    redeemer: encodeRedeemer(2),
    names: { [FIRST]: -1n, [SECOND]: -1n },
  },
  {
    title: "an update of two tokens",
    minted: both,
    redeemer: encodeRedeemer(1),
    names: {
      [FIRST]: -1n,
      [named("10", "000001")]: 1n,
      [SECOND]: -1n,
      [named("11", "000001")]: 1n,
    },
  },
  {
    title: "an update that skips a version",
    minted: both,
    redeemer: encodeRedeemer(1),
    names: { [FIRST]: -1n, [named("10", "000002")]: 1n },
    refused: "mintSuccessor",
  },
  {
    title: "an update that makes another token",
    minted: both,
    redeemer: encodeRedeemer(1),
    names: { [FIRST]: -1n, [named("11", "000001")]: 1n },
    refused: "mintSuccessor",
  },
  {
    title: "an update that takes nothing",
    redeemer: encodeRedeemer(1),
    names: { [named("10", "000001")]: 1n },
    refused: "mintQuantity",
  },
  {
    title: "an update that makes two of a token",
    minted: both,
    redeemer: encodeRedeemer(1),
    names: { [FIRST]: -1n, [SECOND]: -1n, [named("10", "000001")]: 2n },
    refused: "mintQuantity",
  },
  {
    title: "the redeemer of no action",
    redeemer: encodeRedeemer(3),
    names: { [FIRST]: 1n },
    refused: "mintRedeemer",
  },
  {
    title: "a mint by the redeemer of a burn",
    redeemer: encodeRedeemer(2),
    names: { [FIRST]: 1n },
    refused: "mintQuantity",
  },
  ...[
    { title: "a nonce below 16", name: named("0f", "000000") },
    { title: "a first version that is not 0", name: named("10", "000001") },
    { title: "a name of 31 bytes", name: FIRST.slice(0, -2) },
    { title: "the name of an output that is not spent", name: nameOf("Web3ChainV2", OTHER) },
  ].map(
    ({ title, name }): Row => ({
      title,
      redeemer: encodeRedeemer(0),
      names: { [name]: 1n },
      refused: "mintName",
    }),
  ),
];

describe.each([
  { type: "Web3ChainV1" as const, rows: V1_ROWS },
  { type: "Web3ChainV2" as const, rows: V2_ROWS },
])("the registry policy of $type", ({ type, rows }) => {
  const start = ({ minted }: Row) =>
    minted ? mintOn(START, type, encodeRedeemer(0), minted) : START;

  it.each(rows.filter(({ refused }) => !refused))("accepts $title", (row) => {
    expect(judge(() => mintOn(start(row), type, row.redeemer, row.names))).toBe("accepted");
  });

  it.each(rows.filter(({ refused }) => refused))("refuses $title", (row) => {
    expect(judge(() => mintOn(start(row), type, row.redeemer, row.names))).toBe(
      row.refused && verdictBy(row.refused),
    );
  });
});
