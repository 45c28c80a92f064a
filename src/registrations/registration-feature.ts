import { TransactionTooLargeError } from "../chain/transaction/build-transaction.ts";
import type { Database } from "../db/client.ts";
import type { ReasonCode } from "../reason-codes.ts";
import { TaskError } from "../task-error.ts";
import { progressOf } from "../wallets/model/phases.ts";
import type {
  StoredTask,
  TaskUpdate,
  WalletTransaction,
} from "../wallets/model/wallet-transaction.ts";
import { RETRY_DELAY_MS } from "../wallets/queue/backoff.ts";
import type { BuildContext, WalletFeature } from "../wallets/queue/feature.ts";
import { decideEndOutcome, describeProviderFailure } from "../wallets/queue/outcome.ts";
import { PENDING_STATE, type SourceWallet } from "../wallets/queue/store.ts";
import {
  createSubjectFeature,
  type SubjectOutcome,
  type SubjectPort,
} from "../wallets/queue/subject-feature.ts";
import { VALID_AFTER_SLOTS } from "../wallets/spending/building/validity-window.ts";
import { readSubjectIds } from "../wallets/spending/store/transactions.ts";
import {
  buildRegistrationPart,
  computeMintedIdentifier,
  NotMintedError,
  type RegistrationDetail,
} from "./build-registration-part.ts";
import type { RegistrationTransaction } from "./registration-profile.ts";
import {
  findOpenPurpose,
  purposeOfState,
  REGISTRATION_FEATURE,
  type RegistrationPurpose,
} from "./states.ts";
import { readRegistrations, updateRegistration } from "./store.ts";
import type { RegistrationChange, RegistrationRow } from "./tables.ts";

/** The token of a former try exists, and its transaction is not shown yet. */
class TokenExistsError extends TaskError {
  override name = "TokenExistsError";

  constructor(token: string) {
    super(`the provider shows the token ${token}, but not its transaction yet`);
  }
}

/** How long after its confirmation the network may include a transaction again. */
const LATE_INCLUSION_MARGIN_MS = 120_000;
const REOPENING_MAX_AGE_MS = VALID_AFTER_SLOTS * 1000 + LATE_INCLUSION_MARGIN_MS;

/**
 * Creates the feature that mints, updates and burns the tokens of a payment source's registrations.
 *
 * @param db - with `writes: "idempotent"`
 */
export function createRegistrationFeature(db: Database, wallet: SourceWallet): WalletFeature {
  const feature = createSubjectFeature(db, createRegistrationPort(db), wallet);
  return {
    ...feature,
    placement: "chained",
    async buildPart({ id }, context) {
      const row = feature.requireRow(id);
      const purpose = purposeOf(row);
      if (purpose !== "Deregistration") await rejectSecondMint(db, row, purpose, context);
      return buildRegistrationPart(row, purpose, context);
    },
  };
}

/** What the queue knows of registrations. */
export function createRegistrationPort(
  db: Database,
): SubjectPort<RegistrationRow, RegistrationChange> {
  return {
    name: REGISTRATION_FEATURE,
    revision: "registration.revision",
    read: (ids) => readRegistrations(db, ids),
    update: (changed, now) =>
      changed.flatMap(({ row, change }) => updateRegistration(db, row, change, now)),
    hasSent: ({ tx }) => tx !== null,
    isSame: requestsSameTransaction,
    decideAfterUpdate: decideRegistrationOutcome,
    decideAfterFailure: decideRegistrationFailure,
    giveUp: (row, reason) => ({ change: toFailedChange(row, reason), task: null }),
  };
}

/** Whether two states of a registration ask for the same transaction. */
function requestsSameTransaction(row: RegistrationRow, other: RegistrationRow): boolean {
  const toComparableText = ({
    state,
    profile,
    policyId,
    wallet,
    recipient,
    sendFunding,
  }: RegistrationRow) =>
    JSON.stringify({ state, profile, policyId, wallet, recipient, sendFunding });
  return toComparableText(row) === toComparableText(other);
}

/**
 * Rejects a second mint. The token's name is the same in every try that spends the same outputs, so the
 * provider may show the token before its transaction. Another registration may have spent those outputs, too.
 */
async function rejectSecondMint(
  db: Database,
  row: RegistrationRow,
  purpose: RegistrationPurpose,
  { provider }: Pick<BuildContext, "provider">,
): Promise<void> {
  const token = row.tx && computeMintedIdentifier(row, purpose);
  const mintHash = token && (await provider.assetMint(token));
  if (!mintHash) return;
  const subjectIds = await readSubjectIds(db, mintHash);
  const isOfAnother = subjectIds.length > 0 && !subjectIds.includes(row.id);
  if (!isOfAnother) throw new TokenExistsError(token);
}

type RegistrationOutcome = SubjectOutcome<RegistrationChange>;

/** What became of a registration by what became of its transaction; null: nothing new. */
function decideRegistrationOutcome(
  row: RegistrationRow,
  { task, transaction }: TaskUpdate,
  now: number,
): RegistrationOutcome | null {
  const { purpose, agentIdentifier, replaced, seed } = task.detail as RegistrationDetail;
  const { hash, phase, validTo, fee, blockHeight, blockTime } = transaction;
  // It wants something else by now.
  if (!isOfLastRequest(row, task)) return null;
  const tx: RegistrationTransaction = {
    hash,
    taskId: task.id,
    status: "Pending",
    validTo,
    fees: String(fee),
    blockHeight: null,
    blockTime: null,
  };
  const confirmed = { ...tx, status: "Confirmed" as const, blockHeight, blockTime };
  const isCurrent = row.tx?.hash === hash;
  const named = { agentIdentifier, ...(seed !== null && { seed }) };
  // Until an update has landed, the chain shows the former token.
  const former = replaced !== null && { agentIdentifier: replaced };
  // The wallet may notice a rollback of what was confirmed before a registry source does.
  const isUndone = isCurrent && row.state === `${purpose}Confirmed`;
  const before: RegistrationRow = {
    ...row,
    ...former,
    ...(isUndone && { state: `${purpose}Initiated` }),
  };
  const attempts = row.task?.attempts ?? 0;
  switch (progressOf(phase)) {
    case "UnderWay":
      return {
        change: { state: `${purpose}Initiated`, error: null, ...named, ...former, tx },
        task: { ...PENDING_STATE, attempts },
      };
    case "Landed":
      return {
        change: {
          state: `${purpose}Confirmed`,
          error: null,
          ...named,
          tx: confirmed,
          lastCheckedAt: now,
        },
        task: PENDING_STATE,
      };
    case "Ended":
      if (!isCurrent || findOpenPurpose(before.state) === null) return null;
      if (phase === "Failed") {
        const reason =
          "the policy's script refused the transaction, and the network took the collateral";
        return {
          change: { ...toFailedChange(before, reason), tx: confirmed, lastCheckedAt: now },
          task: null,
        };
      }
      return retryRegistration(before, transaction, now);
  }
}

/** Whether the task of a transaction is what was requested last: one update may follow another. */
function isOfLastRequest(row: RegistrationRow, { id, detail }: StoredTask): boolean {
  const { purpose } = detail as RegistrationDetail;
  if (purposeOfState(row.state) !== purpose) return false;
  return purpose !== "Update" || (row.task?.id ?? row.tx?.taskId) === id;
}

function purposeOf(row: RegistrationRow): RegistrationPurpose {
  const purpose = findOpenPurpose(row.state);
  if (purpose === null) throw new Error(`registration ${row.id} is ${row.state}, yet due`);
  return purpose;
}

/** What follows from errors that mean something special for a registration. */
function decideRegistrationFailure(
  row: RegistrationRow,
  error: unknown,
  now: number,
): RegistrationOutcome | null {
  const toDelayedOutcome = (reasonCode: ReasonCode, reason: string): RegistrationOutcome => ({
    task: { attempts: row.task?.attempts ?? 0, reasonCode, reason, dueAt: now + RETRY_DELAY_MS },
  });
  if (error instanceof TransactionTooLargeError)
    return { change: toFailedChange(row, `${error.message}: shorten the texts`), task: null };
  // A mint that was rolled back may be mined again, and then the token must be burned.
  if (error instanceof NotMintedError && now < (row.lastCheckedAt ?? 0) + REOPENING_MAX_AGE_MS)
    return toDelayedOutcome("chain", `waits for the token: ${error.message}`);
  if (error instanceof TokenExistsError)
    return toDelayedOutcome("provider", describeProviderFailure(error));
  return null;
}

/** Back to waiting for another transaction, after a pause; too many tries are a failure. */
function retryRegistration(
  row: RegistrationRow,
  transaction: WalletTransaction,
  now: number,
): RegistrationOutcome {
  const status = transaction.phase === "Expired" ? "FailedViaTimeout" : "FailedViaManualReset";
  const tx = row.tx && ({ ...row.tx, status } as const);
  const outcome = decideEndOutcome(row.task?.attempts ?? 0, transaction, now);
  if ("givenUp" in outcome)
    return { change: { ...toFailedChange(row, outcome.givenUp), tx }, task: null };
  const state = `${purposeOf(row)}Requested` as const;
  return { change: { state, error: null, ...clearUnmintedToken(row), tx }, task: outcome.task };
}

function toFailedChange(row: RegistrationRow, reason: string): RegistrationChange {
  return { state: `${purposeOf(row)}Failed`, error: reason, ...clearUnmintedToken(row) };
}

/** A token that was never minted has no name. Others keep theirs. */
function clearUnmintedToken(row: RegistrationRow): RegistrationChange {
  const { agentIdentifier } = row;
  return { agentIdentifier: purposeOf(row) === "Registration" ? null : agentIdentifier };
}
