/** Transactions put together byte by byte, so that tests control what the ledger is asked. */
import { ed25519 } from "@noble/curves/ed25519.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Chain, Utxo } from "../../devnet/chain.ts";
import COST_MODELS from "../../devnet/cost-models.json" with { type: "json" };
import type { OutputReference } from "../../devnet/transaction.ts";
import { addressFromBytes, addressToBytes } from "../../src/chain/address.ts";
import {
  encodeArray,
  encodeBoolean,
  encodeBytes,
  encodeInt,
  encodeMap,
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

/** `(program 1.1.0 (error))`, Plutus V3: spending from its address fails in phase 2. */
const FAILING_SCRIPT = hexToBytes("4401010061");
const failingHash = blake2b(Uint8Array.of(3, ...FAILING_SCRIPT), { dkLen: 28 });
export const FAILING_POLICY = bytesToHex(failingHash);
export const FAILING_ADDRESS = addressFromBytes(Uint8Array.of(0x70, ...failingHash));

export interface Payment {
  from: PlainWallet;
  /** One output for each. */
  to: { address: string; lovelace: bigint }[];
  /** Outputs of the payer to spend; its first one when omitted. */
  inputs?: Utxo[];
  /** An output at `FAILING_ADDRESS` to spend as well: the transaction then fails in phase 2. */
  failing?: OutputReference & { lovelace: bigint };
  /** Mints a nameless token under `FAILING_POLICY` too, and sends it to the payer. */
  mints?: boolean;
  isValid?: boolean;
  /** Slots. */
  validFrom?: number;
  validTo?: number;
  fee?: bigint;
}

const COLLATERAL = 5_000_000n;
const TOKEN_LOVELACE = 2_000_000n;

/** A signed payment; what is left goes back to the payer in one output, the last. */
export function payment(chain: Chain, plan: Payment): Uint8Array {
  const { from, to, failing, fee = 300_000n } = plan;
  const inputs = plan.inputs ?? chain.utxosAt(from.address).slice(0, 1);
  const held = inputs.reduce((sum, utxo) => sum + lovelaceOf(utxo), failing?.lovelace ?? 0n);
  const withToken = plan.mints ? TOKEN_LOVELACE : 0n;
  const change = held - fee - withToken - to.reduce((sum, { lovelace }) => sum + lovelace, 0n);
  const outputs = [...to, { address: from.address, lovelace: change }];
  const all = [...inputs, ...(failing ? [failing] : [])].sort(byReference);
  const token = encodeMap([
    [encodeBytes(failingHash), encodeMap([[encodeBytes(new Uint8Array()), encodeInt(1n)]])],
  ]);
  const tokenOutput = encodeFields([
    [0, encodeBytes(addressToBytes(from.address))],
    [1, encodeArray([encodeInt(TOKEN_LOVELACE), token])],
  ]);
  const redeemers = failing && encodeRedeemers(all.indexOf(failing), plan.mints ?? false);

  const fields: [number, Uint8Array | undefined | false][] = [
    [0, encodeArray(all.map(encodeReference))],
    [1, encodeArray([...outputs.map(encodeOutput), ...(plan.mints ? [tokenOutput] : [])])],
    [2, encodeInt(fee)],
    [3, plan.validTo !== undefined && encodeInt(BigInt(plan.validTo))],
    [8, plan.validFrom !== undefined && encodeInt(BigInt(plan.validFrom))],
    [9, plan.mints && token],
    [11, redeemers && encodeBytes(hash256(join(redeemers, languageViews())))],
    [13, failing && encodeArray(inputs.map(encodeReference))],
    [16, failing && encodeOutput({ ...from, lovelace: held - failing.lovelace - COLLATERAL })],
    [17, failing && encodeInt(COLLATERAL)],
  ];
  const body = encodeFields(fields);
  const signature = ed25519.sign(hash256(body), from.secretKey);
  const witnesses = encodeFields([
    [0, encodeArray([encodeArray([encodeBytes(from.publicKey), encodeBytes(signature)])])],
    [5, redeemers],
    [7, failing && encodeArray([encodeBytes(FAILING_SCRIPT)])],
  ]);
  return encodeArray([body, witnesses, encodeBoolean(plan.isValid ?? true), NULL]);
}

/** Pays `lovelace` from one wallet to another and submits it. */
export function pay(chain: Chain, from: PlainWallet, to: string, lovelace = 2_000_000n): string {
  return chain.submit(payment(chain, { from, to: [{ address: to, lovelace }] }));
}

const NULL = Uint8Array.of(0xf6);

function lovelaceOf({ amount }: Utxo): bigint {
  return amount.find(({ unit }) => unit === "lovelace")?.quantity ?? 0n;
}

function byReference(a: OutputReference, b: OutputReference): number {
  return a.txHash.localeCompare(b.txHash) || a.index - b.index;
}

function encodeReference({ txHash, index }: OutputReference): Uint8Array {
  return encodeArray([encodeBytes(hexToBytes(txHash)), encodeInt(BigInt(index))]);
}

function encodeOutput({ address, lovelace }: { address: string; lovelace: bigint }): Uint8Array {
  return encodeFields([
    [0, encodeBytes(addressToBytes(address))],
    [1, encodeInt(lovelace)],
    [2, address === FAILING_ADDRESS && hexToBytes("8201d81843d87980")],
  ]);
}

/** Constructor 0 without fields for the spent input at `index`, and for the one policy. */
function encodeRedeemers(index: number, mints: boolean): Uint8Array {
  const units = encodeArray([encodeInt(10_000n), encodeInt(10_000_000n)]);
  const value = encodeArray([hexToBytes("d87980"), units]);
  const spend = encodeArray([encodeInt(0n), encodeInt(BigInt(index))]);
  const mint = encodeArray([encodeInt(1n), encodeInt(0n)]);
  return encodeMap([[spend, value], ...(mints ? [[mint, value] as const] : [])]);
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
