/**
 * A blocker of a whole wallet or payment source is stored once, with the wallet or source. It is
 * joined when a waiting record is shown. Like `confirmations`, it has a placeholder in the stored
 * text.
 */
import { readAutomaticSteps } from "../../env.ts";
import type { ReasonCode } from "../../reason-codes.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import type { NextStep } from "../model/find-next-step.ts";

/** Around a placeholder; see `fillPlaceholders`. */
const BLOCKER_MARK = "\u0003";

/** Why something is blocked. */
interface BlockerReason {
  code: ReasonCode;
  /** For people. */
  reason: string;
}

/**
 * Reasons by the kind and the id of the blocked subject. The id is a source's id, a wallet's key,
 * or both for a wallet of the source. Null: the payment source is not blocked.
 */
export type Blockers = Readonly<Record<string, BlockerReason | null>>;

/** The deployment's variables that turn off automatic steps. */
export type AutomaticStepSettings = Parameters<typeof readAutomaticSteps>[0];

/** Automatic steps that the deployment turns off, by side. */
export function findDisabledSteps(env: AutomaticStepSettings): Blockers {
  const { payments, refunds } = readAutomaticSteps(env);
  const toBlockerReason = (variable: keyof AutomaticStepSettings): BlockerReason => ({
    code: "person",
    reason: `a request, since ${variable} is off`,
  });
  return {
    ...(!payments && { "automatic payment": toBlockerReason("AUTO_WITHDRAW_PAYMENTS") }),
    ...(!refunds && { "automatic purchase": toBlockerReason("AUTO_WITHDRAW_REFUNDS") }),
  };
}

/** Of purchases that no wallet was chosen for yet: those that have one wait for it alone. */
const NO_BUYER_REASON =
  "waits for a purchasing wallet of its payment source: none has the drives all";

/** SQL of `Blockers` of the network ?1 as JSON: one value for a whole page. Few wallets and sources are blocked. */
export const BLOCKERS_SQL = `(SELECT json_group_object(
    name, json(iif(reason IS NULL, NULL, json_object('code', code, 'reason', reason)))) FROM (
    SELECT 'held ' || vkey AS name, blocker_code AS code, blocker AS reason FROM hot_wallet
    WHERE network = ?1 AND blocker IS NOT NULL
    UNION ALL SELECT 'unread ' || source_id, 'provider', 'waits for the chain provider of its payment source'
    FROM source_cursor WHERE error IS NOT NULL
    UNION ALL SELECT drives || ' ' || source_id || ' ' || vkey, 'source',
      'waits for its wallet, whose drives is ' || drives
    FROM managed_wallet WHERE network = ?1 AND drives <> 'all' AND deleted_at IS NULL
    UNION ALL SELECT iif(drives = 'all', 'unbought', drives) || ' ' || id, 'source',
      iif(drives = 'all', '${NO_BUYER_REASON}', 'waits for its payment source, whose drives is ' || drives)
    FROM payment_source WHERE network = ?1 AND deleted_at IS NULL AND (drives <> 'all' OR NOT EXISTS (
      SELECT 1 FROM managed_wallet WHERE source_id = payment_source.id AND role = 'Purchasing'
        AND drives = 'all' AND deleted_at IS NULL))
    UNION ALL SELECT 'automatic ' || own.key || ' ' || payment_source.id, 'person', iif(own.value, NULL,
      'a request, since ' || iif(own.key = 'payment', 'autoWithdrawPayments', 'autoWithdrawRefunds')
        || ' of its payment source is off')
    FROM payment_source, json_each(json_object(
      'payment', auto_withdraw_payments, 'purchase', auto_withdraw_refunds)) AS own
    WHERE network = ?1 AND own.value IS NOT NULL AND deleted_at IS NULL))`;

type BlockedRecord = Pick<EscrowRecord, "side" | "sourceId" | "wallet">;

/** The text of `Next.waitsFor` and `Next.code`, JSON or a placeholder for both. */
export function renderWaitsFor(record: BlockedRecord, next: NextStep): string {
  const { waitsFor, code, isOurTurn } = next;
  if (!isOurTurn) return renderReasonFields(waitsFor, code);
  return `${BLOCKER_MARK}${collectBlockerNames(record, next).join(",")}${BLOCKER_MARK}`;
}

/** Fills in what is waited for: the first that applies; null where nothing is held up. */
export function fillBlockers(text: string, holds: Blockers): string {
  const hasBlockers = Object.keys(holds).length > 0;
  return fillPlaceholders(text, BLOCKER_MARK, (names) => {
    const blocker = hasBlockers ? findFirstReason(holds, names.split(",")) : null;
    return renderReasonFields(blocker?.reason ?? null, blocker?.code ?? null);
  });
}

/** Finds what blocks a record whose next step is this service's turn. */
export function findRecordBlocker(
  record: BlockedRecord,
  next: NextStep,
  holds: Blockers,
): BlockerReason | null {
  return next.isOurTurn ? findFirstReason(holds, collectBlockerNames(record, next)) : null;
}

function renderReasonFields(waitsFor: string | null, code: ReasonCode | null): string {
  return `${JSON.stringify(waitsFor)},"code":${JSON.stringify(code)}`;
}

/** What may block a record, most specific first. */
function collectBlockerNames(
  { side, sourceId, wallet }: BlockedRecord,
  { step, isAutomatic }: NextStep,
): string[] {
  const isLock = step === "FundsLocking";
  const undriven = isLock ? ["nothing", "finish"] : ["nothing"];
  // A wallet that was removed and added again may have another id.
  const drivers = [sourceId, ...(wallet ? [`${sourceId} ${wallet.vkey}`] : [])];
  return [
    ...(isAutomatic ? [`automatic ${side} ${sourceId}`] : []),
    ...drivers.flatMap((driver) => undriven.map((drives) => `${drives} ${driver}`)),
    ...(isLock && !wallet ? [`unbought ${sourceId}`] : []),
    ...(wallet ? [`held ${wallet.vkey}`] : []),
    `unread ${sourceId}`,
  ];
}

function findFirstReason(holds: Blockers, names: readonly string[]): BlockerReason | null {
  for (const name of names) {
    const reason = reasonOf(holds, name);
    if (reason !== null) return reason;
  }
  return null;
}

/** What a payment source says of itself goes before what the deployment says of all. */
function reasonOf(holds: Blockers, name: string): BlockerReason | null {
  const own = holds[name];
  if (own !== undefined || !name.startsWith("automatic ")) return own ?? null;
  return holds[name.slice(0, name.lastIndexOf(" "))] ?? null;
}

/**
 * Replaces the text between two marks, everywhere. Every record of every page needs it, and a regular
 * expression takes twice as long.
 *
 * @param mark - a control character. JSON escapes it, so the text has it nowhere else.
 */
export function fillPlaceholders(
  text: string,
  mark: string,
  fill: (between: string) => string,
): string {
  let from = 0;
  let filled = "";
  for (let begin = text.indexOf(mark); begin !== -1; begin = text.indexOf(mark, from)) {
    const end = text.indexOf(mark, begin + 1);
    filled += text.slice(from, begin) + fill(text.slice(begin + 1, end));
    from = end + 1;
  }
  return filled + text.slice(from);
}
