import { ProviderError } from "../../chain/provider/provider.ts";
import { TooManyUnits, TransactionTooLarge } from "../../chain/transaction/build.ts";
import { CollateralMissing, WalletShort } from "../../chain/transaction/selection.ts";
import { providerAgainAt, WAIT_MS } from "../../wallets/pauses.ts";
import { DeadlinePassed, NotYet } from "../../wallets/spending/making/window.ts";
import { FormerMayLand, InputMissing, messageOf } from "../../wallets/work.ts";
import { StepImpossible } from "../actions/escrow.ts";
import { windowOf } from "../actions/windows.ts";
import { OVER_MS } from "../fold/due-at.ts";
import type { EscrowRecord, WalletName } from "../record.ts";
import { AUTOMATIC, type RecordError, type Want, type Wanted } from "../wanted.ts";
import { shortageNote } from "./deal.ts";
import { afterTry, ended, problem } from "./tries.ts";

/** How long what can no longer be begun in time is left alone; the sync ends it before. */
const LEFT_ALONE_MS = 10 * 60_000;
/** From the last start to the end of a step, and the clocks' difference. */
const MAX_END_MS = OVER_MS + 2 * 60_000;
/** How long what comes by itself and is not possible is left alone: the escrow may be moved meanwhile. */
const IMPOSSIBLE_MS = 60 * 60_000;

/**
 * What is wanted of a record for which a wallet could build no transaction.
 *
 * @param now - epoch milliseconds
 */
export function afterFailure(
  record: EscrowRecord,
  wallet: WalletName,
  error: unknown,
  now: number,
): Wanted {
  const { wanted } = record;
  const { want } = wanted;
  if (want === null) return wanted;
  const isLock = want.step === "FundsLocking";
  const waiting = (until: number, why: RecordError | null): Wanted => ({
    ...wanted,
    want: { ...want, tryAt: until },
    error: why,
  });
  if (error instanceof WalletShort) {
    const { unit, amount } = error.missing;
    const what = isLock ? "the lock" : want.step;
    const isCollateral = error instanceof CollateralMissing;
    const missing = new Map([[unit, amount]]);
    const note = shortageNote({ wallet, missing, isCollateral }, what);
    // Clients know no such type of a payment.
    const type = record.side === "purchase" ? "InsufficientFunds" : "Unknown";
    return waiting(now + WAIT_MS, problem(note, type));
  }
  // What holds up all that a wallet or a source does is not told by each record: so with the next three.
  if (error instanceof ProviderError && !error.permanent)
    return waiting(providerAgainAt(error.retryAt, now), wanted.error);
  if (error instanceof FormerMayLand || error instanceof InputMissing)
    return waiting(now + WAIT_MS, wanted.error);
  if (error instanceof NotYet) return waiting(error.until, wanted.error);
  if (error instanceof DeadlinePassed)
    return isLock
      ? waiting(now + LEFT_ALONE_MS, wanted.error ?? problem(LOCK_OVER))
      : afterDeadline(record, want, now);
  if (error instanceof StepImpossible)
    return want.by === AUTOMATIC
      ? waiting(now + IMPOSSIBLE_MS, problem(error.message))
      : ended(wanted, error.message);
  const isTooLarge = error instanceof TransactionTooLarge && !(error instanceof TooManyUnits);
  const reason = isTooLarge ? `${error.message}; ${SCRIPT_NEEDED}` : messageOf(error);
  const after = afterTry(wanted, reason, now);
  return after.want === null ? after : { ...after, error: problem(reason) };
}

/**
 * Nothing more is built for a step, but what was sent for it before may be in a block that nobody has seen
 * yet: so it is over only as long after its deadline as that may take.
 */
function afterDeadline(record: EscrowRecord, want: Want, now: number): Wanted {
  const deadline = windowOf(record, want.step)?.deadline ?? 0;
  const until = deadline + OVER_MS;
  const { wanted } = record;
  if (until > now && until - now <= MAX_END_MS)
    return { ...wanted, want: { ...want, tryAt: until } };
  return ended(wanted, `${want.step} was not done in time: its window has closed`);
}

const LOCK_OVER =
  "the pay-by time is too near to lock the funds: the purchase ends as soon as the chain was followed beyond it";

const SCRIPT_NEEDED =
  "a step of so large an escrow needs the contract's script on the chain, which GET /payment-source-extended/reference-script tells of and POST asks for";
