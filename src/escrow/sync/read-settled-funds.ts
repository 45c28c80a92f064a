import { parseAddress } from "../../chain/address.ts";
import { decodeOwnReference } from "../../chain/contracts/redeemers.ts";
import type { Funds, OnChainState } from "../../chain/network.ts";
import { formatOutputReference } from "../../chain/transaction/transaction-plan.ts";
import {
  type EscrowRecord,
  findLock,
  fundsOf,
  hasSharedPayee,
  type Party,
  payeeOf,
  type SettledFunds,
  type StoredFunds,
  toStoredFunds,
} from "../model/escrow-record.ts";
import { parseSettlementSplit } from "../model/split.ts";
import type { ContractTransaction, EscrowSource, SpentFunds } from "./escrow-source.ts";
import { extractSpentOutputs } from "./missed-steps.ts";

/** A step that may end an escrow. */
interface EndingStep {
  onChainState: OnChainState;
  /** The output that held the funds, `hash#index`. */
  outpoint: string;
}

/**
 * Who received which funds of an ended escrow; null: the escrow continues.
 *
 * The party that withdraws, or takes the refund, signs the transaction. It receives everything that
 * the contract gives to nobody else, at any address.
 */
export async function readSettledFunds(
  record: EscrowRecord,
  source: Pick<EscrowSource, "feeReceiverAddress">,
  read: ContractTransaction,
  { onChainState, outpoint }: EndingStep,
): Promise<SettledFunds | null> {
  switch (onChainState) {
    case "DisputedWithdrawn":
      return {
        seller: await readDisputePayout(record, "seller", read, outpoint),
        buyer: await readDisputePayout(record, "buyer", read, outpoint),
        protocolFee: [],
      };
    case "RefundWithdrawn":
      return { seller: [], buyer: await loadEscrowFunds(record, read, outpoint), protocolFee: [] };
    case "Withdrawn": {
      const escrowFunds = await loadEscrowFunds(record, read, outpoint);
      const buyer = findReturnedCollateral(record, read, outpoint);
      const protocolFee = findPaidFee(record, source, read, outpoint);
      return { seller: subtractFunds(escrowFunds, [...buyer, ...protocolFee]), buyer, protocolFee };
    }
    default:
      return null;
  }
}

/** All that the output held. After a rollback only the chain knows. */
async function loadEscrowFunds(
  { output }: EscrowRecord,
  read: ContractTransaction,
  outpoint: string,
): Promise<StoredFunds[]> {
  if (output?.utxo === outpoint) return output.value;
  const input = read.tx.inputs.find((one) => formatOutputReference(one) === outpoint);
  return ((input && (await read.spent(input)))?.funds ?? []).map(toStoredFunds);
}

/** What a withdrawal gave back to the buyer: no more than that where the seller is paid there, too. */
function findReturnedCollateral(record: EscrowRecord, read: ContractTransaction, outpoint: string) {
  const lock = findLock(record);
  if (lock === null || lock.collateralReturn === "0") return [];
  if (hasSharedPayee(record)) return [{ unit: "", amount: lock.collateralReturn }];
  const payee = payeeOf(record, "buyer");
  return sumOf(findTaggedFunds(read, outpoint, (address) => address === payee));
}

/**
 * What a withdrawal paid to the contract's operator. Of a payment source that does not say who that
 * is, it is the payout that went to neither party.
 */
function findPaidFee(
  record: EscrowRecord,
  { feeReceiverAddress }: Pick<EscrowSource, "feeReceiverAddress">,
  read: ContractTransaction,
  outpoint: string,
) {
  if (record.sourceType === "Web3ChainV2") return [];
  const { terms } = record;
  const lock = findLock(record);
  const parties = [
    ...[terms.seller, terms.sellerReturnAddress, terms.buyerReturnAddress],
    ...[lock?.buyer, lock?.buyerReturnAddress],
  ];
  const isReceiver = (address: string) =>
    feeReceiverAddress === null ? !parties.includes(address) : address === feeReceiverAddress;
  return sumOf(findTaggedFunds(read, outpoint, isReceiver));
}

/** What is left of funds. A deposit that a wallet added to a payout leaves nothing, not less. */
function subtractFunds(escrowFunds: StoredFunds[], taken: StoredFunds[]): StoredFunds[] {
  return sumOf([...escrowFunds.map(fundsOf), ...taken.map(fundsOf).map(negate)]);
}

const negate = ({ unit, amount }: Funds): Funds => ({ unit, amount: -amount });

/**
 * What the settlement of a dispute paid to a party, per unit.
 *
 * Web3ChainV2 pays each party's part to its return address, or to its own address. These outputs
 * name the escrow's output. Therefore several disputes of one transaction are distinguished, and
 * payments by or to the submitter do not count. If both parties share the address, each has what
 * the administrators signed.
 *
 * Web3ChainV1 settles one dispute per transaction, with any amounts. If outputs name the escrow's
 * output, as ours do, only they count, so that a party's wallet may pay the network fee. Otherwise
 * everything counts that the party's key and the agreed return address received.
 *
 * @param outpoint - the output that held the funds, `hash#index`
 */
async function readDisputePayout(
  record: EscrowRecord,
  party: Party,
  read: ContractTransaction,
  outpoint: string,
): Promise<StoredFunds[]> {
  if (record.sourceType === "Web3ChainV1") {
    const parties = { ...record.terms, ...findLock(record) };
    // A contract of Web3ChainV1 knows no return address, but the parties agreed on one.
    return sumReceivedFunds(
      parties[`${party}Vkey`],
      record.terms[`${party}ReturnAddress`],
      read,
      outpoint,
    );
  }
  if (hasSharedPayee(record)) return readSignedShare(party, read, outpoint);
  const payee = payeeOf(record, party);
  return sumOf(findTaggedFunds(read, outpoint, (address) => address === payee));
}

/** What the redeemer gives a party, which the contract has compared with what administrators signed. */
function readSignedShare(party: Party, read: ContractTransaction, outpoint: string): StoredFunds[] {
  const spent = extractSpentOutputs(read).find((one) => one.outpoint === outpoint);
  const split = spent && parseSettlementSplit(spent.redeemerCbor);
  return sumOf((split?.[party] ?? []).map(fundsOf));
}

/** What a key and an address received from a transaction: what is theirs by name, else outputs less inputs. */
async function sumReceivedFunds(
  vkey: string | null,
  returnAddress: string | null,
  read: ContractTransaction,
  outpoint: string,
): Promise<StoredFunds[]> {
  const isTheirs = (address: string) =>
    address === returnAddress || parseAddress(address)?.payment?.hash === vkey;
  const isTagged = findTaggedFunds(read, outpoint, () => true).length > 0;
  if (isTagged) return sumOf(findTaggedFunds(read, outpoint, isTheirs));
  const spent: SpentFunds[] = [];
  for (const input of read.tx.inputs) {
    const output = await read.spent(input);
    if (output) spent.push(output);
  }
  const fundsOfParty = (outputs: readonly SpentFunds[]) =>
    outputs.filter(({ address }) => isTheirs(address)).flatMap(({ funds }) => funds);
  return sumOf([...fundsOfParty(read.tx.outputs), ...fundsOfParty(spent).map(negate)]);
}

/** What outputs hold that name an escrow's output as what they pay out, `hash#index`. */
function findTaggedFunds(
  { tx }: Pick<ContractTransaction, "tx">,
  outpoint: string,
  isPayee: (address: string) => boolean,
): Funds[] {
  return tx.outputs
    .filter(
      ({ address, datum }) =>
        isPayee(address) && datum !== null && decodeOwnReference(datum) === outpoint,
    )
    .flatMap(({ funds }) => funds);
}

/**
 * The sum of funds by unit, in the order in which units come first. Who has paid more of a unit than
 * received, such as the network's fee, received nothing of it.
 */
function sumOf(funds: readonly Funds[]): StoredFunds[] {
  const totals = new Map<string, bigint>();
  for (const { unit, amount } of funds) totals.set(unit, (totals.get(unit) ?? 0n) + amount);
  return [...totals]
    .filter(([, amount]) => amount > 0n)
    .map(([unit, amount]) => toStoredFunds({ unit, amount }));
}
