import { parseAddress } from "../chain/address.ts";
import { MIN_COLLATERAL, splitFee } from "../chain/amounts.ts";
import { decodeEscrowDatum, type EscrowDatum } from "../chain/escrow-datum.ts";
import { identifierOfDatum, verifySellerSignature } from "../chain/identifier.ts";
import type { Funds } from "../chain/network.ts";
import type { ChainTransaction } from "../chain/transaction.ts";
import { newId } from "../db/id.ts";
import { log } from "../log.ts";
import type { ChangeSet } from "./changes.ts";
import { escrowDatum, hashOf } from "./known.ts";
import {
  cooldownText,
  type EscrowRecord,
  type Side,
  type StoredFunds,
  type Terms,
  unlockedState,
} from "./record.ts";
import type { EscrowSource, ReadTransaction, SourceWallet } from "./source.ts";
import { nextPaymentAction, nextPurchaseAction } from "./transitions.ts";

type TransactionOutput = ChainTransaction["outputs"][number];

/** An output of the contract whose datum reads as an escrow. */
export interface EscrowOutput {
  index: number;
  datum: EscrowDatum;
  output: TransactionOutput;
}

/**
 * The outputs of a transaction at the contract that carry an escrow datum. Anyone can pay to the
 * contract with any datum: what does not read as an escrow is logged and left out.
 */
export function escrowOutputs(source: EscrowSource, { tx }: ReadTransaction): EscrowOutput[] {
  return tx.outputs.flatMap((output, index) => {
    if (output.address !== source.contractAddress) return [];
    const decoded =
      output.datum === null
        ? ({ ok: false, reason: "no inline datum" } as const)
        : decodeEscrowDatum(output.datum, {
            version: source.type,
            network: source.network,
            contractAddress: source.contractAddress,
          });
    if (decoded.ok) return [{ index, datum: decoded.datum, output }];
    log("info", "sync.output_skipped", { tx: tx.hash, index, reason: decoded.reason });
    return [];
  });
}

/**
 * Makes records of the locks in a transaction: a payment where the seller's wallet is ours, a
 * purchase where the buyer's is.
 *
 * @param outputs - the transaction's escrow outputs, those that continue a known escrow left out
 * @param outputCount - all of its escrow outputs, among which its fee is split
 */
export async function applyLocks(
  changes: ChangeSet,
  source: EscrowSource,
  read: ReadTransaction,
  outputs: EscrowOutput[],
  outputCount: number,
): Promise<void> {
  for (const [position, lock] of outputs.entries()) {
    const sides = ourSides(source, lock.datum);
    if (sides.length === 0) continue;

    const identifier = identifierOfDatum(lock.datum, source.contractAddress);
    const identifierHash = hashOf(identifier);
    const open = sides.filter(({ side }) => {
      const known = changes.find(side, identifierHash);
      // A repeated identifier never touches the first record; one whose lock was rolled back waits.
      return known === undefined || known.state.onChainState === null;
    });
    if (open.length === 0) continue;

    const doubt = await forgeable(source, read, lock);
    if (doubt) {
      changes.ignoredLocks++;
      log("warn", "sync.lock_ignored", { tx: read.tx.hash, index: lock.index, reason: doubt });
      continue;
    }
    // A transaction that moves escrows too has its whole fee split among those.
    const { inputs } = await read.utxos();
    const moves = inputs.some(({ address }) => address === source.contractAddress);
    const fee = moves ? 0n : (splitFee(read.tx.fee, outputCount)[position] ?? 0n);
    for (const { side, wallet } of open) {
      const terms = termsOf(lock, wallet, changes.pricing);
      const record =
        changes.find(side, identifierHash) ??
        newRecord(changes.now, source, side, { identifier, identifierHash, wallet, terms });
      record.terms = terms;
      lockRecord(changes, record, read, lock, fee);
    }
  }
}

function ourSides(
  source: EscrowSource,
  datum: EscrowDatum,
): { side: Side; wallet: SourceWallet }[] {
  const find = (role: SourceWallet["role"], vkey: string) =>
    source.wallets.find((wallet) => wallet.role === role && wallet.vkey === vkey);
  const selling = find("Selling", datum.sellerVkey);
  const purchasing = find("Purchasing", datum.buyerVkey);
  return [
    ...(selling ? [{ side: "payment" as const, wallet: selling }] : []),
    ...(purchasing ? [{ side: "purchase" as const, wallet: purchasing }] : []),
  ];
}

/**
 * Why a lock may be a stranger's work, or null. Without the seller's signature, or without money
 * of the buyer's, anyone could fill our tables at the price of a transaction.
 */
async function forgeable(
  source: EscrowSource,
  read: ReadTransaction,
  { datum, output }: EscrowOutput,
): Promise<string | null> {
  const signature = verifySellerSignature(datum, {
    contractAddress: source.contractAddress,
    lockedFunds: output.funds,
  });
  if (!signature.ok) return signature.reason;

  const { inputs } = await read.utxos();
  const buyerPays = inputs.some(
    ({ address }) => parseAddress(address)?.payment?.hash === datum.buyerVkey,
  );
  if (!buyerPays) return "no input of the buyer's";

  // The next step of an escrow that was not recorded looks like a lock; the old datum tells.
  const continued = inputs.some(
    ({ address, inlineDatum }) =>
      address === source.contractAddress &&
      escrowDatum(source, inlineDatum)?.referenceSignature === datum.referenceSignature,
  );
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

function lockRecord(
  changes: ChangeSet,
  record: EscrowRecord,
  read: ReadTransaction,
  lock: EscrowOutput,
  fee: bigint,
): void {
  const faults = faultsOf(read, lock);
  const onChainState = faults.length === 0 ? "FundsLocked" : "FundsOrDatumInvalid";
  const fresh = unlockedState(changes.now);
  const decide = record.side === "payment" ? nextPaymentAction : nextPurchaseAction;
  const next = decide("WaitingForExternalAction", onChainState);
  changes.advance(
    record,
    {
      ...fresh,
      onChainState,
      resultHash: lock.datum.resultHash,
      buyerCooldown: cooldownText(lock.datum.buyerCooldownTime),
      sellerCooldown: cooldownText(lock.datum.sellerCooldownTime),
      buyerFees: String(fee),
      nextAction: {
        requestedAction: next.action,
        errorType: next.error === null ? null : "Unknown",
        errorNote: next.error === null ? null : `${next.error}: ${faults.join("; ")}`,
        resultHash: null,
        since: changes.now,
      },
      utxo: `${read.tx.hash}#${lock.index}`,
    },
    read.at,
    String(read.tx.fee),
  );
}

function newRecord(
  now: number,
  source: EscrowSource,
  side: Side,
  known: { identifier: string; identifierHash: string; wallet: SourceWallet; terms: Terms },
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
    state: unlockedState(now),
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

function termsOf(
  { datum, output }: EscrowOutput,
  wallet: SourceWallet,
  pricing: ChangeSet["pricing"],
): Terms {
  const agentIdentifier = datum.agentIdentifier ?? "";
  return {
    agentIdentifier,
    pricingType: pricing.get(agentIdentifier) ?? "Fixed",
    inputHash: datum.inputHash,
    payByTime: String(datum.payByTime),
    submitResultTime: String(datum.submitResultTime),
    unlockTime: String(datum.unlockTime),
    externalDisputeUnlockTime: String(datum.externalDisputeUnlockTime),
    collateralReturn: String(datum.collateralReturn),
    buyer: datum.buyer,
    buyerVkey: datum.buyerVkey,
    seller: datum.seller,
    sellerVkey: datum.sellerVkey,
    buyerReturnAddress: datum.buyerReturnAddress,
    sellerReturnAddress: datum.sellerReturnAddress,
    funds: lockedFunds(datum, output.funds).map(stored),
    wallet: { id: wallet.id, vkey: wallet.vkey, address: wallet.address },
  };
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

function stored({ unit, amount }: Funds): StoredFunds {
  return { unit, amount: String(amount) };
}
