import { parseAddress } from "../chain/address.ts";
import { amountsMatch, splitFee } from "../chain/amounts.ts";
import type { EscrowDatum } from "../chain/escrow-datum.ts";
import { decodeBlockchainIdentifier, identifierOfDatum } from "../chain/identifier.ts";
import type { OnChainState } from "../chain/network.ts";
import { log } from "../log.ts";
import { recordsAhead, type SpentOutput, spentDatums, spentOutputs } from "./ancestry.ts";
import type { ChangeSet } from "./changes.ts";
import { escrowDatum, hashOf } from "./known.ts";
import type { EscrowOutput } from "./lock.ts";
import { cooldownText, type EscrowRecord, type StoredFunds } from "./record.ts";
import type { EscrowSource, ReadTransaction } from "./source.ts";
import {
  endsEscrow,
  feePayer,
  nextPaymentAction,
  nextPurchaseAction,
  stateAfter,
} from "./transitions.ts";

/** A script input of the transaction with the records whose funds it held. */
interface Spend extends SpentOutput {
  records: EscrowRecord[];
}

/** Where a spend brings its escrow, or why that cannot be told. */
type Step = ReadStep | { fault: string };

interface ReadStep {
  onChainState: OnChainState;
  payer: ReturnType<typeof feePayer>;
  /** The output that continues the escrow; null when it ends. */
  output: EscrowOutput | null;
}

/**
 * Applies what a transaction did to the escrows it spends.
 *
 * @param outputs - the transaction's escrow outputs
 * @param complete - whether the contract's whole history was read: if so, an input that no record
 *   holds is not ours, and asking the provider about it is saved
 * @returns the outputs that continue a known escrow
 */
export async function applySpends(
  changes: ChangeSet,
  source: EscrowSource,
  read: ReadTransaction,
  outputs: EscrowOutput[],
  complete: boolean,
): Promise<Set<EscrowOutput>> {
  const continuing = new Set<EscrowOutput>();
  const { spends, count } = await findSpends(changes, source, read, complete);
  const shares = splitFee(read.tx.fee, count);
  for (const [position, { redeemer, records }] of spends.entries()) {
    const first = records[0];
    if (first === undefined) continue;
    const signature = decodeBlockchainIdentifier(first.blockchainIdentifier)?.signature;
    const output = outputs.find(
      (one) => !continuing.has(one) && one.datum.referenceSignature === signature,
    );
    if (output) continuing.add(output);
    const share = shares[position] ?? 0n;
    for (const record of records) {
      const step = stepOf(record, redeemer, output ?? null);
      if ("fault" in step) applyLoss(changes, read, record, step.fault);
      else await applyStep(changes, read, record, step, share);
    }
  }
  return continuing;
}

/** The escrow inputs in canonical order, and how many there are to split the fee among. */
async function findSpends(
  changes: ChangeSet,
  source: EscrowSource,
  read: ReadTransaction,
  complete: boolean,
): Promise<{ spends: Spend[]; count: number }> {
  const spends = spentOutputs(read).map(
    (spent): Spend => ({ ...spent, records: changes.holding(spent.outpoint) }),
  );
  const known = spends.filter(({ records }) => records.length > 0).length;
  const askProvider = known < spends.length && (known > 0 || !complete);
  if (!askProvider) return { spends, count: spends.length };

  // Other scripts' inputs pay no share of ours.
  const datums = await spentDatums(source, read);
  const ours = spends.filter(({ outpoint }) => datums.has(outpoint));
  if (!complete)
    for (const spend of ours)
      if (spend.records.length === 0) {
        const datum = escrowDatum(source, datums.get(spend.outpoint) ?? null);
        const open = datum === null ? [] : openRecords(changes, source, read, datum);
        spend.records = await recordsAhead(open, source, read, spend.outpoint);
      }
  return { spends: ours, count: ours.length };
}

/** The records that a spent datum may belong to, if steps of theirs were skipped. */
function openRecords(
  changes: ChangeSet,
  source: EscrowSource,
  { at }: ReadTransaction,
  datum: EscrowDatum,
): EscrowRecord[] {
  const hash = hashOf(identifierOfDatum(datum, source.contractAddress));
  return (["payment", "purchase"] as const).flatMap((side) => {
    const record = changes.find(side, hash);
    if (record === undefined || record.state.utxo === null) return [];
    const { terms, state } = record;
    // The identifier does not name the parties, so a stranger's copy can have others.
    const samePair = datum.buyer === terms.buyer && datum.seller === terms.seller;
    // A cursor that was moved back reads steps again that are long applied.
    const mayBeAhead = (state.transaction?.blockHeight ?? 0) <= at.blockHeight;
    return samePair && mayBeAhead ? [record] : [];
  });
}

function stepOf(
  { terms }: EscrowRecord,
  redeemer: number | null,
  output: EscrowOutput | null,
): Step {
  if (redeemer === null) return { fault: "the redeemer is not a constructor" };
  const next = endsEscrow(redeemer) ? null : output;
  if (
    next !== null &&
    (next.datum.buyerReturnAddress !== terms.buyerReturnAddress ||
      next.datum.sellerReturnAddress !== terms.sellerReturnAddress)
  )
    return { fault: "a return address was changed" };
  const expected = terms.funds.map(({ unit, amount }) => ({ unit, amount: BigInt(amount) }));
  const matches =
    next === null || amountsMatch(expected, next.output.funds, next.datum.collateralReturn);
  const onChainState = stateAfter(redeemer, next?.datum ?? null, matches);
  if (onChainState !== null) return { onChainState, payer: feePayer(redeemer), output: next };
  return {
    fault: next === null ? "no output continues the escrow" : `there is no redeemer ${redeemer}`,
  };
}

async function applyStep(
  changes: ChangeSet,
  read: ReadTransaction,
  record: EscrowRecord,
  { onChainState, payer, output }: ReadStep,
  share: bigint,
): Promise<void> {
  const { state, terms } = record;
  const datum = output?.datum ?? null;
  const disputed = onChainState === "DisputedWithdrawn";
  changes.advance(
    record,
    {
      onChainState,
      // A new datum says what the result is now, even that there is none any more.
      resultHash: datum ? datum.resultHash : state.resultHash,
      buyerCooldown: cooldownText(datum?.buyerCooldownTime ?? 0n),
      sellerCooldown: cooldownText(datum?.sellerCooldownTime ?? 0n),
      buyerFees: String(BigInt(state.buyerFees) + (payer === "buyer" ? share : 0n)),
      sellerFees: String(BigInt(state.sellerFees) + (payer === "seller" ? share : 0n)),
      withdrawnForSeller: disputed ? await receivedBy(terms.sellerVkey, read) : [],
      withdrawnForBuyer: disputed ? await receivedBy(terms.buyerVkey, read) : [],
      nextAction: actionAfter(record, onChainState, changes.now),
      utxo: output ? `${read.tx.hash}#${output.index}` : null,
    },
    read.at,
    String(read.tx.fee),
  );
}

/** The funds went where we cannot follow. The record must not go on saying that they are there. */
function applyLoss(
  changes: ChangeSet,
  read: ReadTransaction,
  record: EscrowRecord,
  fault: string,
): void {
  log("warn", "sync.escrow_lost", { tx: read.tx.hash, record: record.id, reason: fault });
  const onChainState = "FundsOrDatumInvalid";
  const nextAction = actionAfter(record, onChainState, changes.now, fault);
  changes.advance(
    record,
    { ...record.state, onChainState, nextAction, utxo: null },
    read.at,
    String(read.tx.fee),
  );
}

function actionAfter(
  { side, state }: EscrowRecord,
  onChainState: NonNullable<EscrowRecord["state"]["onChainState"]>,
  now: number,
  reason?: string,
): EscrowRecord["state"]["nextAction"] {
  const current = state.nextAction;
  const decide = side === "payment" ? nextPaymentAction : nextPurchaseAction;
  const next = decide(current.requestedAction, onChainState);
  if (next.error === null && next.action === current.requestedAction && current.errorType === null)
    return current;
  const error = [next.error, reason].filter(Boolean).join(": ");
  return {
    requestedAction: next.action,
    errorType: next.error === null ? null : "Unknown",
    errorNote:
      next.error === null ? null : [current.errorNote, error].filter(Boolean).join("; then: "),
    resultHash: current.resultHash,
    since: now,
  };
}

/** What a party got out of a transaction, per unit: its outputs less its inputs. */
async function receivedBy(vkey: string, read: ReadTransaction): Promise<StoredFunds[]> {
  const { inputs, outputs } = await read.utxos();
  const totals = new Map<string, bigint>();
  const add = (utxos: typeof inputs, sign: bigint) => {
    for (const { address, amount } of utxos) {
      if (parseAddress(address)?.payment?.hash !== vkey) continue;
      for (const { unit, quantity } of amount) {
        const name = unit === "lovelace" ? "" : unit;
        totals.set(name, (totals.get(name) ?? 0n) + sign * BigInt(quantity));
      }
    }
  };
  add(outputs, 1n);
  add(inputs, -1n);
  return [...totals]
    .filter(([, amount]) => amount !== 0n)
    .map(([unit, amount]) => ({ unit, amount: String(amount) }));
}
