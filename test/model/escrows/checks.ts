/** What holds of a service once everything has come to its end. */

import type { OnChainState } from "../../../src/chain/network.ts";
import { formatOutputReference } from "../../../src/chain/transaction/transaction-plan.ts";
import { sumToValue } from "../../../src/chain/transaction/value.ts";
import {
  type ChainState,
  type EscrowRecord,
  hashIdentifier,
  type Side,
} from "../../../src/escrow/model/escrow-record.ts";
import { isTerminal, nextActionOf, WALLET_REMOVED_NOTE } from "../../../src/escrow/model/intent.ts";
import { NOT_WORTH_WITHDRAWING_NOTE } from "../../../src/escrow/model/is-worth-withdrawing.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import {
  ESCROW_COLUMNS,
  type EscrowRow,
  toEscrowRecord,
} from "../../../src/escrow/store/escrow-row.ts";
import { identifyEscrow } from "../../../src/escrow/sync/escrow-outputs.ts";
import { applyTransaction } from "../../../src/escrow/sync/follower.ts";
import { createTransactionReader } from "../../../src/escrow/sync/transaction-reader.ts";
import type { SourceRow } from "../../../src/sources/source-row.ts";
import type { Output } from "../rules.ts";
import { escrowOf } from "./contract.ts";
import { outputOf, providerOf } from "./provider.ts";
import { QUOTES } from "./quotes.ts";
import type { Service } from "./service.ts";
import { BUYER, WALLETS } from "./terms.ts";

export function allRecords({ database }: Service): EscrowRecord[] {
  return database
    .all<EscrowRow>(`SELECT ${ESCROW_COLUMNS} FROM escrow ORDER BY id`)
    .map(toEscrowRecord);
}

/** States in which a side acts next, so its automatic steps must come. */
const OWN_TURN: Record<Side, readonly (OnChainState | null)[]> = {
  payment: ["ResultSubmitted", "WithdrawAuthorized"],
  purchase: ["FundsLocked", "RefundRequested", "RefundAuthorized"],
};

/** Records with something left to be done that do not say why it is not, or that have not expired. */
export function notEnded(service: Service): string[] {
  return allRecords(service)
    .filter(({ side, state, terms, progress }) => {
      const { intent, pendingTransaction, error, expiredAt } = progress;
      if (error?.isManual) return false;
      if (intent !== null || pendingTransaction !== null) return true;
      if (state.onChainState === null) return terms.isRequested === true && expiredAt === null;
      return (
        OWN_TURN[side].includes(state.onChainState) && error?.note !== NOT_WORTH_WITHDRAWING_NOTE
      );
    })
    .map(told);
}

const told = ({ side, state, progress, terms }: EscrowRecord) =>
  JSON.stringify({
    ...{ side, state: state.onChainState, progress },
    pays: new Date(Number(terms.payByTime)).toISOString(),
  });

/** Identifiers that the service's own wallet has locked more than once, by what is in blocks. */
export function lockedTwice({ ledger, source }: Service): string[] {
  const blocks = ledger.shown;
  const locks = blocks
    .flatMap(({ transactions }) => transactions)
    .filter(
      (tx) =>
        tx.spendRedeemers.length === 0 &&
        tx.inputs.some(
          (one) => outputOf(blocks, formatOutputReference(one))?.address === BUYER.address,
        ),
    )
    .flatMap(({ outputs }) =>
      outputs.flatMap((one) => {
        const datum = escrowOf(source, { ...one, value: sumToValue(one.funds) });
        return datum ? [datum.referenceSignature] : [];
      }),
    );
  return locks.filter((one, i) => locks.indexOf(one) !== i);
}

/** Records whose charge is held without a lock, or given back with one. */
export function wrongCharges(service: Service): string[] {
  const rows = service.database.all<{ id: string; charge: string | null }>(
    "SELECT id, charge FROM escrow WHERE charge IS NOT NULL",
  );
  const records = new Map(allRecords(service).map((one) => [one.id, one]));
  return rows
    .filter(({ id, charge }) => {
      const record = records.get(id);
      const isLocked = record?.state.utxo !== null || isTerminal(record.state.onChainState);
      return charge !== (isLocked ? "held" : "returned");
    })
    .map(
      ({ id, charge }) => `${charge}: ${records.get(id) && told(records.get(id) as EscrowRecord)}`,
    );
}

/** Records whose next action is not the one that their row is filtered by. */
export function wrongActions({ database }: Service): string[] {
  const rows = database.all<EscrowRow & { requested_action: string; error_type: string | null }>(
    `SELECT ${ESCROW_COLUMNS}, requested_action, error_type FROM escrow`,
  );
  return rows.flatMap((row) => {
    const { requestedAction, errorType } = nextActionOf(toEscrowRecord(row));
    const isRight = row.requested_action === requestedAction && row.error_type === errorType;
    return isRight
      ? []
      : [`${row.requested_action}, ${row.error_type}: ${told(toEscrowRecord(row))}`];
  });
}

/** Events that are missing, or that tell nothing new. */
export function wrongEvents({ database }: Service): string[] {
  const rows = database.all<{ id: string; sequence: number; told: string | null }>(
    `SELECT escrow.id, escrow.sequence,
       (SELECT json_group_array(json_array(event.sequence, kind, data)) FROM event
        WHERE record_id = escrow.id) AS told FROM escrow`,
  );
  return rows.flatMap(({ id, sequence, told }) => {
    const events = (JSON.parse(told ?? "[]") as [number, string, string][]).toSorted(
      ([a], [b]) => a - b,
    );
    const isInOrder = events.every(([n], i) => n === i + 1) && events.length === sequence;
    const texts = events.map(([, kind, data]) => {
      const { onChainState, resultHash, NextAction } = JSON.parse(data);
      return JSON.stringify([kind, onChainState, resultHash, NextAction]);
    });
    const again = texts.filter((text, i) => i > 0 && texts[i - 1] === text);
    return isInOrder ? again : [`${id}: ${events.map(([n]) => n)} of ${sequence}`, ...again];
  });
}

/** Records that hold something else than a fold of the chain as it is, from the beginning, or that are missing. */
export async function foundOtherwise(service: Service): Promise<string[]> {
  const records = allRecords(service);
  const fresh = await foldedAnew(service, records);
  const known = new Set(records.map(nameOf));
  const missing = [...fresh.records.values()].filter(({ record }) => !known.has(nameOf(record)));
  return [
    ...records.flatMap((record) => differs(record, fresh)),
    ...missing.map(({ record }) => `there is no ${told(record)}`),
  ];
}

/** Records that a request made, and that hold something else: those are followed without their wallet, too. */
export async function leftBehind(service: Service): Promise<string[]> {
  const records = allRecords(service);
  const fresh = await foldedAnew(service, records);
  return records
    .filter(({ terms, wallet }) => terms.isRequested && wallet !== null)
    .flatMap((record) => differs(record, fresh));
}

function differs(record: EscrowRecord, fresh: ChangeSet): string[] {
  const other = fresh.findByIdentifier(record.side, record.identifierHash);
  const [is, shouldBe] = [record.state, other?.state ?? null].map(comparable);
  return is === shouldBe ? [] : [`${record.side} is ${is}, and should be ${shouldBe}`];
}

/** What a fold of the chain makes of the requests that records are of. */
async function foldedAnew(service: Service, records: readonly EscrowRecord[]): Promise<ChangeSet> {
  const { ledger, source, type } = service;
  const provider = providerOf(ledger, "", async (run) => run());
  const read = createTransactionReader(
    provider,
    { cborOf: async () => null },
    { ...source, wallets: WALLETS },
    true,
  );
  const isAsked = (side: Side, hash: string) =>
    records.some(
      (one) => one.side === side && one.identifierHash === hash && one.terms.isRequested,
    );
  const asked = (["payment", "purchase"] as const).flatMap((side) =>
    QUOTES[type]
      .filter(({ blockchainIdentifier }) => isAsked(side, hashIdentifier(blockchainIdentifier)))
      .map((quote) => service.requested(side, quote)),
  );
  const fresh = new ChangeSet(asked, ledger.now, ledger.tip.height);
  const listed =
    (await provider.addressTransactions(source.contractAddress, {
      ...{ page: 1, count: 1000 },
    })) ?? [];
  for (const at of listed)
    await applyTransaction(fresh, { ...source, wallets: WALLETS }, await read(at), null);
  return fresh;
}

const nameOf = ({ side, identifierHash }: EscrowRecord) => `${side}:${identifierHash}`;

function comparable(state: ChainState | null): string {
  if (state === null || state.lock === null) return unlocked(state);
  const { transaction, ...found } = state;
  const { txHash = null, status = null } = transaction ?? {};
  return JSON.stringify({ ...found, txHash, status });
}

/** One that ends with nothing but deviating locks says so, and a fold that knows no time does not end it. */
function unlocked(state: ChainState | null): string {
  const { hadMismatch = false, onChainState = null } = state ?? {};
  if (hadMismatch) return "unlocked, and something else was locked";
  return onChainState === null ? "unlocked" : `unlocked, and ${onChainState}`;
}

/** The service's escrows at the contract that no record follows and no event reports. */
export function forgotten(service: Service): string[] {
  const { ledger, source } = service;
  const records = allRecords(service);
  const known = new Set(records.map(({ state }) => state.utxo));
  const told = new Set([
    ...records.filter(({ progress }) => progress.error?.isManual).map(({ id }) => id),
    ...toldOfLocks(service),
  ]);
  const made = madeByService(service);
  return ledger.unspentAt(source.contractAddress).flatMap(([name, output]) => {
    const identifierHash = identifierHashOf(source, output);
    if (identifierHash === null || known.has(name) || !made.has(name.split("#")[0] ?? ""))
      return [];
    const isTold = records.some((one) => one.identifierHash === identifierHash && told.has(one.id));
    return isTold ? [] : [`${name}: ${identifierHash}`];
  });
}

/** Hash of the identifier of an escrow; null: the output is none. */
export function identifierHashOf(source: SourceRow, output: Output): string | null {
  const datum = escrowOf(source, output);
  return datum && identifyEscrow({ ...source, wallets: WALLETS }, datum).identifierHash;
}

/**
 * What people were asked to decide, though nobody but the service moved the escrow.
 *
 * @param moved - hashes of the identifiers whose escrows others may have moved
 */
export function askedInVain({ database }: Service, moved: ReadonlySet<string>): string[] {
  return database
    .all<{ hash: string; told: string }>(
      `SELECT identifier_hash AS hash, json_object('side', side, 'note', note) AS told
       FROM (SELECT record_id, data->'NextAction'->>'errorNote' AS note FROM event
         WHERE data->'NextAction'->>'requestedAction' = 'WaitingForManualAction')
       JOIN escrow ON escrow.id = record_id WHERE note NOT LIKE '%collateral was taken%'
         AND instr(note, '${WALLET_REMOVED_NOTE}') <> 1`,
    )
    .flatMap(({ hash, told }) => (moved.has(hash) ? [] : [told]));
}

/** Records whose person was told of another lock, and has seen to it since. */
function toldOfLocks({ database }: Service): string[] {
  const rows = database.all<{ id: string }>(
    `SELECT record_id AS id FROM event
     WHERE kind = 'PURCHASE_ON_ERROR' AND data->>'$.NextAction.errorNote' LIKE '%locked the funds%'`,
  );
  return rows.map(({ id }) => id);
}

function madeByService({ ledger }: Service): Set<string> {
  const blocks = ledger.shown;
  return new Set(
    blocks
      .flatMap(({ transactions }) => transactions)
      .filter((tx) =>
        tx.inputs.some((one) => {
          const address = outputOf(blocks, formatOutputReference(one))?.address;
          return WALLETS.some((wallet) => wallet.address === address);
        }),
      )
      .map(({ hash }) => hash),
  );
}
