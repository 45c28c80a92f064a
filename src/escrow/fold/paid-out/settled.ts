import type { OnChainState } from "../../../chain/network.ts";
import { outputName } from "../../../chain/transaction/plan.ts";
import { payeeOf, sharesPayee } from "../../actions/payees.ts";
import { type EscrowRecord, lockOf, type Settled, type StoredFunds } from "../../record.ts";
import { storedFunds } from "../escrow-outputs.ts";
import type { EscrowSource, ReadTransaction } from "../source.ts";
import { disputePayout } from "./dispute.ts";
import { sumOf, taggedOutputs } from "./outputs.ts";

/** A step that may end an escrow. */
interface Ending {
  onChainState: OnChainState;
  /** The output that held the funds, `hash#index`. */
  outpoint: string;
}

/**
 * Who received what of an escrow that a step has ended; null: it goes on.
 *
 * Who takes a withdrawal or a refund signs for it and has all that the contract does not give to
 * somebody else, wherever it went: to a return address, to an output, or into the change of a wallet.
 */
export async function settledBy(
  record: EscrowRecord,
  source: Pick<EscrowSource, "feeReceiverAddress">,
  read: ReadTransaction,
  { onChainState, outpoint }: Ending,
): Promise<Settled | null> {
  switch (onChainState) {
    case "DisputedWithdrawn":
      return {
        seller: await disputePayout(record, "seller", read, outpoint),
        buyer: await disputePayout(record, "buyer", read, outpoint),
        protocolFee: [],
      };
    case "RefundWithdrawn":
      return { seller: [], buyer: await heldBefore(record, read, outpoint), protocolFee: [] };
    case "Withdrawn": {
      const held = await heldBefore(record, read, outpoint);
      const buyer = returnedCollateral(record, read, outpoint);
      const protocolFee = paidFee(record, source, read, outpoint);
      return { seller: lessThan(held, [...buyer, ...protocolFee]), buyer, protocolFee };
    }
    default:
      return null;
  }
}

/** All that the output held. After a rollback only the chain knows. */
async function heldBefore(
  { output }: EscrowRecord,
  read: ReadTransaction,
  outpoint: string,
): Promise<StoredFunds[]> {
  if (output?.utxo === outpoint) return output.value;
  const input = read.tx.inputs.find((one) => outputName(one) === outpoint);
  return ((input && (await read.spent(input)))?.funds ?? []).map(storedFunds);
}

/** What a withdrawal gave back to the buyer: no more than that where the seller is paid there, too. */
function returnedCollateral(record: EscrowRecord, read: ReadTransaction, outpoint: string) {
  const lock = lockOf(record);
  if (lock === null || lock.collateralReturn === "0") return [];
  if (sharesPayee(record)) return [{ unit: "", amount: lock.collateralReturn }];
  const payee = payeeOf(record, "buyer");
  return sumOf(taggedOutputs(read, outpoint, (address) => address === payee));
}

/**
 * What a withdrawal paid to the contract's operator. Of a payment source that does not say who that
 * is, it is the payout that went to neither party.
 */
function paidFee(
  record: EscrowRecord,
  { feeReceiverAddress }: Pick<EscrowSource, "feeReceiverAddress">,
  read: ReadTransaction,
  outpoint: string,
) {
  if (record.sourceType === "Web3ChainV2") return [];
  const { terms } = record;
  const lock = lockOf(record);
  const parties = [
    ...[terms.seller, terms.sellerReturnAddress, terms.buyerReturnAddress],
    ...[lock?.buyer, lock?.buyerReturnAddress],
  ];
  const isReceiver = (address: string) =>
    feeReceiverAddress === null ? !parties.includes(address) : address === feeReceiverAddress;
  return sumOf(taggedOutputs(read, outpoint, isReceiver));
}

/** What is left of funds. A deposit that a wallet added to a payout leaves nothing, not less. */
function lessThan(held: StoredFunds[], taken: StoredFunds[]): StoredFunds[] {
  const left = new Map(held.map(({ unit, amount }) => [unit, BigInt(amount)]));
  for (const { unit, amount } of taken) left.set(unit, (left.get(unit) ?? 0n) - BigInt(amount));
  return [...left]
    .filter(([, amount]) => amount > 0n)
    .map(([unit, amount]) => storedFunds({ unit, amount }));
}
