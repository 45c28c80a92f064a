/** Whether records say of escrows that ended what the chain has paid for them, to the unit. */
import type { EscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import { encodeOwnReference } from "../../../src/chain/contracts/redeemers.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import { formatOutputReference } from "../../../src/chain/transaction/transaction-plan.ts";
import {
  addAmount,
  addValue,
  sumToValue,
  type Value,
} from "../../../src/chain/transaction/value.ts";
import {
  type EscrowRecord,
  fundsOf,
  type SettledFunds,
  type StoredFunds,
} from "../../../src/escrow/model/escrow-record.ts";
import type { SourceRow } from "../../../src/sources/source-row.ts";
import type { Sent } from "../ledger.ts";
import type { Output } from "../rules.ts";
import { allRecords, identifierHashOf } from "./checks.ts";
import { escrowOf, paidTo } from "./contract.ts";
import { everyOutput } from "./provider.ts";
import { QUOTES } from "./quotes.ts";
import type { Service } from "./service.ts";
import { FEE_RECEIVER, SOURCES, WALLETS } from "./terms.ts";

/** No output of the model's needs more native coin to exist. */
const MAX_DEPOSIT = 2_500_000n;

/** How an escrow ended on the chain. */
interface Ending {
  tx: Sent;
  held: Value;
  datum: EscrowDatum;
  /** What names it in outputs. */
  tag: string;
}

/** Records of ended escrows that tell something else than what the chain has paid, or whose payee got it not. */
export function paidOtherwise(service: Service): string[] {
  const ours = service.database.all<{ id: string; hash: string }>(
    "SELECT record_id AS id, tx_hash AS hash FROM escrow_transaction WHERE intent IS NOT NULL",
  );
  const outputs = everyOutput(service.ledger.blocks);
  const made = new Map(transactions(service).map((tx) => [tx.hash, tx]));
  return allRecords(service).flatMap((record) => {
    const { settled, transaction, onChainState } = record.state;
    const tx = made.get(transaction?.txHash ?? "");
    const ending = settled && tx && endingOf(service.source, tx, outputs, record);
    if (!ending) return [];
    const isOurs = ours.some(({ id, hash }) => id === record.id && hash === transaction?.txHash);
    const wrong =
      onChainState === "DisputedWithdrawn"
        ? wrongSettlement(settled, ending)
        : wrongPayout(service, record, settled, ending, isOurs);
    if (onChainState === "Withdrawn" && record.side === "payment")
      wrong.push(...lessThanAgreed(record, settled));
    return wrong.map((what) => `${record.side} ${onChainState}: ${what}`);
  });
}

function endingOf(
  source: SourceRow,
  tx: Sent,
  outputs: ReadonlyMap<string, Output>,
  { identifierHash }: EscrowRecord,
): Ending | null {
  for (const input of tx.inputs) {
    const output = outputs.get(formatOutputReference(input));
    const datum = output && escrowOf(source, output);
    if (!datum || identifierHashOf(source, output) !== identifierHash) continue;
    const tag = bytesToHex(encodeOwnReference(input.txHash, input.index));
    return { tx, held: output.value, datum, tag };
  }
  return null;
}

/** All that an escrow held went to its parties and to the contract's operator, and no more than the deposit on top. */
function wrongPayout(
  { type, source }: Service,
  { side, terms, state }: EscrowRecord,
  settled: SettledFunds,
  { tx, held, datum, tag }: Ending,
  isOurs: boolean,
): string[] {
  const taker = state.onChainState === "Withdrawn" ? "seller" : "buyer";
  const owed = { seller: new Map(held), buyer: new Map(held), fee: new Map() as Value };
  if (taker === "seller") {
    owed.buyer = new Map([["", datum.collateralReturn]]);
    if (type === "Web3ChainV1") owed.fee = shareOf(held, BigInt(source.feeRatePermille));
  } else owed.seller.clear();
  const payees = {
    seller: datum.sellerReturnAddress ?? datum.seller,
    buyer: datum.buyerReturnAddress ?? datum.buyer,
  };
  const fee = taker === "seller" ? paidTo(tx, tag, FEE_RECEIVER) : new Map();
  const isOne = payees.seller === payees.buyer;
  const returned = taker === "buyer" ? held : isOne ? owed.buyer : paidTo(tx, tag, payees.buyer);
  const rest: Value = new Map(held);
  if (taker === "seller") for (const one of [fee, returned]) addValue(rest, one, -1n);
  const left: Value = taker === "seller" ? positive(rest) : new Map();
  const agreed = side === (taker === "seller" ? "payment" : "purchase") && isOurs;
  const named = datum[`${taker}ReturnAddress`] ?? (agreed ? terms[`${taker}ReturnAddress`] : null);
  const got = named === null ? null : at(tx, named);
  return [
    ...differs("the fee", settled.protocolFee, fee),
    ...differs("the buyer's part", settled.buyer, returned),
    ...differs("the seller's part", settled.seller, left),
    ...(isMuch(fee, owed.fee) ? ["the fee is not what is owed"] : []),
    ...(taker === "seller" && isMuch(returned, owed.buyer) ? ["the collateral is another"] : []),
    ...(got && isLess(got, taker === "seller" ? left : held) ? [`${named} got less`] : []),
  ];
}

/** Whoever has signed a quote gets its price, less the contract's fee on that, and on a deposit. */
function lessThanAgreed({ terms, sourceType }: EscrowRecord, { seller }: SettledFunds): string[] {
  if (!terms.isRequested) return [];
  const { feeRatePermille } = SOURCES[sourceType];
  const least = sumToValue(terms.funds.map(fundsOf));
  addValue(least, shareOf(least, BigInt(feeRatePermille)), -1n);
  if (sourceType === "Web3ChainV1") addAmount(least, "", -MAX_DEPOSIT);
  const isTooLittle = isLess(sumToValue(seller.map(fundsOf)), least);
  return isTooLittle ? ["the seller has got less than was agreed"] : [];
}

/** Administrators divide all, and each share is at its payee. */
function wrongSettlement(settled: SettledFunds, { tx, held, datum, tag }: Ending): string[] {
  const { seller, buyer, sellerReturnAddress, buyerReturnAddress } = datum;
  const [toSeller, toBuyer] = [sellerReturnAddress ?? seller, buyerReturnAddress ?? buyer];
  if (toSeller === toBuyer) return [];
  const [ofSeller, ofBuyer] = [paidTo(tx, tag, toSeller), paidTo(tx, tag, toBuyer)];
  const all: Value = new Map(ofSeller);
  addValue(all, ofBuyer);
  return [
    ...differs("the seller's part", settled.seller, ofSeller),
    ...differs("the buyer's part", settled.buyer, ofBuyer),
    ...(isMuch(all, held) ? ["not all is divided"] : []),
  ];
}

/** Outputs of the wallets' transactions that nobody is owed: neither change, nor an escrow, nor paid out of one. */
export function paidToNobody(service: Service): string[] {
  const { source, type } = service;
  const outputs = everyOutput(service.ledger.blocks);
  // A database that was set back forgets what was asked for.
  const agreed = QUOTES[type].flatMap(({ terms }) => [
    ...[terms.sellerReturnAddress, terms.buyerReturnAddress],
  ]);
  return transactions(service).flatMap((tx) => {
    const spent = tx.inputs.map((one) => outputs.get(formatOutputReference(one))?.address);
    const payer = WALLETS.find(({ address }) => spent.includes(address));
    if (!payer) return [];
    const tags = tx.inputs.map((one) => bytesToHex(encodeOwnReference(one.txHash, one.index)));
    const isOwed = ({ address, datum }: Sent["outputs"][number]) =>
      address === payer.address ||
      address === source.contractAddress ||
      tags.includes(datum ?? "") ||
      (type === "Web3ChainV1" && agreed.includes(address));
    return tx.outputs.every(isOwed) ? [] : [tx.hash];
  });
}

const transactions = ({ ledger }: Service): Sent[] =>
  ledger.blocks.flatMap((block) => block.transactions);

function at({ outputs }: Sent, address: string): Value {
  return sumToValue(...outputs.filter((one) => one.address === address).map(({ funds }) => funds));
}

function shareOf(held: Value, permille: bigint): Value {
  return positive(new Map([...held].map(([unit, n]) => [unit, (n * permille) / 1000n])));
}

const positive = (value: Value): Value => new Map([...value].filter(([, amount]) => amount > 0n));

function differs(what: string, told: readonly StoredFunds[], paid: Value): string[] {
  const is = text(sumToValue(told.map(fundsOf)));
  const shouldBe = text(positive(paid));
  return is === shouldBe ? [] : [`${what} is ${is}, and should be ${shouldBe}`];
}

const text = (value: Value) => JSON.stringify([...value].map(([unit, n]) => `${n} ${unit}`).sort());

function isLess(paid: Value, owed: Value): boolean {
  return [...owed].some(([unit, amount]) => (paid.get(unit) ?? 0n) < amount);
}

/** Whether less was paid than is owed, or more, but for the deposits of outputs. */
function isMuch(paid: Value, owed: Value): boolean {
  const isMore = [...paid].some(([unit, amount]) => {
    const due = owed.get(unit) ?? 0n;
    return amount > (unit === "" ? due + 2n * MAX_DEPOSIT : due);
  });
  return isMore || isLess(paid, owed);
}
