import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { rpcError } from "./network-settings.ts";
import { NoRail, railOf } from "./networks.ts";
import type { SettleOrder } from "./settlement.ts";

/** What POST /x402/verify tells. */
export interface Verification {
  isValid: boolean;
  payer: string | null;
  invalidReason: string | null;
  invalidMessage: string | null;
}

/**
 * Judges a payment and settles nothing.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404 when the network cannot settle, 502 and 504 when its node fails
 */
export async function verifyOrder(
  c: AppContext,
  order: SettleOrder,
  now: number,
): Promise<Verification> {
  try {
    const rail = await railOf(c.env, order.requirements.network, c.var.deadline);
    const { judge } = await import("./judge.ts");
    const verdict = await judge(rail, order, now, now);
    return {
      isValid: verdict.isValid,
      payer: verdict.payer,
      invalidReason: verdict.isValid ? null : verdict.invalidReason,
      invalidMessage: verdict.isValid ? null : (verdict.invalidMessage ?? null),
    };
  } catch (error) {
    if (error instanceof NoRail) throw new ApiError(404, error.message);
    throw rpcError(error);
  }
}
