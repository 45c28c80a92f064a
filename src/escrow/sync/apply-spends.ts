import { hasAgreedAmounts } from "../../chain/amounts.ts";
import { decodeBlockchainIdentifier } from "../../chain/contracts/blockchain-identifier.ts";
import type { EscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import type { OnChainState } from "../../chain/network.ts";
import { log } from "../../log.ts";
import { advanceProgress } from "../model/advance-progress.ts";
import { type EscrowRecord, findLock, formatCooldown, fundsOf } from "../model/escrow-record.ts";
import { toLiveOutput } from "../model/read-escrow.ts";
import { computeStateAfterSpend, endsEscrow, findFeePayer } from "../model/transitions.ts";
import type { ChangeSet } from "../store/change-set.ts";
import { identifyEscrow } from "./escrow-outputs.ts";
import type { ContractTransaction, EscrowOutput, EscrowSource, Lookback } from "./escrow-source.ts";
import { computeFeeShares } from "./fee-shares.ts";
import {
  extractSpentOutputs,
  findRecordsWithMissedSteps,
  type SpentOutput,
} from "./missed-steps.ts";
import { noteTooManyTokens } from "./note-too-many-tokens.ts";
import { readSettledFunds } from "./read-settled-funds.ts";

/** A script input of the transaction with the records whose funds it held. */
interface EscrowSpend extends SpentOutput {
  records: EscrowRecord[];
}

/** The state that a spend leads to, or why it cannot be determined. */
type SpendResult = ResolvedStep | { fault: string };

interface ResolvedStep {
  onChainState: OnChainState;
  feePayer: ReturnType<typeof findFeePayer>;
  /** The output that continues the escrow; null when it ends. */
  output: EscrowOutput | null;
}

/**
 * Applies what a transaction did to the escrows it spends.
 *
 * @param lookback - null when the contract's whole history was read. Then an input without a
 *   record is not ours, and the provider is not asked.
 * @returns the outputs that continue a known escrow
 */
export async function applySpends(
  changes: ChangeSet,
  source: EscrowSource,
  read: ContractTransaction,
  lookback: Lookback | null,
): Promise<Set<EscrowOutput>> {
  const continuing = new Set<EscrowOutput>();
  const spends = await findSpends(changes, source, read, lookback);
  const known = new Set(
    spends.flatMap(({ outpoint, records }) => (records.length > 0 ? [outpoint] : [])),
  );
  if (known.size === 0) return continuing;
  const shares = await computeFeeShares(source.network, read, known);
  for (const { outpoint, redeemer, records } of spends) {
    const first = records[0];
    if (first === undefined) continue;
    const signature = decodeBlockchainIdentifier(first.blockchainIdentifier)?.signature;
    const output = read.outputs.find(
      (one) => !continuing.has(one) && one.datum.referenceSignature === signature,
    );
    if (output) continuing.add(output);
    const share = shares.get(outpoint) ?? 0n;
    for (const record of records) {
      const step = resolveSpend(record, redeemer, output ?? null);
      if ("fault" in step) markEscrowLost(changes, read, record, step.fault);
      else await applyStep(changes, read, record, step, { source, outpoint, share });
    }
  }
  return continuing;
}

/** The escrow inputs in canonical order. */
async function findSpends(
  changes: ChangeSet,
  source: EscrowSource,
  read: ContractTransaction,
  lookback: Lookback | null,
): Promise<EscrowSpend[]> {
  const spends = extractSpentOutputs(read).map(
    (spent): EscrowSpend => ({ ...spent, records: changes.findByUtxo(spent.outpoint) }),
  );
  const known = spends.filter(({ records }) => records.length > 0).length;
  const askProvider = known < spends.length && (known > 0 || lookback !== null);
  if (!askProvider) return spends;

  const datums = await read.loadSpentDatums();
  const ours = spends.filter(({ outpoint }) => datums.has(outpoint));
  if (lookback !== null)
    for (const spend of ours)
      if (spend.records.length === 0) {
        const datum = datums.get(spend.outpoint) ?? null;
        const open = datum === null ? [] : findOpenRecords(changes, source, read, datum);
        spend.records = await findRecordsWithMissedSteps(
          open,
          source.id,
          read,
          spend.outpoint,
          lookback,
        );
      }
  return ours;
}

/** The records that a spent datum may belong to, if steps of theirs were skipped. */
function findOpenRecords(
  changes: ChangeSet,
  source: EscrowSource,
  { at }: ContractTransaction,
  datum: EscrowDatum,
): EscrowRecord[] {
  const { identifierHash } = identifyEscrow(source, datum);
  return (["payment", "purchase"] as const).flatMap((side) => {
    const record = changes.findByIdentifier(side, identifierHash);
    if (record === undefined || record.state.utxo === null) return [];
    const { terms, state } = record;
    // The identifier does not name the parties, so a third party's copy can have others.
    const samePair = datum.buyer === findLock(record)?.buyer && datum.seller === terms.seller;
    // A cursor that was moved back reads steps again that were applied before.
    const mayBeAhead = (state.transaction?.blockHeight ?? 0) <= at.blockHeight;
    return samePair && mayBeAhead ? [record] : [];
  });
}

function resolveSpend(
  record: EscrowRecord,
  redeemer: number | null,
  output: EscrowOutput | null,
): SpendResult {
  if (redeemer === null) return { fault: "its redeemer is unreadable" };
  const next = endsEscrow(redeemer) ? null : output;
  const lock = findLock(record);
  if (
    next !== null &&
    (next.datum.buyerReturnAddress !== lock?.buyerReturnAddress ||
      next.datum.sellerReturnAddress !== lock.sellerReturnAddress)
  )
    return { fault: "a return address was changed" };
  const expected = record.terms.funds.map(fundsOf);
  const matches =
    next === null || hasAgreedAmounts(expected, next.output.funds, next.datum.collateralReturn);
  const onChainState = computeStateAfterSpend(redeemer, next?.datum ?? null, matches);
  if (onChainState !== null)
    return { onChainState, feePayer: findFeePayer(redeemer), output: next };
  return {
    fault: next === null ? "no output continues the escrow" : `there is no redeemer ${redeemer}`,
  };
}

async function applyStep(
  changes: ChangeSet,
  read: ContractTransaction,
  record: EscrowRecord,
  { onChainState, feePayer: payer, output }: ResolvedStep,
  { source, outpoint, share }: { source: EscrowSource; outpoint: string; share: bigint },
): Promise<void> {
  const { state } = record;
  const { txHash } = read.at;
  const datum = output?.datum ?? null;
  const settled = await readSettledFunds(record, source, read, { onChainState, outpoint });
  const disputed = onChainState === "DisputedWithdrawn" ? settled : null;
  const utxo = output ? `${txHash}#${output.index}` : null;
  // A new datum replaces the result, also by none.
  const resultHash = datum ? datum.resultHash : state.resultHash;
  const after = advanceProgress(record, {
    txHash,
    onChainState,
    resultHash,
    utxo,
    transactionIntent: changes.findTransactionIntent(record, txHash),
  });
  changes.advance(
    record,
    {
      state: {
        onChainState,
        resultHash,
        buyerCooldown: formatCooldown(datum?.buyerCooldownTime ?? 0n),
        sellerCooldown: formatCooldown(datum?.sellerCooldownTime ?? 0n),
        buyerFees: String(BigInt(state.buyerFees) + (payer === "buyer" ? share : 0n)),
        sellerFees: String(BigInt(state.sellerFees) + (payer === "seller" ? share : 0n)),
        withdrawnForSeller: disputed?.seller ?? [],
        withdrawnForBuyer: disputed?.buyer ?? [],
        settled,
        lock: state.lock,
        utxo,
      },
      output: output && toLiveOutput(txHash, output),
      ...noteTooManyTokens(record, source, output, txHash, after),
    },
    read.at,
    String(read.tx.fee),
  );
}

/** The funds cannot be followed any further, so the record must not show them as locked. */
function markEscrowLost(
  changes: ChangeSet,
  read: ContractTransaction,
  record: EscrowRecord,
  reason: string,
): void {
  const { txHash } = read.at;
  log("warn", "sync.escrow_lost", { tx: txHash, record: record.id, reason });
  const onChainState = "FundsOrDatumInvalid";
  changes.advance(
    record,
    {
      state: { ...record.state, onChainState, utxo: null },
      output: null,
      ...advanceProgress(record, {
        txHash,
        onChainState,
        resultHash: record.state.resultHash,
        utxo: null,
        transactionIntent: changes.findTransactionIntent(record, txHash),
        reason,
      }),
    },
    read.at,
    String(read.tx.fee),
  );
}
