import {
  TooManyExecutionUnitsError,
  TransactionTooLargeError,
} from "../../chain/transaction/build-transaction.ts";
import {
  InsufficientFundsError,
  MissingCollateralError,
} from "../../chain/transaction/select-inputs.ts";
import type { ReasonCode } from "../../reason-codes.ts";
import { RETRY_DELAY_MS } from "../../wallets/queue/backoff.ts";
import {
  DeadlinePassedError,
  describeError,
  MissingInputError,
} from "../../wallets/queue/errors.ts";
import { findTaskDelay } from "../../wallets/queue/outcome.ts";
import { DEADLINE_MARGIN_MS } from "../model/compute-due-at.ts";
import type { EscrowRecord, WalletReference } from "../model/escrow-record.ts";
import {
  AUTOMATIC_REQUESTER,
  type Intent,
  type Progress,
  type RecordError,
} from "../model/intent.ts";
import { StepImpossibleError } from "../model/read-escrow.ts";
import { windowOf } from "../model/windows.ts";
import { describeShortage } from "./assign-wallets.ts";
import { endIntent, retryIntent, toRecordError } from "./retry-intent.ts";

/** How long what can no longer be begun in time is left alone; the sync ends it before. */
const MISSED_DEADLINE_RETRY_DELAY_MS = 10 * 60_000;
/** From the last start to the end of a step, and the clocks' difference. */
const MAX_CLOSING_TIME_MS = DEADLINE_MARGIN_MS + 2 * 60_000;
/** How long an impossible automatic step waits. The escrow may move meanwhile. */
const IMPOSSIBLE_STEP_RETRY_DELAY_MS = 60 * 60_000;

/**
 * What is wanted of a record for which a wallet could build no transaction.
 *
 * @param now - epoch milliseconds
 */
export function computeProgressAfterFailure(
  record: EscrowRecord,
  wallet: WalletReference,
  error: unknown,
  now: number,
): Progress {
  const { progress } = record;
  const { intent } = progress;
  if (intent === null) return progress;
  const isLock = intent.step === "FundsLocking";
  const delayUntil = (
    until: number,
    why: RecordError | null,
    reasonCode: ReasonCode,
  ): Progress => ({
    ...progress,
    intent: { ...intent, tryAt: until, reasonCode },
    error: why,
  });
  if (error instanceof InsufficientFundsError) {
    const { unit, amount } = error.missingFunds;
    const what = isLock ? "the lock" : intent.step;
    const isCollateral = error instanceof MissingCollateralError;
    const missing = new Map([[unit, amount]]);
    const note = describeShortage({ wallet, missing, isCollateral }, what);
    // Clients know no such type of a payment.
    const type = record.side === "purchase" ? "InsufficientFunds" : "Unknown";
    return delayUntil(now + RETRY_DELAY_MS, toRecordError(note, type), "funds");
  }
  // What blocks the whole wallet or source is stored there, not on each record.
  const wait = findTaskDelay(error, now);
  if (wait) return delayUntil(wait.dueAt, progress.error, wait.code);
  if (error instanceof MissingInputError)
    return delayUntil(now + RETRY_DELAY_MS, progress.error, "chain");
  if (error instanceof DeadlinePassedError)
    return isLock
      ? delayUntil(
          now + MISSED_DEADLINE_RETRY_DELAY_MS,
          progress.error ?? toRecordError(LOCK_DEADLINE_NOTE),
          "chain",
        )
      : endAfterDeadline(record, intent, now);
  if (error instanceof StepImpossibleError)
    return intent.by === AUTOMATIC_REQUESTER
      ? delayUntil(now + IMPOSSIBLE_STEP_RETRY_DELAY_MS, toRecordError(error.message), "chain")
      : endIntent(progress, error.message);
  const isTooLarge =
    error instanceof TransactionTooLargeError && !(error instanceof TooManyExecutionUnitsError);
  const reason = isTooLarge ? `${error.message}; ${SCRIPT_NEEDED_HINT}` : describeError(error);
  const after = retryIntent(progress, reason, now);
  return after.intent === null ? after : { ...after, error: toRecordError(reason) };
}

/**
 * Ends a step after its deadline. A block may still hold an unseen transaction of the step, so the end comes
 * only when that is impossible.
 */
function endAfterDeadline(record: EscrowRecord, intent: Intent, now: number): Progress {
  const deadline = windowOf(record, intent.step)?.deadline ?? 0;
  const until = deadline + DEADLINE_MARGIN_MS;
  const { progress } = record;
  if (until > now && until - now <= MAX_CLOSING_TIME_MS)
    return { ...progress, intent: { ...intent, tryAt: until } };
  return endIntent(progress, `${intent.step} was not done in time: its deadline is over`);
}

const LOCK_DEADLINE_NOTE =
  "the pay-by time is too near to lock the funds: the purchase ends at this time";

const SCRIPT_NEEDED_HINT =
  "the escrow is so large that its step needs the contract's script on the chain: publish the reference script of the payment source";
