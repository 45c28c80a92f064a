import { parseAddress } from "../chain/address.ts";
import { amountsMatch, splitFee } from "../chain/amounts.ts";
import type { EscrowDatum } from "../chain/escrow-datum.ts";
import { decodeBlockchainIdentifier } from "../chain/identifier.ts";
import { REDEEMERS } from "../chain/redeemer.ts";
import { log } from "../log.ts";
import type { ChangeSet } from "./changes.ts";
import { identifierHash } from "./known.ts";
import type { EscrowOutput } from "./lock.ts";
import type { EscrowRecord, StoredFunds } from "./record.ts";
import type { EscrowSource, ReadTransaction } from "./source.ts";
import { feePayer, nextPaymentAction, nextPurchaseAction, stateAfter } from "./transitions.ts";

/** Redeemers that end an escrow: no output continues it. */
const TERMINAL: readonly number[] = [
  REDEEMERS.Withdraw,
  REDEEMERS.WithdrawRefund,
  REDEEMERS.WithdrawDisputed,
];

/** A script input of the transaction with the records whose funds it held. */
interface Spend {
  redeemer: number | null;
  records: EscrowRecord[];
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
    const fault = faultOf(first, redeemer, output);
    if (redeemer === null || fault !== null) {
      log("warn", "sync.spend_skipped", { tx: read.tx.hash, record: first.id, reason: fault });
      continue;
    }
    const share = shares[position] ?? 0n;
    for (const record of records)
      await applySpend(
        changes,
        read,
        record,
        redeemer,
        TERMINAL.includes(redeemer) ? null : (output ?? null),
        share,
      );
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
  const { inputs, spendRedeemers } = read.tx;
  const spends = spendRedeemers.flatMap(({ inputIndex, constructor: redeemer }) => {
    const input = inputs[inputIndex];
    if (!input) return [];
    const outpoint = `${input.txHash}#${input.index}`;
    return [{ outpoint, redeemer, records: changes.holding(outpoint) }];
  });
  const known = spends.filter(({ records }) => records.length > 0).length;
  const askProvider = known < spends.length && (known > 0 || !complete);
  if (!askProvider) return { spends, count: spends.length };

  // Other scripts' inputs pay no share of ours, and after a gap the datum names the record.
  const utxos = await read.utxos();
  const atContract = new Map(
    utxos.inputs
      .filter(({ address }) => address === source.contractAddress)
      .map((input) => [`${input.txHash}#${input.outputIndex}`, input.inlineDatum]),
  );
  const ours = spends.filter(({ outpoint }) => atContract.has(outpoint));
  for (const spend of ours) {
    const datum = atContract.get(spend.outpoint);
    if (spend.records.length === 0 && datum)
      spend.records = recordsOfDatum(changes, source, read, datum);
  }
  return { spends: ours, count: ours.length };
}

/** The records of a spent datum that have not come as far as this transaction yet. */
function recordsOfDatum(
  changes: ChangeSet,
  source: EscrowSource,
  { at }: ReadTransaction,
  cbor: string,
): EscrowRecord[] {
  const hash = identifierHash(source, cbor);
  if (hash === null) return [];
  return (["payment", "purchase"] as const).flatMap((side) => {
    const record = changes.find(side, hash);
    const isOpen = record !== undefined && record.state.utxo !== null;
    // A cursor that was moved back reads steps again that are long applied.
    const isAhead = (record?.state.transaction?.blockHeight ?? 0) < at.blockHeight;
    return isOpen && isAhead ? [record] : [];
  });
}

/** Why a spend cannot be read as a step of its escrow, or null. */
function faultOf(
  { terms }: EscrowRecord,
  redeemer: number | null,
  output: EscrowOutput | undefined,
): string | null {
  if (redeemer === null) return "the redeemer is not a constructor";
  if (TERMINAL.includes(redeemer)) return null;
  if (!output) return "no output continues the escrow";
  const { buyerReturnAddress, sellerReturnAddress } = output.datum;
  const kept =
    buyerReturnAddress === terms.buyerReturnAddress &&
    sellerReturnAddress === terms.sellerReturnAddress;
  return kept ? null : "a return address was changed";
}

async function applySpend(
  changes: ChangeSet,
  read: ReadTransaction,
  record: EscrowRecord,
  redeemer: number,
  output: EscrowOutput | null,
  share: bigint,
): Promise<void> {
  const { state, terms } = record;
  const datum = output?.datum ?? null;
  const expected = terms.funds.map(({ unit, amount }) => ({ unit, amount: BigInt(amount) }));
  const matches =
    output === null || amountsMatch(expected, output.output.funds, output.datum.collateralReturn);
  const onChainState = stateAfter(redeemer, datum, matches);
  if (onChainState === null) {
    log("warn", "sync.spend_skipped", {
      tx: read.tx.hash,
      record: record.id,
      reason: "unknown redeemer",
    });
    return;
  }
  const payer = feePayer(redeemer);
  const disputed = redeemer === REDEEMERS.WithdrawDisputed;
  changes.advance(
    record,
    {
      onChainState,
      // A new datum says what the result is now, even that there is none any more.
      resultHash: datum ? datum.resultHash : state.resultHash,
      ...cooldownsOf(datum),
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

function cooldownsOf(datum: EscrowDatum | null): { buyerCooldown: string; sellerCooldown: string } {
  return {
    buyerCooldown: String(datum?.buyerCooldownTime ?? 0n),
    sellerCooldown: String(datum?.sellerCooldownTime ?? 0n),
  };
}

function actionAfter(
  { side, state }: EscrowRecord,
  onChainState: NonNullable<EscrowRecord["state"]["onChainState"]>,
  now: number,
): EscrowRecord["state"]["nextAction"] {
  const current = state.nextAction;
  const decide = side === "payment" ? nextPaymentAction : nextPurchaseAction;
  const next = decide(current.requestedAction, onChainState);
  if (next.error === null && next.action === current.requestedAction && current.errorType === null)
    return current;
  return {
    requestedAction: next.action,
    errorType: next.error === null ? null : "Unknown",
    errorNote:
      next.error === null ? null : [current.errorNote, next.error].filter(Boolean).join("; then: "),
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
