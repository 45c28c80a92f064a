/**
 * What holds up a whole wallet or payment source is stored once, there, and joined where a record is
 * shown that waits for it: as with `confirmations`, the stored text has a placeholder.
 */
import { automaticSteps } from "../../env.ts";
import { filledIn } from "../placeholders.ts";
import type { EscrowRecord } from "../record.ts";
import type { Next } from "./next.ts";

/** Around a placeholder; see `render.ts`. */
const MARK = "\u0003";

/**
 * Reasons by what is held up: its kind, and a source's id, a wallet's key, or both where it is a wallet of the
 * source; null: a payment source says that it is not.
 */
export type Holds = Readonly<Record<string, string | null>>;

/** Variables of the deployment that turn off what comes by itself. */
export type AutomaticSettings = Parameters<typeof automaticSteps>[0];

/** What does not come by itself in this deployment, by the side whose step it is. */
export function turnedOff(env: AutomaticSettings): Holds {
  const { payments, refunds } = automaticSteps(env);
  const reason = (variable: keyof AutomaticSettings) =>
    `somebody to ask for it: ${variable} is off`;
  return {
    ...(!payments && { "automatic payment": reason("AUTO_WITHDRAW_PAYMENTS") }),
    ...(!refunds && { "automatic purchase": reason("AUTO_WITHDRAW_REFUNDS") }),
  };
}

/** Of purchases that no wallet was chosen for yet: those that have one wait for it alone. */
const NOBODY_BUYS =
  "waits for a purchasing wallet of its payment source: none is there whose drives is all";

/** SQL of `Holds` of the network ?2 as JSON: one value for a whole page. Few wallets and sources are held up. */
export const HOLDS = `(SELECT json_group_object(name, reason) FROM (
    SELECT 'held ' || vkey AS name, held AS reason FROM hot_wallet
    WHERE network = ?2 AND held IS NOT NULL
    UNION ALL SELECT 'unread ' || source_id, 'waits for the chain provider of its payment source'
    FROM source_cursor WHERE error IS NOT NULL
    UNION ALL SELECT drives || ' ' || source_id || ' ' || vkey, 'waits for its wallet, whose drives is ' || drives
    FROM managed_wallet WHERE network = ?2 AND drives <> 'all' AND deleted_at IS NULL
    UNION ALL SELECT iif(drives = 'all', 'unbought', drives) || ' ' || id,
      iif(drives = 'all', '${NOBODY_BUYS}', 'waits for its payment source, whose drives is ' || drives)
    FROM payment_source WHERE network = ?2 AND deleted_at IS NULL AND (drives <> 'all' OR NOT EXISTS (
      SELECT 1 FROM managed_wallet WHERE source_id = payment_source.id AND role = 'Purchasing'
        AND drives = 'all' AND deleted_at IS NULL))
    UNION ALL SELECT 'automatic ' || own.key || ' ' || payment_source.id, iif(own.value, NULL,
      'somebody to ask for it: ' || iif(own.key = 'payment', 'autoWithdrawPayments', 'autoWithdrawRefunds')
        || ' of its payment source is off')
    FROM payment_source, json_each(json_object(
      'payment', auto_withdraw_payments, 'purchase', auto_withdraw_refunds)) AS own
    WHERE network = ?2 AND own.value IS NOT NULL AND deleted_at IS NULL))`;

/** The text of `Next.waitsFor`, JSON or a placeholder for it. */
export function waitsFor(
  { side, sourceId, wallet }: Pick<EscrowRecord, "side" | "sourceId" | "wallet">,
  { step, waitsFor, isOurTurn, comesByItself }: Next,
): string {
  if (!isOurTurn) return JSON.stringify(waitsFor);
  const isLock = step === "FundsLocking";
  const undriven = isLock ? ["nothing", "finish"] : ["nothing"];
  // A wallet that was removed and added again may have another id.
  const drivers = [sourceId, ...(wallet ? [`${sourceId} ${wallet.vkey}`] : [])];
  const names = [
    ...(comesByItself ? [`automatic ${side} ${sourceId}`] : []),
    ...drivers.flatMap((driver) => undriven.map((drives) => `${drives} ${driver}`)),
    ...(isLock && !wallet ? [`unbought ${sourceId}`] : []),
    ...(wallet ? [`held ${wallet.vkey}`] : []),
    `unread ${sourceId}`,
  ];
  return `${MARK}${names.join(",")}${MARK}`;
}

/** Fills in what is waited for: the first that applies; null where nothing is held up. */
export function withHolds(text: string, holds: Holds): string {
  return filledIn(text, MARK, (names) => {
    const reasons = names.split(",").map((name) => reasonOf(holds, name));
    return JSON.stringify(reasons.find((reason) => reason !== null) ?? null);
  });
}

/** What a payment source says of itself goes before what the deployment says of all. */
function reasonOf(holds: Holds, name: string): string | null {
  const [kind = "", of = ""] = name.split(" ");
  const own = holds[name];
  return (own === undefined && kind === "automatic" ? holds[`${kind} ${of}`] : own) ?? null;
}
