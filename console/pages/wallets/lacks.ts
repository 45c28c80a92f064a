/** Why a wallet lacks an amount. */
import { formatFunds } from "../../ui/format.ts";
import { textAt } from "../../ui/path.ts";

/** The API names a rule by its id, and its threshold in minor units. */
const RULE_REASON = /^below (\d+), the threshold of the rule \w+$/;

export function describeLackReason(lack: unknown): string {
  const reason = textAt(lack, "reason");
  const [, threshold] = RULE_REASON.exec(reason) ?? [];
  return threshold === undefined
    ? reason
    : `a balance rule warns below ${formatFunds(threshold, textAt(lack, "unit"))}`;
}
