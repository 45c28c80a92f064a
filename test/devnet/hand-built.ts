/** Transactions put together byte by byte, so that tests control what the ledger is asked. */
import { ed25519 } from "@noble/curves/ed25519.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Chain, Utxo } from "../../devnet/ledger/chain.ts";
import COST_MODELS from "../../devnet/ledger/cost-models.json" with { type: "json" };
import { type OutputReference, readTransaction } from "../../devnet/ledger/transaction.ts";
import { addressFromBytes, addressToBytes } from "../../src/chain/address.ts";
import {
  encodeArray,
  encodeBoolean,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeTag,
} from "../../src/chain/cbor.ts";

export interface PlainWallet {
  address: string;
  secretKey: Uint8Array;
  publicKey: Uint8Array;
}

/** A wallet of one key, derived from its name, at an enterprise address. */
export function plainWallet(name: string): PlainWallet {
  const secretKey = blake2b(utf8ToBytes(name), { dkLen: 32 });
  const publicKey = ed25519.getPublicKey(secretKey);
  const keyHash = blake2b(publicKey, { dkLen: 28 });
  return { address: addressFromBytes(Uint8Array.of(0x60, ...keyHash)), secretKey, publicKey };
}

/** A Plutus V3 script, the policy of its hash, and the address that it guards. */
interface PlainScript {
  bytes: Uint8Array;
  policy: string;
  address: string;
}

function plainScript(hex: string): PlainScript {
  const bytes = hexToBytes(hex);
  const hash = blake2b(Uint8Array.of(3, ...bytes), { dkLen: 28 });
  const address = addressFromBytes(Uint8Array.of(0x70, ...hash));
  return { bytes, policy: bytesToHex(hash), address };
}

/** `(program 1.1.0 (error))`: spending from its address fails in phase 2. */
const FAILING = plainScript("4401010061");
export const FAILING_POLICY = FAILING.policy;
export const FAILING_ADDRESS = FAILING.address;
/** `(program 1.1.0 (lam _ (con unit ())))`: anyone may spend from its address. */
const OPEN = plainScript("450101002499");
export const OPEN_ADDRESS = OPEN.address;

/** An output that a script guards. */
export type Guarded = OutputReference & { lovelace: bigint };

export interface Payment {
  from: PlainWallet;
  /** One output for each. */
  to: PlainOutput[];
  /** Outputs of the payer to spend; its first one when omitted. */
  inputs?: Utxo[];
  /** An output at `FAILING_ADDRESS` to spend as well: the transaction then fails in phase 2. */
  failing?: Guarded;
  /** An output at `OPEN_ADDRESS` to spend as well. */
  open?: Guarded;
  /** Names (hex) of tokens to mint, one of each, under the script's policy; the payer gets them. */
  mints?: string[];
  /** What each script may use. */
  units?: { memory: bigint; steps: bigint };
  /** Outputs of the payer that a failing script costs; the inputs when omitted. */
  collateral?: Utxo[];
  /** Taken of them when a script fails; the rest comes back. */
  totalCollateral?: bigint;
  isValid?: boolean;
  /** Slots. */
  validFrom?: number;
  validTo?: number;
  fee?: bigint;
  /** Makes the transaction so many bytes longer, and a few more when it is more than 255. */
  padding?: number;
}

/** What a payment makes. */
interface PlainOutput {
  address: string;
  lovelace: bigint;
}

const COLLATERAL = 5_000_000n;
const UNITS = { memory: 10_000n, steps: 10_000_000n };

/** A signed payment; what is left goes back to the payer in one output, the last. */
export function payment(chain: Chain, plan: Payment): Uint8Array {
  const { from, to, failing, open, mints, fee = 300_000n } = plan;
  const inputs = plan.inputs ?? chain.utxosAt(from.address).slice(0, 1);
  const guarded = failing ?? open;
  const script = open || (mints && !failing) ? OPEN : FAILING;
  const held = sumOf(inputs) + (guarded?.lovelace ?? 0n);
  const change = held - fee - to.reduce((sum, { lovelace }) => sum + lovelace, 0n);
  const all = [...inputs, ...(guarded ? [guarded] : [])].sort(byReference);
  const tokens = mints && tokensOf(script, mints);
  const coin = encodeInt(change);
  const changeOutput = encodeFields([
    [0, encodeBytes(addressToBytes(from.address))],
    [1, tokens ? encodeArray([coin, tokens]) : coin],
    [2, plan.padding !== undefined && datumOf(plan.padding)],
  ]);
  const isScripted = guarded !== undefined || mints !== undefined;
  const redeemers = isScripted && encodeRedeemers(plan, guarded && all.indexOf(guarded));
  const collateral = plan.collateral ?? inputs;
  const totalCollateral = plan.totalCollateral ?? COLLATERAL;
  const returned = sumOf(collateral) - totalCollateral;

  const fields: [number, Uint8Array | undefined | false][] = [
    [0, encodeArray(all.map(encodeReference))],
    [1, encodeArray([...to.map(encodeOutput), changeOutput])],
    [2, encodeInt(fee)],
    [3, plan.validTo !== undefined && encodeInt(BigInt(plan.validTo))],
    [8, plan.validFrom !== undefined && encodeInt(BigInt(plan.validFrom))],
    [9, tokens],
    [11, redeemers && encodeBytes(hash256(join(redeemers, languageViews())))],
    [13, isScripted && encodeArray(collateral.map(encodeReference))],
    [16, isScripted && returned > 0n && encodeOutput({ ...from, lovelace: returned })],
    [17, isScripted && encodeInt(totalCollateral)],
  ];
  const body = encodeFields(fields);
  const signature = ed25519.sign(hash256(body), from.secretKey);
  const witnesses = encodeFields([
    [0, encodeArray([encodeArray([encodeBytes(from.publicKey), encodeBytes(signature)])])],
    [5, redeemers],
    [7, isScripted && encodeArray([encodeBytes(script.bytes)])],
  ]);
  return encodeArray([body, witnesses, encodeBoolean(plan.isValid ?? true), NULL]);
}

/** What a payment leaves its payer, to spend before any node has seen it. */
export function changeOf(cbor: Uint8Array): Utxo {
  const { hash, produced } = readTransaction(cbor);
  const change = produced.at(-1);
  if (!change) throw new Error("a payment has change");
  const { index, output } = change;
  const { address, amount, dataHash, inlineDatum } = output;
  return { txHash: hash, index, address, amount, dataHash, inlineDatum, cbor: output.cbor };
}

/** Pays `lovelace` from one wallet to another and submits it. */
export function pay(chain: Chain, from: PlainWallet, to: string, lovelace = 2_000_000n): string {
  return chain.submit(payment(chain, { from, to: [{ address: to, lovelace }] }));
}

const NULL = Uint8Array.of(0xf6);

function sumOf(utxos: readonly Utxo[]): bigint {
  const coins = utxos.map(({ amount }) => amount.find(({ unit }) => unit === "lovelace"));
  return coins.reduce((sum, coin) => sum + (coin?.quantity ?? 0n), 0n);
}

function byReference(a: OutputReference, b: OutputReference): number {
  return a.txHash.localeCompare(b.txHash) || a.index - b.index;
}

function encodeReference({ txHash, index }: OutputReference): Uint8Array {
  return encodeArray([encodeBytes(hexToBytes(txHash)), encodeInt(BigInt(index))]);
}

function encodeOutput({ address, lovelace }: PlainOutput): Uint8Array {
  const isGuarded = address === FAILING.address || address === OPEN.address;
  return encodeFields([
    [0, encodeBytes(addressToBytes(address))],
    [1, encodeInt(lovelace)],
    [2, isGuarded && datumOf(0)],
  ]);
}

/** An inline datum: constructor 0 without fields, or a list of so many zeros, a byte each. */
function datumOf(zeros: number): Uint8Array {
  const list = Uint8Array.of(0x9f, ...new Uint8Array(zeros), 0xff);
  const datum = zeros === 0 ? hexToBytes("d87980") : list;
  return encodeArray([encodeInt(1n), encodeTag(24, encodeBytes(datum))]);
}

/** One of each name under a script's policy, in the order that the ledger wants. */
function tokensOf({ policy }: PlainScript, names: readonly string[]): Uint8Array {
  const sorted = names.toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1));
  const quantities = encodeMap(
    sorted.map((name) => [encodeBytes(hexToBytes(name)), encodeInt(1n)] as const),
  );
  return encodeMap([[encodeBytes(hexToBytes(policy)), quantities]]);
}

/** Constructor 0 without fields for the spent input at `index`, and for the one policy. */
function encodeRedeemers({ mints, units = UNITS }: Payment, index: number | undefined): Uint8Array {
  const value = encodeArray([
    hexToBytes("d87980"),
    encodeArray([encodeInt(units.memory), encodeInt(units.steps)]),
  ]);
  const pointer = (tag: bigint, at: number) => encodeArray([encodeInt(tag), encodeInt(BigInt(at))]);
  return encodeMap([
    ...(index === undefined ? [] : [[pointer(0n, index), value] as const]),
    ...(mints ? [[pointer(1n, 0), value] as const] : []),
  ]);
}

/** The cost models that the script data hash covers; here that of Plutus V3 alone. */
function languageViews(): Uint8Array {
  const costs = COST_MODELS[2] ?? [];
  return encodeMap([[encodeInt(2n), encodeArray(costs.map((cost) => encodeInt(BigInt(cost))))]]);
}

function encodeFields(fields: [number, Uint8Array | undefined | false][]): Uint8Array {
  return encodeMap(
    fields.flatMap(([key, value]) => (value ? [[encodeInt(BigInt(key)), value] as const] : [])),
  );
}

function join(...parts: Uint8Array[]): Uint8Array {
  return hexToBytes(parts.map(bytesToHex).join(""));
}

function hash256(bytes: Uint8Array): Uint8Array {
  return blake2b(bytes, { dkLen: 32 });
}
