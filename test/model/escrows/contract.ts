/**
 * What an escrow contract refuses, by the table that its programs are tested against
 * (test/devnet/contracts/properties.test.ts), and by what its outputs have to be.
 */
import { readCbor } from "../../../src/chain/cbor.ts";
import {
  type DatumState,
  decodeEscrowDatum,
  type EscrowDatum,
} from "../../../src/chain/contracts/escrow-datum.ts";
import { encodeOwnReference } from "../../../src/chain/contracts/redeemers.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import { timeOfSlot } from "../../../src/chain/slots.ts";
import { formatOutputReference } from "../../../src/chain/transaction/transaction-plan.ts";
import {
  addAmount,
  addValue,
  sumToValue,
  type Value,
} from "../../../src/chain/transaction/value.ts";
import type { SourceRow } from "../../../src/sources/source-row.ts";
import type { OPERATOR_ACTIONS, OperatorAction } from "../../devnet/contracts/drafts.ts";
import { brokenByField, brokenRule, CONDITIONS } from "../../devnet/contracts/oracle.ts";
import type { Sent } from "../ledger.ts";
import type { Output } from "../rules.ts";
import { isAgreed } from "./settlement.ts";

/** By the number of the redeemer. */
const ACT_OF: typeof OPERATOR_ACTIONS = [
  "withdraw",
  "requestRefund",
  "redeemer2",
  "withdrawRefund",
  "withdrawDisputed",
  "submitResult",
  "authorizeRefund",
];
const REQUIRED_SIGNERS = 14n;

/** Reads an output of the contract; null: it is no escrow. */
export function escrowOf(source: SourceRow, { address, datum }: Output): EscrowDatum | null {
  if (address !== source.contractAddress || !datum) return null;
  const { type: version, network, contractAddress } = source;
  const decoded = decodeEscrowDatum(datum, { version, network, contractAddress });
  return decoded.ok ? decoded.datum : null;
}

/** Positions of the inputs that the contract does not let a transaction spend. */
export function refusedInputs(
  source: SourceRow,
  tx: Sent,
  unspent: ReadonlyMap<string, Output>,
): number[] {
  const spent = tx.spendRedeemers.flatMap((redeemer) => {
    const { inputIndex } = redeemer;
    const input = tx.inputs[inputIndex];
    const output = input && unspent.get(formatOutputReference(input));
    const act = ACT_OF[redeemer.constructor ?? -1];
    return output?.address === source.contractAddress ? [{ inputIndex, act, output }] : [];
  });
  if (source.type === "Web3ChainV1" && spent.length > 1)
    return spent.map(({ inputIndex }) => inputIndex);
  return spent
    .filter(({ inputIndex, act, output }) => !isTaken(source, tx, inputIndex, act, output))
    .map(({ inputIndex }) => inputIndex);
}

function isTaken(
  source: SourceRow,
  tx: Sent,
  inputIndex: number,
  act: OperatorAction | undefined,
  output: Output,
): boolean {
  const datum = escrowOf(source, output);
  if (datum === null || act === undefined || tx.validTo === null) return false;
  const to = timeOfSlot("Preprod", tx.validTo);
  const signers = requiredSigners(tx.cbor);
  const signer = (["seller", "buyer"] as const).find((party) =>
    signers.includes(datum[`${party}Vkey`]),
  );
  const from = tx.validFrom === null ? null : timeOfSlot("Preprod", tx.validFrom);
  if (brokenRule(datum, act, { signer: signer ?? "stranger", from, to }) !== null) return false;
  const coin = output.value.get("") ?? 0n;
  const needsCollateral = act === "submitResult" || act === "withdraw";
  if (source.type === "Web3ChainV2" && needsCollateral && coin < datum.collateralReturn)
    return false;
  const next = stateAfter(datum, act);
  const tag = tagOf(tx, inputIndex);
  if (act === "withdrawDisputed") {
    const own = tx.inputs[inputIndex];
    const redeemer = tx.spendRedeemers.find((one) => one.inputIndex === inputIndex)?.data;
    const pays = (address: string, owed: Value) => isPaidTo(tx, tag, address, owed);
    return (
      own !== undefined &&
      redeemer !== undefined &&
      isAgreed(source, { own, redeemer, signers, pays }, datum)
    );
  }
  if (next === null) return isPaid(source, { tx, tag, act }, datum, output);
  const continuing = tx.outputs.filter((one) => {
    const found = escrowOf(source, { ...one, value: sumToValue(one.funds) });
    return found?.referenceSignature === datum.referenceSignature;
  });
  const [only, ...more] = continuing;
  if (only === undefined || more.length > 0) return false;
  const left = sumToValue(only.funds);
  const keeps = [...output.value].every(([unit, amount]) =>
    unit === "" ? (left.get("") ?? 0n) >= amount : left.get(unit) === amount,
  );
  const isBySeller = CONDITIONS[source.type][act].by === "seller";
  const cooldown = BigInt(to + source.cooldownTime);
  const lawful: EscrowDatum = {
    ...datum,
    state: next,
    sellerCooldownTime: isBySeller ? cooldown : 0n,
    buyerCooldownTime: isBySeller ? 0n : cooldown,
    resultHash: act === "authorizeRefund" ? "" : datum.resultHash,
  };
  const found = escrowOf(source, { ...only, value: left });
  const fields = Object.keys(lawful) as (keyof EscrowDatum)[];
  return (
    keeps &&
    left.size === output.value.size &&
    found !== null &&
    (act !== "submitResult" || found.resultHash !== "") &&
    fields.every((field) => brokenByField(act, lawful, field, found[field]) === null)
  );
}

/** The state that a lawful act leads to; null: it ends the escrow. */
function stateAfter(
  { version, state, resultHash }: EscrowDatum,
  act: OperatorAction,
): DatumState | null {
  const hasResult = resultHash !== "";
  switch (act) {
    case "requestRefund":
      return hasResult ? "Disputed" : "RefundRequested";
    case "redeemer2":
      if (version === "Web3ChainV2") return "WithdrawAuthorized";
      return hasResult ? "ResultSubmitted" : "FundsLocked";
    case "submitResult":
      return state === "FundsLocked" || state === "ResultSubmitted"
        ? "ResultSubmitted"
        : "Disputed";
    case "authorizeRefund":
      return version === "Web3ChainV1" ? "RefundRequested" : "RefundAuthorized";
    default:
      return null;
  }
}

/** Whether whoever is owed something at the end of an escrow gets it. */
function isPaid(
  { type, feeRatePermille, feeReceiverAddress }: SourceRow,
  { tx, tag, act }: { tx: Sent; tag: string; act: OperatorAction },
  datum: EscrowDatum,
  { value }: Output,
): boolean {
  const paid = (address: string | null, owed: Value) =>
    address !== null && isPaidTo(tx, tag, address, owed);
  const { sellerReturnAddress, buyerReturnAddress, collateralReturn } = datum;
  if (act === "withdrawRefund")
    return buyerReturnAddress === null || paid(buyerReturnAddress, value);
  if (act !== "withdraw") return false;
  const collateral: Value = new Map([["", collateralReturn]]);
  const rest: Value = new Map(value);
  addAmount(rest, "", -collateralReturn);
  const fee: Value = new Map(
    [...value].map(([unit, amount]) => [unit, (amount * BigInt(feeRatePermille)) / 1000n]),
  );
  return (
    (type === "Web3ChainV2" || paid(feeReceiverAddress, fee)) &&
    (collateralReturn <= 0n || paid(buyerReturnAddress ?? datum.buyer, collateral)) &&
    (sellerReturnAddress === null || paid(sellerReturnAddress, rest))
  );
}

/** What an address gets by outputs that are tagged with an escrow. */
export function paidTo({ outputs }: Sent, tag: string, address: string): Value {
  const got: Value = new Map();
  for (const one of outputs)
    if (one.address === address && one.datum === tag) addValue(got, sumToValue(one.funds));
  return got;
}

function isPaidTo(tx: Sent, tag: string, address: string, owed: Value): boolean {
  const got = paidTo(tx, tag, address);
  return [...owed].every(([unit, amount]) => (got.get(unit) ?? 0n) >= amount);
}

function tagOf({ inputs }: Sent, inputIndex: number): string {
  const input = inputs[inputIndex];
  return input ? bytesToHex(encodeOwnReference(input.txHash, input.index)) : "";
}

function requiredSigners(cbor: Uint8Array): string[] {
  const transaction = readCbor(cbor);
  const [body] = transaction.kind === "array" ? transaction.items : [];
  const entries = body?.kind === "map" ? body.entries : [];
  const found = entries.find(([key]) => key.kind === "int" && key.value === REQUIRED_SIGNERS)?.[1];
  const list = found?.kind === "tag" ? found.content : found;
  const items = list?.kind === "array" ? list.items : [];
  return items.flatMap((one) => (one.kind === "bytes" ? [bytesToHex(one.value)] : []));
}
