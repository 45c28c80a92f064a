import type { Funds } from "../../../chain/network.ts";
import { addNote, type EscrowRecord, isUnlocked } from "../../record.ts";
import type { RecordError } from "../../wanted.ts";
import type { ChangeSet } from "../changes.ts";
import { fundsOf } from "../escrow-outputs.ts";
import type { EscrowOutput, ReadTransaction } from "../source.ts";

/**
 * Has a person look for the funds of a lock that a wallet of ours made for a purchase which another lock, by
 * the record, made before: no record follows them. A database that was set back forgets the first to land, and
 * a rollback lets another one land before it.
 *
 * @param payer - payment key hash of the purchase's wallet, hex: nothing of it is spent without its signature
 * @param rejection - why the lock may be anybody's, given what was agreed to be paid
 */
export async function tellSecondLock(
  changes: ChangeSet,
  read: ReadTransaction,
  { identifierHash, index }: EscrowOutput,
  payer: string,
  rejection: (agreed: Funds[] | undefined) => Promise<string | null>,
): Promise<void> {
  const record = changes.find("purchase", identifierHash);
  if (!record || isUnlocked(record) || changes.isTaken("purchase", identifierHash)) return;
  if (isKnown(changes, record, read.at.txHash)) return;
  if (!read.tx.signers.includes(payer)) return;
  const { terms, wanted } = record;
  if (await rejection(terms.isRequested ? terms.funds.map(fundsOf) : undefined)) return;
  const note = `The wallet has locked the funds once more, in ${read.at.txHash}#${index}, which no record follows: have them refunded by hand, then go on with the first lock by POST /purchase/error-state-recovery`;
  const error: RecordError = {
    isManual: true,
    type: "Unknown",
    note: addNote(wanted.error?.note ?? null, note),
    txHash: null,
    isOfOtherFunds: true,
  };
  changes.want(record, { ...wanted, error });
}

/** Whether the record has that transaction, or tells of it: a cursor that was moved back reads it again. */
function isKnown(changes: ChangeSet, record: EscrowRecord, txHash: string): boolean {
  const { state, wanted } = record;
  const { status } = changes.stored(record, txHash)?.transaction ?? {};
  if (status === "Confirmed" || state.transaction?.txHash === txHash) return true;
  return wanted.error?.note.includes(txHash) ?? false;
}
