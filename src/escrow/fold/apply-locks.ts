import { MIN_COLLATERAL } from "../../chain/amounts.ts";
import type { EscrowDatum } from "../../chain/escrow-datum.ts";
import { verifySellerSignature } from "../../chain/identifier.ts";
import type { Funds } from "../../chain/network.ts";
import { outputName } from "../../chain/transaction/plan.ts";
import { newId } from "../../db/id.ts";
import { log } from "../../log.ts";
import {
  addNote,
  cooldownText,
  type EscrowRecord,
  isUnlocked,
  type Lock,
  type Side,
  type Terms,
  UNLOCKED,
  type WalletName,
} from "../record.ts";
import { NOTHING_WANTED } from "../wanted.ts";
import type { ChangeSet } from "./changes.ts";
import { fundsOf, liveOutput, storedFunds } from "./escrow-outputs.ts";
import { feeShares } from "./fee-shares.ts";
import { deviations } from "./locks/agreement.ts";
import { type OurWallet, ourSides } from "./locks/our-sides.ts";
import { tellSecondLock } from "./locks/second-lock.ts";
import type { EscrowOutput, EscrowSource, ReadTransaction } from "./source.ts";
import { notingTokens } from "./too-many-tokens.ts";
import { wantedAfter } from "./wanted-after.ts";

/**
 * Creates records for the locks in a transaction: a payment where the seller's wallet is ours, a
 * purchase where the buyer's is.
 *
 * @param outputs - the transaction's escrow outputs, those that continue a known escrow left out
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
    const sides = ourSides(changes, source, lock);
    if (sides.length === 0) continue;

    const { identifier, identifierHash } = lock;
    const open = sides.filter(({ side }) => {
      // A repeated identifier never touches the first record; one whose lock was rolled back waits.
      if (changes.isTaken(side, identifierHash)) return false;
      const known = changes.find(side, identifierHash);
      return known === undefined || isUnlocked(known);
    });
    const buyer = sides.find(({ side }) => side === "purchase");
    if (buyer)
      await tellSecondLock(changes, read, lock, buyer.wallet.vkey, (agreed) =>
        forgeable(source, read, lock, agreed),
      );
    if (open.length === 0) continue;

    const asked = open
      .map(({ side }) => changes.find(side, identifierHash)?.terms)
      .find((terms) => terms?.isRequested);
    const rejection = await forgeable(source, read, lock, asked?.funds.map(fundsOf));
    if (rejection) {
      changes.ignoredLocks++;
      log("warn", "sync.lock_ignored", { tx: read.tx.hash, index: lock.index, reason: rejection });
      continue;
    }
    shares ??= await feeShares(source.network, read, new Set());
    const fee = shares.get(outputName({ txHash: read.tx.hash, index: lock.index })) ?? 0n;
    for (const { side, wallet } of open) {
      const terms = termsOf(lock, changes.pricing);
      const record =
        changes.find(side, identifierHash) ??
        newRecord(changes.now, source, side, { identifier, identifierHash, wallet, terms });
      const isRequested = record.terms.isRequested === true;
      if (!isRequested) Object.assign(record, { terms, wallet: nameOf(wallet) });
      const faults = [...faultsOf(read, lock), ...(isRequested ? deviations(record, lock) : [])];
      const isOurs = (changes.stored(record, read.at.txHash)?.want ?? null) !== null;
      if (isRequested && !isOurs && faults.length > 0) {
        deviating.set(record, faults);
        continue;
      }
      record.wallet ??= nameOf(wallet);
      lockRecord(changes, record, read, lock, { source, faults, fee });
    }
  }
  // Beside one that fits, others of the same transaction mean nothing.
  for (const [record, faults] of deviating)
    if (isUnlocked(record)) passOver(changes, record, read, faults);
}

/**
 * Why a lock may have been made by a third party, or null. Without the signatures of the seller under its
 * terms and of the buyer under the transaction, anyone could fill our tables at the price of a transaction.
 * Who pays is not asked for: the list of what a transaction spends and reads may have any size.
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
function passOver(
  changes: ChangeSet,
  record: EscrowRecord,
  { tx, at }: ReadTransaction,
  faults: string[],
): void {
  // A cursor that was moved back reads it again.
  if (changes.stored(record, tx.hash)?.transaction.status === "Confirmed") return;
  const { error } = record.wanted;
  const noted = {
    isManual: error?.isManual ?? false,
    type: "Unknown" as const,
    note: addNote(
      error?.note ?? null,
      `Transaction ${tx.hash} locks something else: ${faults.join("; ")}`,
    ),
    txHash: tx.hash,
  };
  changes.passOver(record, error?.note.includes(tx.hash) ? error : noted, at, String(tx.fee));
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
  const after = wantedAfter(record, {
    txHash,
    onChainState,
    resultHash: lock.datum.resultHash,
    utxo,
    madeFor: changes.stored(record, txHash)?.want ?? null,
    ...(faults.length > 0 && { reason: faults.join("; ") }),
  });
  if (after.taken.expiredAt !== null && onChainState === "FundsLocked")
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
      ...notingTokens(record, source, lock, txHash, after),
    },
    read.at,
    String(read.tx.fee),
  );
}

function newRecord(
  now: number,
  source: EscrowSource,
  side: Side,
  known: { identifier: string; identifierHash: string; wallet: OurWallet; terms: Terms },
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
    warnedOf: null,
    wanted: NOTHING_WANTED,
    wallet: nameOf(known.wallet),
    createdAt: now,
    updatedAt: now,
    lastCheckedAt: null,
    chainChangedAt: now,
    actionChangedAt: now,
    changedAt: now,
    sequence: 0,
    rev: -1,
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
    funds: lockedFunds(datum, output.funds).map(storedFunds),
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

function nameOf({ id, vkey, address }: OurWallet): WalletName {
  return { id, vkey, address };
}

/** What was locked less the collateral, which goes back to the buyer in the end. */
function lockedFunds(datum: EscrowDatum, funds: Funds[]): Funds[] {
  return funds
    .map(({ unit, amount }) => ({
      unit,
      amount: unit === "" ? amount - datum.collateralReturn : amount,
    }))
    .filter(({ amount }) => amount > 0n);
}
