import type { Network } from "../chain/network.ts";
import { ProviderError } from "../chain/provider/provider.ts";
import { TransactionTooLarge } from "../chain/transaction/build.ts";
import type { Database, Statement } from "../db/client.ts";
import { noteOnRecords } from "../wallets/note-on-records.ts";
import { MAX_TRIES, pauseAfter, providerAgainAt, WAIT_MS } from "../wallets/pauses.ts";
import type { Move } from "../wallets/spending/history.ts";
import { meaningOf } from "../wallets/spending/life.ts";
import { VALID_AFTER } from "../wallets/spending/making/window.ts";
import {
  FormerMayLand,
  messageOf,
  type Stand,
  TaskError,
  WalletGone,
  type WalletWork,
} from "../wallets/work.ts";
import { openPurpose, type Purpose, purposeOfState, rowIdOf, taskIdOf } from "./states.ts";
import {
  dueRegistrations,
  moveRegistration,
  readRegistrations,
  updateRegistration,
} from "./store.ts";
import type { RegistrationChange, RegistrationRow } from "./tables.ts";
import { transactionsBefore } from "./taken-over.ts";
import type { RegistrationTransaction } from "./token.ts";
import {
  identifierOfSeed,
  NotMinted,
  type RegistrationDetail,
  registrationPart,
} from "./transaction.ts";

/** The token of a former try exists, and its transaction is not shown yet. */
class TokenSeen extends TaskError {
  override name = "TokenSeen";
  /** Hex. */
  readonly mintTxHash: string;

  constructor(token: string, mintTxHash: string) {
    super(`the provider shows the token ${token}, and not yet its transaction`);
    this.mintTxHash = mintTxHash;
  }
}

/** How long after its confirmation the network may include a transaction again. */
const LATE_MS = 120_000;
const MAY_RETURN_MS = VALID_AFTER * 1000 + LATE_MS;

/**
 * What a wallet does for the registrations of a payment source: it mints and burns their tokens.
 *
 * @param db - with `writes: "idempotent"`
 */
export function registrationWork(
  db: Database,
  wallet: { network: Network; vkey: string; sourceId: string },
): WalletWork {
  /** As they were last read. */
  const rows = new Map<string, RegistrationRow>();
  const rowOf = (task: string): RegistrationRow => {
    const row = rows.get(rowIdOf(task));
    if (row === undefined) throw new Error(`registration ${task} was not read`);
    return row;
  };
  return {
    name: "registration",
    stands: "line",
    revision: "registration.rev",

    takenOver: () => transactionsBefore(db, wallet.network, wallet.vkey),

    async due(now, limit) {
      const found = await dueRegistrations(db, wallet, limit);
      for (const row of found) rows.set(row.id, row);
      const later = found.flatMap(({ dueAt }) => (dueAt !== null && dueAt > now ? [dueAt] : []));
      return {
        tasks: found.flatMap((row) =>
          (row.dueAt ?? 0) <= now ? [{ id: taskIdOf(row.id, purposeOf(row)) }] : [],
        ),
        next: later.length > 0 ? Math.min(...later) : null,
      };
    },

    async part({ id }, stand) {
      const row = rowOf(id);
      const purpose = purposeOf(row);
      if (purpose === "Registration") await refuseSecondMint(row, stand);
      return registrationPart(row, purpose, stand);
    },

    async unchanged(tasks) {
      const found = await readRegistrations(
        db,
        tasks.map(({ id }) => rowIdOf(id)),
      );
      const same = found.filter((row) => asksSame(row, rows.get(row.id)));
      for (const row of same) rows.set(row.id, row);
      return tasks.filter(({ id }) => same.some((row) => row.id === rowIdOf(id)));
    },

    async moved(moves, now) {
      const found = await readRegistrations(
        db,
        moves.map(({ task }) => rowIdOf(task.id)),
      );
      return moves.flatMap((move): Statement[] => {
        // One that asks for something else since its part was made: its revision keeps the batch back.
        const asMade = move.transaction.phase === "Stored" && rows.get(rowIdOf(move.task.id));
        const row = asMade || found.find(({ id }) => id === rowIdOf(move.task.id));
        const change = row && changeBy(row, move, now);
        return row && change ? updateRegistration(db, row, change, now) : [];
      });
    },

    async notBuilt(tasks, error, now) {
      for (const { id } of tasks) {
        const row = rowOf(id);
        await moveRegistration(db, row, afterFailure(row, error, now), now);
      }
    },

    onUpdateFailure(tasks, message, now) {
      const ids = tasks.map(({ id }) => rowIdOf(id));
      return noteOnRecords(db, "registration", ids, message, now);
    },
  };
}

/**
 * Gives up a registration whose payment source was removed: there is no provider left to ask.
 *
 * @throws StaleRegistration
 */
export async function failWithoutSource(
  db: Database,
  row: RegistrationRow,
  now: number,
): Promise<void> {
  const reason =
    "its payment source was removed; what it sent to the network before may still land";
  await moveRegistration(db, row, failed(row, reason), now);
}

/** Whether two states of a registration ask for the same transaction. */
function asksSame(row: RegistrationRow, other: RegistrationRow | undefined): boolean {
  const asked = ({ state, profile, policyId, wallet, recipient, sendFunding }: RegistrationRow) =>
    JSON.stringify({ state, profile, policyId, wallet, recipient, sendFunding });
  return other !== undefined && asked(row) === asked(other);
}

/**
 * A mint is also recognised by its token, whose name is the same in every try that spends the same
 * output: so it is found when the provider does not show its transaction yet.
 */
async function refuseSecondMint(
  row: RegistrationRow,
  { provider }: Pick<Stand, "provider">,
): Promise<void> {
  const token = row.tx && identifierOfSeed(row);
  const minted = token && (await provider.assetMetadata(token));
  if (minted) throw new TokenSeen(token, minted.mintTxHash);
}

/** What became of a registration by what became of its transaction; null: nothing new. */
function changeBy(
  row: RegistrationRow,
  { task, transaction }: Move,
  now: number,
): RegistrationChange | null {
  const { purpose, agentIdentifier, seed } = task.detail as RegistrationDetail;
  const { hash, phase, validTo, fee, blockHeight, blockTime, error } = transaction;
  // It wants something else by now.
  if (purposeOfState(row.state) !== purpose) return null;
  const tx: RegistrationTransaction = {
    hash,
    status: "Pending",
    validTo,
    fees: String(fee),
    blockHeight: null,
    blockTime: null,
  };
  const confirmed = { ...tx, status: "Confirmed" as const, blockHeight, blockTime };
  const isCurrent = row.tx?.hash === hash;
  const named = { agentIdentifier, ...(seed !== null && { seed }) };
  switch (meaningOf(phase)) {
    case "UnderWay":
      return { state: `${purpose}Initiated`, error: null, ...named, tx, dueAt: now };
    case "Landed":
      return {
        state: `${purpose}Confirmed`,
        error: null,
        ...named,
        tx: confirmed,
        failures: 0,
        dueAt: null,
        lastCheckedAt: now,
      };
    case "Ended":
      if (!isCurrent || openPurpose(row.state) === null) return null;
      if (phase === "Failed")
        return {
          ...failed(
            row,
            "the policy's script refused the transaction, and the collateral was taken",
          ),
          tx: confirmed,
          failures: 0,
          lastCheckedAt: now,
        };
      if (phase === "Orphaned") return againAtOnce(row, now);
      return tryAgain(
        row,
        phase === "Expired" ? "FailedViaTimeout" : "FailedViaManualReset",
        error ?? "the network did not take the transaction",
        now,
      );
  }
}

function purposeOf(row: RegistrationRow): Purpose {
  const purpose = openPurpose(row.state);
  if (purpose === null) throw new Error(`registration ${row.id} is ${row.state}, yet due`);
  return purpose;
}

/** Handles a registration whose transaction could not be built. */
function afterFailure(row: RegistrationRow, error: unknown, now: number): RegistrationChange {
  if (error instanceof TransactionTooLarge)
    return failed(row, `${error.message}: shorten the texts`);
  if (error instanceof WalletGone) return failed(row, error.message);
  // A provider failure does not fail the registration: it waits until that passes.
  if (error instanceof ProviderError && !error.permanent)
    return {
      error: `waits for the chain provider: ${error.message}`,
      dueAt: providerAgainAt(error.retryAt, now),
    };
  // A mint that was rolled back may be mined again, and then the token must be burned.
  if (error instanceof NotMinted && now < (row.lastCheckedAt ?? 0) + MAY_RETURN_MS)
    return { error: `waits for the token: ${error.message}`, dueAt: now + WAIT_MS };
  // Should the wallet not know the transaction, it takes it over.
  if (error instanceof TokenSeen)
    return {
      error: `waits for the chain provider: ${error.message}`,
      tx: row.tx && { ...row.tx, hash: error.mintTxHash },
      dueAt: now + WAIT_MS,
    };
  if (error instanceof FormerMayLand)
    return { error: `waits for the chain: ${error.message}`, dueAt: now + WAIT_MS };
  return tryAgain(row, null, messageOf(error), now);
}

/** Back to waiting for another transaction, after a pause; too many tries are a failure. */
function tryAgain(
  row: RegistrationRow,
  status: "FailedViaTimeout" | "FailedViaManualReset" | null,
  reason: string,
  now: number,
): RegistrationChange {
  const failures = row.failures + 1;
  const tx = row.tx && { ...row.tx, status: status ?? row.tx.status };
  if (failures >= MAX_TRIES) return { ...failed(row, reason), tx, failures };
  return {
    state: `${purposeOf(row)}Requested`,
    error: reason,
    ...withoutToken(row),
    tx,
    failures,
    dueAt: now + pauseAfter(failures),
  };
}

/** The transaction before it in the wallet's line ended, which is no failure of this one. */
function againAtOnce(row: RegistrationRow, now: number): RegistrationChange {
  return {
    state: `${purposeOf(row)}Requested`,
    error: null,
    ...withoutToken(row),
    tx: row.tx && { ...row.tx, status: "FailedViaManualReset" },
    dueAt: now,
  };
}

function failed(row: RegistrationRow, reason: string): RegistrationChange {
  return {
    state: `${purposeOf(row)}Failed`,
    error: reason,
    ...withoutToken(row),
    dueAt: null,
  };
}

/** A token that was never minted has no name. */
function withoutToken(row: RegistrationRow): RegistrationChange {
  return purposeOf(row) === "Registration" ? { agentIdentifier: null } : {};
}
