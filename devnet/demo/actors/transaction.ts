/**
 * Builds, balances and signs a transaction in a few milliseconds. A test or a benchmark needs
 * thousands of them, and a general builder takes a hundred times as long. The local chain's ledger
 * checks every byte, so a mistake here is a rejected transaction.
 */
import { concatBytes, hexToBytes } from "@noble/hashes/utils.js";
import { addressToBytes } from "../../../src/chain/address.ts";
import {
  encodeArray,
  encodeBoolean,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeTag,
} from "../../../src/chain/cbor.ts";
import { signExtended } from "../../../src/chain/wallet-keys.ts";
import { blake2b256 } from "../../blake2b.ts";
import { executionFee } from "../../blockfrost/parameters.ts";
import { type Language, numberOf, type Script } from "../../contracts/scripts.ts";
import { slotAt } from "../../ledger/blocks.ts";
import COST_MODELS from "../../ledger/cost-models.json" with { type: "json" };
import { UnknownInputs } from "../../ledger/evaluation.ts";
import { encodeMetadata } from "./metadata.ts";
import {
  mintedFunds,
  type PlannedMint,
  type PlannedOutput,
  type TransactionPlan,
  type Units,
} from "./plan.ts";
import { FEE_BOUND, type Input, type Outputs, type Selection, selectInputs } from "./selection.ts";
import {
  addAmount,
  encodeMultiAsset,
  encodeValue,
  sumToValue,
  toFunds,
  type Value,
} from "./value.ts";
import type { Wallet } from "./wallets.ts";

/** With what a transaction is evaluated: it is of the size of what the evaluation finds. */
const UNKNOWN_UNITS: Units = { memory: 1_000_000n, steps: 1_000_000_000n };
const FEE_CONSTANT = 155_381n;
const FEE_PER_BYTE = 44n;
/** Of a script that an output on the chain carries. */
const FEE_PER_READ_BYTE = 15n;
const COLLATERAL = 5_000_000n;

// Numbers of the ledger's CDDL, Conway era.
const BODY = {
  inputs: 0,
  outputs: 1,
  fee: 2,
  validTo: 3,
  auxiliaryDataHash: 7,
  validFrom: 8,
  mint: 9,
  scriptDataHash: 11,
  collateral: 13,
  requiredSigners: 14,
  collateralReturn: 16,
  totalCollateral: 17,
  references: 18,
} as const;
const WITNESS = { vkeys: 0, datums: 4, redeemers: 5 } as const;
/** Of the witness set, which has the scripts of each language. */
const SCRIPTS = { PlutusV1: 3, PlutusV2: 6, PlutusV3: 7 } as const satisfies Record<
  Language,
  number
>;
const OUTPUT = { address: 0, value: 1, datum: 2, scriptReference: 3 } as const;
const REDEEMER = { spend: 0, mint: 1 } as const;
const DATUM_HASH = encodeInt(0n);
const INLINE_DATUM = encodeInt(1n);
const NO_AUXILIARY_DATA = Uint8Array.of(0xf6);

/**
 * The signed transaction's CBOR.
 *
 * @throws when the payer's outputs do not cover the plan; LedgerRejection when a script refuses it.
 */
export function buildTransaction(chain: Outputs, plan: TransactionPlan): Uint8Array {
  const selection = selectInputs(chain, plan);
  const purposes = purposesOf(selection.inputs, plan.mints ?? []);
  const units = purposes.map(() => plan.units ?? UNKNOWN_UNITS);
  if (plan.units || purposes.length === 0) return balance(plan, selection, purposes, units);
  const draft = balance(plan, selection, purposes, units);
  return balance(plan, selection, purposes, evaluatedUnits(chain, purposes, draft) ?? units);
}

/**
 * What each script uses.
 *
 * @returns null when an input is not there (any more), of which the ledger tells whoever submits.
 */
function evaluatedUnits(chain: Outputs, purposes: readonly Purpose[], draft: Uint8Array) {
  if (!chain.evaluate) throw new Error("a plan for a ledger that cannot evaluate has units");
  try {
    const evaluations = chain.evaluate(draft);
    return purposes.map(({ tag, index }): Units => {
      const name = tag === REDEEMER.spend ? "spend" : "mint";
      const found = evaluations.find((each) => each.tag === name && each.index === index);
      if (!found) throw new Error(`${name}:${index} was not evaluated`);
      return { memory: BigInt(found.memory), steps: BigInt(found.steps) };
    });
  } catch (error) {
    if (error instanceof UnknownInputs) return null;
    throw error;
  }
}

function balance(
  plan: TransactionPlan,
  selection: Selection,
  purposes: readonly Purpose[],
  units: readonly Units[],
): Uint8Array {
  const redeemers = encodeRedeemers(purposes, units);
  const auxiliary = plan.metadata ? encodeMetadata(plan.metadata) : null;
  const assemble = (body: Uint8Array, sign: (wallet: Wallet) => Uint8Array) =>
    encodeArray([
      body,
      witnessSet(plan, redeemers, sign),
      encodeBoolean(plan.isValid ?? true),
      auxiliary ?? NO_AUXILIARY_DATA,
    ]);
  // Of the final size: the bound takes as many bytes as any fee, and so do all signatures.
  const draft = assemble(
    transactionBody(plan, selection, FEE_BOUND, redeemers, auxiliary),
    () => new Uint8Array(64),
  );
  const used = (unit: keyof Units) => units.reduce((sum, each) => sum + each[unit], 0n);
  const read = readsOf(plan).reduce((sum, { script }) => sum + script.cbor.length / 2, 0);
  const fee =
    FEE_CONSTANT +
    FEE_PER_BYTE * BigInt(draft.length) +
    FEE_PER_READ_BYTE * BigInt(read) +
    executionFee(used("memory"), used("steps"));
  const body = transactionBody(plan, selection, fee, redeemers, auxiliary);
  const hash = blake2b256(body);
  return assemble(body, ({ keys }) => signExtended(keys, hash));
}

const readsOf = ({ reads = [] }: TransactionPlan) => reads;

const signersOf = ({ payer, coSigners = [] }: TransactionPlan): Wallet[] => [
  ...new Set([payer, ...coSigners]),
];

function transactionBody(
  plan: TransactionPlan,
  { inputs, rest, collateral }: Selection,
  fee: bigint,
  redeemers: Uint8Array | null,
  auxiliary: Uint8Array | null,
): Uint8Array {
  const { payer, outputs = [], mints = [] } = plan;
  const references = [...(plan.references ?? []), ...readsOf(plan).map(({ output }) => output)];
  const scripts = [...(plan.scripts ?? []), ...readsOf(plan).map(({ script }) => script)];
  const { from = null, to = null } = plan.validity ?? {};
  const { requiredSigners = signersOf(plan).map(({ vkey }) => vkey) } = plan;
  const toPayer = (value: Value) => ({ address: payer.address, funds: toFunds(value) });
  const change = new Map(rest);
  addAmount(change, "", -fee);
  const returned = collateral && new Map(collateral.value);
  if (returned) addAmount(returned, "", -COLLATERAL);
  return encodeFields({
    [BODY.inputs]: encodeSet(inputs.map(encodeReference)),
    [BODY.outputs]: encodeArray([...outputs, toPayer(change)].map(encodeOutput)),
    [BODY.fee]: encodeInt(fee),
    [BODY.validTo]: to === null ? null : encodeInt(BigInt(slotAt(to))),
    [BODY.auxiliaryDataHash]: auxiliary && encodeBytes(blake2b256(auxiliary)),
    [BODY.validFrom]: from === null ? null : encodeInt(BigInt(slotAt(from))),
    [BODY.mint]: mints.length > 0 ? encodeMultiAsset(sumToValue(mints.map(mintedFunds))) : null,
    [BODY.scriptDataHash]: redeemers && encodeBytes(scriptDataHash(plan, redeemers, scripts)),
    [BODY.collateral]: collateral && encodeSet([encodeReference(collateral.input)]),
    [BODY.requiredSigners]:
      requiredSigners.length > 0
        ? encodeSet(requiredSigners.map((vkey) => encodeBytes(hexToBytes(vkey))))
        : null,
    [BODY.collateralReturn]: returned && encodeOutput(toPayer(returned)),
    [BODY.totalCollateral]: collateral && encodeInt(COLLATERAL),
    [BODY.references]: references.length > 0 ? encodeSet(references.map(encodeReference)) : null,
  });
}

function witnessSet(
  plan: TransactionPlan,
  redeemers: Uint8Array | null,
  sign: (wallet: Wallet) => Uint8Array,
): Uint8Array {
  const vkeyWitnesses = signersOf(plan).map((wallet) =>
    encodeArray([encodeBytes(wallet.keys.paymentPublicKey), encodeBytes(sign(wallet))]),
  );
  const scriptsOf = (language: Language) => {
    const own = (plan.scripts ?? []).filter((script) => script.language === language);
    return own.length > 0 ? encodeSet(own.map(({ cbor }) => encodeBytes(hexToBytes(cbor)))) : null;
  };
  return encodeFields({
    [WITNESS.vkeys]: encodeSet(vkeyWitnesses),
    [SCRIPTS.PlutusV1]: scriptsOf("PlutusV1"),
    [WITNESS.datums]: datumSet(plan),
    [WITNESS.redeemers]: redeemers,
    [SCRIPTS.PlutusV2]: scriptsOf("PlutusV2"),
    [SCRIPTS.PlutusV3]: scriptsOf("PlutusV3"),
  });
}

/** A script that runs, and for what. */
interface Purpose {
  tag: (typeof REDEEMER)[keyof typeof REDEEMER];
  index: number;
  /** CBOR. */
  redeemer: Uint8Array;
}

function purposesOf(inputs: readonly Input[], mints: readonly PlannedMint[]): Purpose[] {
  const perPolicy = new Map(mints.toReversed().map((mint) => [mint.policyId, mint]));
  const sortedMints = [...perPolicy.values()].sort((a, b) => (a.policyId < b.policyId ? -1 : 1));
  return [
    ...inputs.flatMap(({ redeemer }, index) =>
      redeemer ? [{ tag: REDEEMER.spend, index, redeemer }] : [],
    ),
    ...sortedMints.map(({ redeemer }, index) => ({ tag: REDEEMER.mint, index, redeemer })),
  ];
}

/** The map form of the Conway era: `{[purpose, index]: [data, [memory, steps]]}`. */
function encodeRedeemers(purposes: readonly Purpose[], units: readonly Units[]): Uint8Array | null {
  if (purposes.length === 0) return null;
  return encodeMap(
    purposes.map(({ tag, index, redeemer }, position) => {
      const { memory, steps } = units[position] ?? UNKNOWN_UNITS;
      return [
        encodeArray([encodeInt(BigInt(tag)), encodeInt(BigInt(index))]),
        encodeArray([redeemer, encodeArray([encodeInt(memory), encodeInt(steps)])]),
      ];
    }),
  );
}

/** Hash of redeemers, datums, and the views of the languages that run. */
function scriptDataHash(
  plan: TransactionPlan,
  redeemers: Uint8Array,
  scripts: readonly Script[],
): Uint8Array {
  const languages = new Set(scripts.map(({ language }) => language));
  // Shorter keys come first, and that of V1 is longer.
  const views = (["PlutusV2", "PlutusV3", "PlutusV1"] as const)
    .filter((language) => languages.has(language))
    .map(languageView);
  const datums = datumSet(plan) ?? new Uint8Array();
  return blake2b256(concatBytes(redeemers, datums, encodeMap(views)));
}

const datumSet = ({ datums = [] }: TransactionPlan): Uint8Array | null =>
  datums.length > 0 ? encodeSet([...datums]) : null;

/** Cost models count from V1, whose view is wrapped in byte strings, its list of no stated length. */
function languageView(language: Language): [Uint8Array, Uint8Array] {
  const position = numberOf(language) - 1;
  const key = encodeInt(BigInt(position));
  const costs = (COST_MODELS[position] ?? []).map((cost) => encodeInt(BigInt(cost)));
  if (language !== "PlutusV1") return [key, encodeArray(costs)];
  const list = concatBytes(Uint8Array.of(0x9f), ...costs, Uint8Array.of(0xff));
  return [encodeBytes(key), encodeBytes(list)];
}

export function encodeOutput(output: PlannedOutput): Uint8Array {
  const { address, funds, datum, datumHash, referenceScript } = output;
  const inline = datum && encodeArray([INLINE_DATUM, encodeEmbedded(datum)]);
  const byHash = datumHash && encodeArray([DATUM_HASH, encodeBytes(datumHash)]);
  const script = referenceScript ? encodeScriptReference(referenceScript) : null;
  return encodeFields({
    [OUTPUT.address]: encodeBytes(addressToBytes(address)),
    [OUTPUT.value]: encodeValue(sumToValue(funds)),
    [OUTPUT.datum]: inline ?? byHash ?? null,
    [OUTPUT.scriptReference]: script && encodeEmbedded(script),
  });
}

function encodeScriptReference({ language, cbor }: Script): Uint8Array {
  return encodeArray([encodeInt(BigInt(numberOf(language))), encodeBytes(hexToBytes(cbor))]);
}

/** A map with numbers as keys, in ascending order, without those that are `null`. */
function encodeFields(fields: Record<number, Uint8Array | null>): Uint8Array {
  const present = Object.entries(fields).flatMap(([key, item]) =>
    item ? [[encodeInt(BigInt(key)), item] as const] : [],
  );
  return encodeMap(present);
}

const encodeReference = ({ txHash, index }: Input) =>
  encodeArray([encodeBytes(hexToBytes(txHash)), encodeInt(BigInt(index))]);
/** CBOR inside CBOR. */
const encodeEmbedded = (cbor: Uint8Array) => encodeTag(24, encodeBytes(cbor));
const encodeSet = (items: Uint8Array[]) => encodeTag(258, encodeArray(items));
