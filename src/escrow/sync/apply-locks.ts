import { MIN_COLLATERAL } from "../../chain/amounts.ts";
import { verifySellerSignature } from "../../chain/contracts/blockchain-identifier.ts";
import type { EscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import type { Funds } from "../../chain/network.ts";
import { formatOutputReference } from "../../chain/transaction/transaction-plan.ts";
import { newId } from "../../db/id.ts";
import { log } from "../../log.ts";
import { IDLE, type RecordError } from "../model/intent.ts";
import { progressAfter } from "../model/intent-after.ts";
import { liveOutput } from "../model/read-escrow.ts";
import {
  addNote,
  cooldownText,
  type EscrowRecord,
  fundsOf,
  isUnlocked,
  type Lock,
  type Side,
  storedFunds,
  type Terms,
  UNLOCKED,
  type WalletName,
} from "../model/record.ts";
import type { ChangeSet } from "../store/change-set.ts";
import { findMismatches } from "./deviations.ts";
import {
  type EscrowOutput,
  type EscrowSource,
  type ReadTransaction,
  roleOf,
  type SourceWallet,
} from "./escrow-source.ts";
import { feeShares } from "./fee-shares.ts";
import { noteTooManyTokens } from "./note-too-many-tokens.ts";

/**
 * Creates records for the locks in a transaction: a payment for a managed selling wallet, a purchase for a
 * managed purchasing wallet.
 *
 * @param outputs - the transaction's escrow outputs that continue no known escrow
 */
export async function applyLocks(
  changes: ChangeSet,
  source: EscrowSource,
  read: ReadTransaction,
  outputs: EscrowOutput[],
): Promise<void> {
  const deviating = new Map<EscrowRecord, string[]>();
  let shares: Awaited<ReturnType<typeof feeShares>> | null = null;
  for (const lock of outputs) {
    const sides = findOwnSides(changes, source, lock);
    if (sides.length === 0) continue;

    const { identifier, identifierHash } = lock;
    const open = sides.filter(({ side }) => {
      // A repeated identifier never touches the first record; one whose lock was rolled back waits.
      if (changes.isOutsideScope(side, identifierHash)) return false;
      const known = changes.find(side, identifierHash);
      return known === undefined || isUnlocked(known);
    });
    const buyer = sides.find(({ side }) => side === "purchase");
    if (buyer)
      await noteSecondLock(changes, read, lock, buyer.wallet.vkey, (agreed) =>
        forgeable(source, read, lock, agreed),
      );
    if (open.length === 0) continue;

    const requestedTerms = open
      .map(({ side }) => changes.find(side, identifierHash)?.terms)
      .find((terms) => terms?.isRequested);
    const rejection = await forgeable(source, read, lock, requestedTerms?.funds.map(fundsOf));
    if (rejection) {
      changes.ignoredLocks++;
      log("warn", "sync.lock_ignored", { tx: read.tx.hash, index: lock.index, reason: rejection });
      continue;
    }
    shares ??= await feeShares(source.network, read, new Set());
    const fee =
      shares.get(formatOutputReference({ txHash: read.tx.hash, index: lock.index })) ?? 0n;
    for (const { side, wallet } of open) {
      const terms = termsOf(lock, changes.pricing);
      const record =
        changes.find(side, identifierHash) ??
        newRecord(changes.now, source, side, { identifier, identifierHash, wallet, terms });
      const isRequested = record.terms.isRequested === true;
      if (!isRequested) Object.assign(record, { terms, wallet: walletNameOf(wallet) });
      const faults = [
        ...faultsOf(read, lock),
        ...(isRequested ? findMismatches(record, lock) : []),
      ];
      const isOurs = (changes.stored(record, read.at.txHash)?.intent ?? null) !== null;
      if (isRequested && !isOurs && faults.length > 0) {
        deviating.set(record, faults);
        continue;
      }
      record.wallet ??= walletNameOf(wallet);
      lockRecord(changes, record, read, lock, { source, faults, fee });
    }
  }
  // Beside one that fits, others of the same transaction mean nothing.
  for (const [record, faults] of deviating)
    if (isUnlocked(record)) noteMismatch(changes, record, read, faults);
}

/**
 * Why a third party may have made a lock, or null. The seller must have signed the terms, and the
 * buyer the transaction. Otherwise anyone could fill our tables at the price of a transaction. The
 * payer is not checked, because a transaction may spend and read any number of outputs.
 */
async function forgeable(
  source: EscrowSource,
  read: ReadTransaction,
  { datum, output }: EscrowOutput,
  requestedFunds: Funds[] | undefined,
): Promise<string | null> {
  const signature = verifySellerSignature(datum, {
    contractAddress: source.contractAddress,
    lockedFunds: output.funds,
    requestedFunds,
  });
  if (!signature.ok) return signature.reason;

  // Whose output is spent has to sign.
  if (!read.tx.signers.includes(datum.buyerVkey)) return "not signed by the buyer";

  // The next step of an escrow that was not recorded looks like a lock; the spent datum shows that.
  const spent = [...(await read.spentDatums()).values()];
  const continued = spent.some((one) => one?.referenceSignature === datum.referenceSignature);
  return continued ? "continues an escrow whose lock was not recorded" : null;
}

/** What is wrong with a genuine lock; each sentence ends up in `errorNote`. */
function faultsOf({ at }: ReadTransaction, { datum, output }: EscrowOutput): string[] {
  const { collateralReturn } = datum;
  const nativeAmount = output.funds.find(({ unit }) => unit === "")?.amount ?? 0n;
  const faults: [boolean, string][] = [
    [datum.state !== "FundsLocked", `the datum's state is ${datum.state}, not FundsLocked`],
    [datum.resultHash !== "", "the datum already carries a result"],
    [
      datum.sellerCooldownTime !== 0n || datum.buyerCooldownTime !== 0n,
      "a cooldown is set before anyone acted",
    ],
    [
      collateralReturn !== 0n && collateralReturn < MIN_COLLATERAL,
      `the collateral is below ${MIN_COLLATERAL}`,
    ],
    [nativeAmount < collateralReturn, "less is locked than the collateral"],
    [BigInt(at.blockTime) * 1000n > datum.payByTime, "locked after payByTime"],
    [output.hasReferenceScript, "the output carries a reference script"],
  ];
  return faults.filter(([wrong]) => wrong).map(([, text]) => text);
}

/** A lock that is not what was asked for uses nothing up: another may still come. */
function noteMismatch(
  changes: ChangeSet,
  record: EscrowRecord,
  { tx, at }: ReadTransaction,
  faults: string[],
): void {
  // A cursor that was moved back reads it again.
  if (changes.stored(record, tx.hash)?.transaction.status === "Confirmed") return;
  const { error } = record.progress;
  const noted = {
    isManual: error?.isManual ?? false,
    type: "Unknown" as const,
    note: addNote(
      error?.note ?? null,
      `Transaction ${tx.hash} locks other terms: ${faults.join("; ")}`,
    ),
    txHash: tx.hash,
  };
  changes.noteMismatch(record, error?.note.includes(tx.hash) ? error : noted, at, String(tx.fee));
}

function lockRecord(
  changes: ChangeSet,
  record: EscrowRecord,
  read: ReadTransaction,
  lock: EscrowOutput,
  { source, faults, fee }: { source: EscrowSource; faults: string[]; fee: bigint },
): void {
  const onChainState = faults.length === 0 ? "FundsLocked" : "FundsOrDatumInvalid";
  const { txHash } = read.at;
  const utxo = `${txHash}#${lock.index}`;
  const after = progressAfter(record, {
    txHash,
    onChainState,
    resultHash: lock.datum.resultHash,
    utxo,
    madeFor: changes.stored(record, txHash)?.intent ?? null,
    ...(faults.length > 0 && { reason: faults.join("; ") }),
  });
  if (after.undo.expiredAt !== null && onChainState === "FundsLocked")
    changes.lockedAfterEnd.push(record.id);
  changes.advance(
    record,
    {
      state: {
        ...UNLOCKED,
        onChainState,
        resultHash: lock.datum.resultHash,
        buyerCooldown: cooldownText(lock.datum.buyerCooldownTime),
        sellerCooldown: cooldownText(lock.datum.sellerCooldownTime),
        buyerFees: String(fee),
        lock: lockedBy(lock.datum),
        utxo,
      },
      output: liveOutput(txHash, lock),
      ...noteTooManyTokens(record, source, lock, txHash, after),
    },
    read.at,
    String(read.tx.fee),
  );
}

function newRecord(
  now: number,
  source: EscrowSource,
  side: Side,
  known: { identifier: string; identifierHash: string; wallet: OwnWallet; terms: Terms },
): EscrowRecord {
  return {
    id: newId(now),
    side,
    network: source.network,
    sourceId: source.id,
    sourceType: source.type,
    contractAddress: source.contractAddress,
    policyId: source.policyId,
    blockchainIdentifier: known.identifier,
    identifierHash: known.identifierHash,
    requestedById: known.wallet.createdById,
    terms: known.terms,
    state: UNLOCKED,
    output: null,
    lastDeadlineWarning: null,
    progress: IDLE,
    wallet: walletNameOf(known.wallet),
    createdAt: now,
    updatedAt: now,
    lastCheckedAt: null,
    chainChangedAt: now,
    actionChangedAt: now,
    changedAt: now,
    sequence: 0,
    revision: -1,
  };
}

function termsOf({ datum, output }: EscrowOutput, pricing: ChangeSet["pricing"]): Terms {
  const agentIdentifier = datum.agentIdentifier ?? "";
  return {
    ...lockedBy(datum),
    agentIdentifier,
    pricingType: pricing.get(agentIdentifier) ?? "Fixed",
    inputHash: datum.inputHash,
    payByTime: String(datum.payByTime),
    submitResultTime: String(datum.submitResultTime),
    unlockTime: String(datum.unlockTime),
    externalDisputeUnlockTime: String(datum.externalDisputeUnlockTime),
    seller: datum.seller,
    sellerVkey: datum.sellerVkey,
    funds: withoutCollateral(datum, output.funds).map(storedFunds),
  };
}

function lockedBy(datum: EscrowDatum): Lock {
  return {
    buyer: datum.buyer,
    buyerVkey: datum.buyerVkey,
    buyerReturnAddress: datum.buyerReturnAddress,
    sellerReturnAddress: datum.sellerReturnAddress,
    collateralReturn: String(datum.collateralReturn),
  };
}

function walletNameOf({ id, vkey, address }: OwnWallet): WalletName {
  return { id, vkey, address };
}

/** What was locked less the collateral, which goes back to the buyer in the end. */
function withoutCollateral(datum: EscrowDatum, funds: Funds[]): Funds[] {
  return funds
    .map(({ unit, amount }) => ({
      unit,
      amount: unit === "" ? amount - datum.collateralReturn : amount,
    }))
    .filter(({ amount }) => amount > 0n);
}

/** A wallet that acts for a side of a lock, and the key that a record made by the lock belongs to. */
type OwnWallet = Pick<SourceWallet, "id" | "vkey" | "address" | "createdById">;

/**
 * Finds the sides of a lock whose party is a managed wallet, or the wallet of a requested record. A removed
 * wallet may have been paid, or may have sent its lock, before its removal.
 */
function findOwnSides(
  changes: ChangeSet,
  source: EscrowSource,
  { datum, identifierHash }: EscrowOutput,
): { side: Side; wallet: OwnWallet }[] {
  return (["payment", "purchase"] as const).flatMap((side) => {
    const role = roleOf(side);
    const vkey = side === "payment" ? datum.sellerVkey : datum.buyerVkey;
    const inUse = source.wallets.find((wallet) => wallet.role === role && wallet.vkey === vkey);
    const wallet = inUse ?? removedWallet(changes, source, { side, vkey, identifierHash });
    return wallet === null ? [] : [{ side, wallet }];
  });
}

function removedWallet(
  changes: ChangeSet,
  { isReadFor = () => true }: EscrowSource,
  { side, vkey, identifierHash }: { side: Side; vkey: string; identifierHash: string },
): OwnWallet | null {
  const { terms, wallet, requestedById } = changes.find(side, identifierHash) ?? {};
  if (!terms?.isRequested || !requestedById || wallet?.vkey !== vkey) return null;
  return isReadFor({ role: roleOf(side), vkey }) ? { ...wallet, createdById: requestedById } : null;
}

/**
 * Asks a person to recover a second lock of a managed wallet for one purchase. No record follows the second
 * lock. It appears after a restored database forgot the first lock, or after a rollback changed their order.
 *
 * @param payer - payment key hash of the purchase's wallet, hex. Only its signature can spend from the wallet.
 * @param rejection - why anybody may have made the lock, given the agreed funds
 */
async function noteSecondLock(
  changes: ChangeSet,
  read: ReadTransaction,
  { identifierHash, index }: EscrowOutput,
  payer: string,
  rejection: (agreed: Funds[] | undefined) => Promise<string | null>,
): Promise<void> {
  const record = changes.find("purchase", identifierHash);
  if (!record || isUnlocked(record) || changes.isOutsideScope("purchase", identifierHash)) return;
  if (isKnown(changes, record, read.at.txHash)) return;
  if (!read.tx.signers.includes(payer)) return;
  const { terms, progress } = record;
  if (await rejection(terms.isRequested ? terms.funds.map(fundsOf) : undefined)) return;
  const note = `The wallet has locked the funds once more in ${read.at.txHash}#${index}. No record follows that lock. Refund it by hand, then clear the error`;
  const error: RecordError = {
    isManual: true,
    type: "Unknown",
    note: addNote(progress.error?.note ?? null, note),
    txHash: null,
    isOfOtherFunds: true,
  };
  changes.setProgress(record, { ...progress, error });
}

/** Whether the record has that transaction, or tells of it: a cursor that was moved back reads it again. */
function isKnown(changes: ChangeSet, record: EscrowRecord, txHash: string): boolean {
  const { state, progress } = record;
  const { status } = changes.stored(record, txHash)?.transaction ?? {};
  if (status === "Confirmed" || state.transaction?.txHash === txHash) return true;
  return progress.error?.note.includes(txHash) ?? false;
}
