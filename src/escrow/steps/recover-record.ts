import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import { type Intent, isAbandoned, type Progress, type Step } from "../model/intent.ts";
import { isStepPossible } from "../model/windows.ts";
import type { IdentifiedRecord } from "../store/load-by-identifier.ts";
import {
  changeOwnRecord,
  createWrongStateError,
  type EscrowReference,
  type RecordDecision,
  requirePossibleStep,
} from "./change-record.ts";
import { explainImpossibleStep, explainWalletRemoved } from "./validate-step.ts";

/** What a person has decided. */
interface RecoveryDecision {
  /** Whether the step that failed is tried again. */
  isRetried: boolean;
  /** The record's `updatedAt` that was decided on, epoch milliseconds; null: whichever it is. */
  updatedAt: number | null;
}

/**
 * Clears a record's error, or has what failed tried again.
 *
 * @param now - epoch milliseconds
 * @returns the record, once per Idempotency-Key
 * @throws ApiError 403, 404, 409, 422, 503; ProviderError
 */
export async function recoverRecord<ApiRecord>(
  c: AppContext,
  named: EscrowReference,
  { isRetried, updatedAt }: RecoveryDecision,
  now: number,
): Promise<ApiRecord> {
  const decide = async ({ record }: IdentifiedRecord): Promise<RecordDecision> => {
    const { side } = record;
    if (updatedAt !== null && record.updatedAt !== updatedAt)
      throw new ApiError(
        "changed_concurrently",
        `updatedAt: the ${side} changed at ${new Date(record.updatedAt).toISOString()}. Read the ${side}, and decide again.`,
      );
    const recovery = isRetried ? retryStep(record, now) : clearError(record);
    if (recovery.is === "nothing") return { change: null };
    if (recovery.is === "refused") throw createWrongStateError(recovery.reason);
    const { progress, step } = recovery;
    if (step !== null && progress.pendingTransaction === null)
      await requirePossibleStep(c, record, step, step, now);
    return { change: { progress, action: isRetried ? "retry" : "clear", step } };
  };
  return (await changeOwnRecord<ApiRecord>(c, named, decide, now)).record;
}

type Recovery =
  /** It goes on already. */
  | { is: "nothing" }
  | { is: "refused"; reason: string }
  /** `step`: the one that is tried again; null: none is. */
  | { is: "change"; progress: Progress; step: Step | null };

const toRefusedRecovery = (reason: string): Recovery => ({ is: "refused", reason });

/**
 * Removes an error from a record. The failed step is not an intent any more, except a lock: only
 * `POST /purchase/cancel` gives up a lock. A pending transaction stays pending.
 */
export function clearError(record: EscrowRecord): Recovery {
  const { side, progress } = record;
  const { intent, pendingTransaction, error } = progress;
  if (isAbandoned(record)) return toRefusedRecovery(explainWalletRemoved(record));
  if (error === null) return toRefusedRecovery(`the ${side} has no error to clear`);
  const stays = pendingTransaction !== null || intent?.step === "FundsLocking";
  const left = stays && intent ? removeRetryFields(intent) : null;
  return { is: "change", progress: { ...progress, intent: left, error: null }, step: null };
}

/**
 * Has the step that failed, or that waits after tries that did, tried again at once. It is the same want as
 * before, so that a lock which was sent for it, and may land, excludes another one.
 *
 * @param now - epoch milliseconds
 */
export function retryStep(record: EscrowRecord, now: number): Recovery {
  const { side, sourceType, state, progress } = record;
  const { intent, pendingTransaction, error, expiredAt } = progress;
  if (isAbandoned(record)) return toRefusedRecovery(explainWalletRemoved(record));
  const failed = intent ?? error?.endedIntent ?? null;
  if (failed === null) return toRefusedRecovery(`the ${side} has no step to retry`);
  const isFresh = intent?.failures === undefined && intent?.tryAt === undefined;
  if (intent !== null && error === null && (pendingTransaction !== null || isFresh))
    return { is: "nothing" };
  const { step } = failed;
  if (step === "FundsLocking" && state.onChainState !== null)
    return toRefusedRecovery(`the ${side}'s funds are locked`);
  if (step === "FundsLocking" && expiredAt !== null)
    return toRefusedRecovery(`the ${side} can no longer be locked`);
  if (step !== "FundsLocking" && state.onChainState === null)
    return toRefusedRecovery(`the ${side}'s funds are not locked`);
  if (pendingTransaction === null && !isStepPossible(step, state.onChainState, sourceType))
    return toRefusedRecovery(explainImpossibleStep(record, step, step));
  const retriedIntent = { ...removeRetryFields(failed), since: now };
  return { is: "change", progress: { ...progress, intent: retriedIntent, error: null }, step };
}

function removeRetryFields({ failures: _, tryAt: __, reasonCode: ___, ...intent }: Intent): Intent {
  return intent;
}
