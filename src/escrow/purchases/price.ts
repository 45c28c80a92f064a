import { sumOf, type Value } from "../../chain/transaction/value.ts";
import { ApiError } from "../../http/errors.ts";
import type { AgentProfile } from "../../registry/profile.ts";
import { fundsOf } from "../fold/escrow-outputs.ts";
import type { StoredFunds } from "../record.ts";
import { type Price, priceOf } from "../requests/offer.ts";

/**
 * The price that a buyer agrees to. A fixed one is not signed: a buyer that sends it makes sure that it
 * has not changed since.
 *
 * @param amounts - `Amounts` of the request
 * @throws ApiError 400
 */
export function agreedPrice(
  pricing: AgentProfile["pricing"],
  amounts: StoredFunds[] | null,
): Price {
  if (pricing.type !== "Fixed") return priceOf(pricing, amounts, "Amounts");
  const price = priceOf(pricing, null);
  if (amounts !== null && !isSame(sumOf(amounts.map(fundsOf)), sumOf(price.funds.map(fundsOf))))
    throw new ApiError(
      400,
      `Amounts: must be the agent's fixed price: ${price.funds.map(shown).join(", ")}`,
    );
  return price;
}

function isSame(one: Value, other: Value): boolean {
  return one.size === other.size && [...one].every(([unit, sum]) => other.get(unit) === sum);
}

function shown({ unit, amount }: StoredFunds): string {
  return `${amount} of ${unit === "" ? "the native coin" : unit}`;
}
