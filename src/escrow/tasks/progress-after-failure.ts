import { TooManyUnits, TransactionTooLarge } from "../../chain/transaction/build-transaction.ts";
import {
  InsufficientFundsError,
  MissingCollateralError,
} from "../../chain/transaction/select-inputs.ts";
import type { ReasonCode } from "../../reason-codes.ts";
import { WAIT_MS } from "../../wallets/queue/backoff.ts";
import {
  DeadlinePassedError,
  describeError,
  MissingInputError,
} from "../../wallets/queue/errors.ts";
import { findWait } from "../../wallets/queue/outcome.ts";
import { OVER_MS } from "../model/due-at.ts";
import { AUTOMATIC, type Intent, type Progress, type RecordError } from "../model/intent.ts";
import { StepImpossible } from "../model/read-escrow.ts";
import type { EscrowRecord, WalletName } from "../model/record.ts";
import { windowOf } from "../model/windows.ts";
import { describeShortage } from "./assign-wallets.ts";
import { endIntent, retryIntent, toRecordError } from "./retry.ts";

/** How long what can no longer be begun in time is left alone; the sync ends it before. */
const LEFT_ALONE_MS = 10 * 60_000;
/** From the last start to the end of a step, and the clocks' difference. */
const MAX_END_MS = OVER_MS + 2 * 60_000;
/** How long an impossible automatic step waits. The escrow may move meanwhile. */
const IMPOSSIBLE_MS = 60 * 60_000;

/**
 * What is wanted of a record for which a wallet could build no transaction.
 *
 * @param now - epoch milliseconds
 */
export function progressAfterFailure(
  record: EscrowRecord,
  wallet: WalletName,
  error: unknown,
  now: number,
): Progress {
  const { progress } = record;
  const { intent } = progress;
  if (intent === null) return progress;
  const isLock = intent.step === "FundsLocking";
  const waiting = (until: number, why: RecordError | null, reasonCode: ReasonCode): Progress => ({
    ...progress,
    intent: { ...intent, tryAt: until, reasonCode },
    error: why,
  });
  if (error instanceof InsufficientFundsError) {
    const { unit, amount } = error.missing;
    const what = isLock ? "the lock" : intent.step;
    const isCollateral = error instanceof MissingCollateralError;
    const missing = new Map([[unit, amount]]);
    const note = describeShortage({ wallet, missing, isCollateral }, what);
    // Clients know no such type of a payment.
    const type = record.side === "purchase" ? "InsufficientFunds" : "Unknown";
    return waiting(now + WAIT_MS, toRecordError(note, type), "funds");
  }
  // What blocks the whole wallet or source is stored there, not on each record.
  const wait = findWait(error, now);
  if (wait) return waiting(wait.dueAt, progress.error, wait.code);
  if (error instanceof MissingInputError) return waiting(now + WAIT_MS, progress.error, "chain");
  if (error instanceof DeadlinePassedError)
    return isLock
      ? waiting(now + LEFT_ALONE_MS, progress.error ?? toRecordError(LOCK_OVER), "chain")
      : afterDeadline(record, intent, now);
  if (error instanceof StepImpossible)
    return intent.by === AUTOMATIC
      ? waiting(now + IMPOSSIBLE_MS, toRecordError(error.message), "chain")
      : endIntent(progress, error.message);
  const isTooLarge = error instanceof TransactionTooLarge && !(error instanceof TooManyUnits);
  const reason = isTooLarge ? `${error.message}; ${SCRIPT_NEEDED}` : describeError(error);
  const after = retryIntent(progress, reason, now);
  return after.intent === null ? after : { ...after, error: toRecordError(reason) };
}

/**
 * Ends a step after its deadline. A block may still hold an unseen transaction of the step, so the end comes
 * only when that is impossible.
 */
function afterDeadline(record: EscrowRecord, intent: Intent, now: number): Progress {
  const deadline = windowOf(record, intent.step)?.deadline ?? 0;
  const until = deadline + OVER_MS;
  const { progress } = record;
  if (until > now && until - now <= MAX_END_MS)
    return { ...progress, intent: { ...intent, tryAt: until } };
  return endIntent(progress, `${intent.step} was not done in time: its deadline is over`);
}

const LOCK_OVER = "the pay-by time is too near to lock the funds: the purchase ends at this time";

const SCRIPT_NEEDED =
  "the escrow is so large that its step needs the contract's script on the chain: publish the reference script of the payment source";
