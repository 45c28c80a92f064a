import { MIN_COLLATERAL, subtractCollateral } from "../../chain/amounts.ts";
import { verifySellerSignature } from "../../chain/contracts/blockchain-identifier.ts";
import type { EscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import type { Funds } from "../../chain/network.ts";
import { formatOutputReference } from "../../chain/transaction/transaction-plan.ts";
import { log } from "../../log.ts";
import { advanceProgress } from "../model/advance-progress.ts";
import {
  addNote,
  type EscrowLock,
  type EscrowRecord,
  type EscrowTerms,
  formatCooldown,
  fundsOf,
  isWithoutLock,
  mapTimes,
  NO_LOCK_STATE,
  type Side,
  toStoredFunds,
  toWalletReference,
} from "../model/escrow-record.ts";
import { IDLE_PROGRESS, type RecordError } from "../model/intent.ts";
import { toLiveOutput } from "../model/read-escrow.ts";
import { buildRecord } from "../store/build-record.ts";
import type { ChangeSet } from "../store/change-set.ts";
import {
  type ContractTransaction,
  type EscrowOutput,
  type EscrowSource,
  type EscrowSourceWallet,
  roleOf,
} from "./escrow-source.ts";
import { computeFeeShares } from "./fee-shares.ts";
import { findMismatches } from "./find-mismatches.ts";
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
  read: ContractTransaction,
  outputs: EscrowOutput[],
): Promise<void> {
  const deviating = new Map<EscrowRecord, string[]>();
  let shares: Awaited<ReturnType<typeof computeFeeShares>> | null = null;
  for (const lock of outputs) {
    const sides = findOwnSides(changes, source, lock);
    if (sides.length === 0) continue;

    const { identifier, identifierHash } = lock;
    const open = sides.filter(({ side }) => {
      // A repeated identifier never touches the first record; one whose lock was rolled back waits.
      if (changes.isOutsideScope(side, identifierHash)) return false;
      const known = changes.findByIdentifier(side, identifierHash);
      return known === undefined || isWithoutLock(known);
    });
    const buyer = sides.find(({ side }) => side === "purchase");
    if (buyer) await noteSecondLock(changes, source, read, lock, buyer.wallet.vkey);
    if (open.length === 0) continue;

    const requestedTerms = open
      .map(({ side }) => changes.findByIdentifier(side, identifierHash)?.terms)
      .find((terms) => terms?.isRequested);
    const rejection = await explainForgeableLock(
      source,
      read,
      lock,
      requestedTerms?.funds.map(fundsOf),
    );
    if (rejection) {
      changes.ignoredLocks++;
      log("warn", "sync.lock_ignored", { tx: read.tx.hash, index: lock.index, reason: rejection });
      continue;
    }
    shares ??= await computeFeeShares(source.network, read, new Set());
    const fee =
      shares.get(formatOutputReference({ txHash: read.tx.hash, index: lock.index })) ?? 0n;
    for (const { side, wallet } of open) {
      const terms = termsOf(lock, changes.pricing);
      const record =
        changes.findByIdentifier(side, identifierHash) ??
        buildRecord(
          source,
          {
            ...{ side, blockchainIdentifier: identifier, requestedById: wallet.createdById, terms },
            ...{ progress: IDLE_PROGRESS, wallet: toWalletReference(wallet) },
          },
          changes.now,
        );
      const isRequested = record.terms.isRequested === true;
      if (!isRequested) Object.assign(record, { terms, wallet: toWalletReference(wallet) });
      const faults = [
        ...findLockFaults(read, lock),
        ...(isRequested ? findMismatches(record, lock) : []),
      ];
      const isOurs = changes.findTransactionIntent(record, read.at.txHash) !== null;
      if (isRequested && !isOurs && faults.length > 0) {
        deviating.set(record, faults);
        continue;
      }
      record.wallet ??= toWalletReference(wallet);
      lockRecord(changes, record, read, lock, { source, faults, fee });
    }
  }
  // Beside one that fits, others of the same transaction mean nothing.
  for (const [record, faults] of deviating)
    if (isWithoutLock(record)) noteMismatch(changes, record, read, faults);
}

/**
 * Why a third party may have made a lock, or null. The seller must have signed the terms, and the
 * buyer the transaction. Otherwise anyone could fill our tables at the price of a transaction. The
 * payer is not checked, because a transaction may spend and read any number of outputs.
 */
async function explainForgeableLock(
  source: EscrowSource,
  read: ContractTransaction,
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
  const spent = [...(await read.loadSpentDatums()).values()];
  const continued = spent.some((one) => one?.referenceSignature === datum.referenceSignature);
  return continued ? "continues an escrow whose lock was not recorded" : null;
}

/** What is wrong with a genuine lock; each sentence ends up in `errorNote`. */
function findLockFaults({ at }: ContractTransaction, { datum, output }: EscrowOutput): string[] {
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
  { tx, at }: ContractTransaction,
  faults: string[],
): void {
  // A cursor that was moved back reads it again.
  if (changes.findStoredTransaction(record, tx.hash)?.transaction.status === "Confirmed") return;
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
  read: ContractTransaction,
  lock: EscrowOutput,
  { source, faults, fee }: { source: EscrowSource; faults: string[]; fee: bigint },
): void {
  const onChainState = faults.length === 0 ? "FundsLocked" : "FundsOrDatumInvalid";
  const { txHash } = read.at;
  const utxo = `${txHash}#${lock.index}`;
  const after = advanceProgress(record, {
    txHash,
    onChainState,
    resultHash: lock.datum.resultHash,
    utxo,
    transactionIntent: changes.findTransactionIntent(record, txHash),
    ...(faults.length > 0 && { reason: faults.join("; ") }),
  });
  if (after.undo.expiredAt !== null && onChainState === "FundsLocked")
    changes.lateLockedPurchaseIds.push(record.id);
  changes.advance(
    record,
    {
      state: {
        ...NO_LOCK_STATE,
        onChainState,
        resultHash: lock.datum.resultHash,
        buyerCooldown: formatCooldown(lock.datum.buyerCooldownTime),
        sellerCooldown: formatCooldown(lock.datum.sellerCooldownTime),
        buyerFees: String(fee),
        lock: toLock(lock.datum),
        utxo,
      },
      output: toLiveOutput(txHash, lock),
      ...noteTooManyTokens(record, source, lock, txHash, after),
    },
    read.at,
    String(read.tx.fee),
  );
}

function termsOf({ datum, output }: EscrowOutput, pricing: ChangeSet["pricing"]): EscrowTerms {
  const agentIdentifier = datum.agentIdentifier ?? "";
  return {
    ...toLock(datum),
    agentIdentifier,
    pricingType: pricing.get(agentIdentifier) ?? "Fixed",
    inputHash: datum.inputHash,
    ...mapTimes(datum, String),
    seller: datum.seller,
    sellerVkey: datum.sellerVkey,
    funds: subtractCollateral(output.funds, datum.collateralReturn).map(toStoredFunds),
  };
}

function toLock(datum: EscrowDatum): EscrowLock {
  return {
    buyer: datum.buyer,
    buyerVkey: datum.buyerVkey,
    buyerReturnAddress: datum.buyerReturnAddress,
    sellerReturnAddress: datum.sellerReturnAddress,
    collateralReturn: String(datum.collateralReturn),
  };
}

/** A wallet that acts for a side of a lock, and the key that a record made by the lock belongs to. */
type OwnWallet = Pick<EscrowSourceWallet, "id" | "vkey" | "address" | "createdById">;

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
    const wallet = inUse ?? findRemovedWallet(changes, source, { side, vkey, identifierHash });
    return wallet === null ? [] : [{ side, wallet }];
  });
}

function findRemovedWallet(
  changes: ChangeSet,
  { isWalletInScope = () => true }: EscrowSource,
  { side, vkey, identifierHash }: { side: Side; vkey: string; identifierHash: string },
): OwnWallet | null {
  const { terms, wallet, requestedById } = changes.findByIdentifier(side, identifierHash) ?? {};
  if (!terms?.isRequested || !requestedById || wallet?.vkey !== vkey) return null;
  return isWalletInScope({ role: roleOf(side), vkey })
    ? { ...wallet, createdById: requestedById }
    : null;
}

/**
 * Asks a person to recover a second lock of a managed wallet for one purchase. No record follows the second
 * lock. It appears after a restored database forgot the first lock, or after a rollback changed their order.
 *
 * @param payer - payment key hash of the purchase's wallet, hex. Only its signature can spend from the wallet.
 */
async function noteSecondLock(
  changes: ChangeSet,
  source: EscrowSource,
  read: ContractTransaction,
  lock: EscrowOutput,
  payer: string,
): Promise<void> {
  const { identifierHash, index } = lock;
  const record = changes.findByIdentifier("purchase", identifierHash);
  if (!record || isWithoutLock(record) || changes.isOutsideScope("purchase", identifierHash))
    return;
  if (isKnownTransaction(changes, record, read.at.txHash)) return;
  if (!read.tx.signers.includes(payer)) return;
  const { terms, progress } = record;
  const agreed = terms.isRequested ? terms.funds.map(fundsOf) : undefined;
  if (await explainForgeableLock(source, read, lock, agreed)) return;
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
function isKnownTransaction(changes: ChangeSet, record: EscrowRecord, txHash: string): boolean {
  const { state, progress } = record;
  const { status } = changes.findStoredTransaction(record, txHash)?.transaction ?? {};
  if (status === "Confirmed" || state.transaction?.txHash === txHash) return true;
  return progress.error?.note.includes(txHash) ?? false;
}
