import { chargeSpending, refundSpending } from "../api-keys/spending-limits.ts";
import { type Statement, statement } from "../db/client.ts";
import type { Caller } from "../http/context.ts";
import { MIN_FUNDING } from "./registration-profile.ts";
import type { RegistrationChange, RegistrationRow } from "./tables.ts";

/** Native minor units that leave the wallet with a token; 0 when it stays in the wallet. */
export function computeSentFunds({
  wallet,
  recipient,
  sendFunding,
}: Pick<RegistrationRow, "wallet" | "recipient" | "sendFunding">): bigint {
  if (recipient === null || recipient.address === wallet.address) return 0n;
  const asked = BigInt(sendFunding ?? 0);
  return asked > MIN_FUNDING ? asked : MIN_FUNDING;
}

/**
 * Charges what leaves the wallet with a token to the key's `spendingLimits`, and notes what was
 * charged. For the batch that inserts or updates the registration, after it; beyond the limit the
 * batch aborts.
 */
export function chargeFunding(caller: Caller, row: RegistrationRow): Statement[] {
  const amount = computeSentFunds(row);
  const charges = amount > 0n ? chargeSpending(caller, row.network, [{ unit: "", amount }]) : [];
  if (charges.length === 0) return [];
  return [
    ...charges,
    // The caller is cached: only a key that has limits now was charged.
    statement(
      `UPDATE registration SET funding_charged = ?2 WHERE id = ?1 AND EXISTS (
         SELECT 1 FROM api_key WHERE id = ?3 AND spending_limits IS NOT NULL)`,
      row.id,
      String(amount),
      caller.id,
    ),
  ];
}

/**
 * Gives back what a registration or an update charged, for the batch of the change that ends it
 * without a new token.
 * A transaction that may still land keeps the charge.
 */
export function refundFunding(row: RegistrationRow, change: RegistrationChange): Statement[] {
  const { tx = row.tx, state } = change;
  const isWithoutToken = state === "RegistrationFailed" || state === "UpdateFailed";
  if (!isWithoutToken || row.fundingCharged === null) return [];
  if (tx?.status === "Pending") return [];
  return [
    ...refundSpending(row.createdById, row.network, [
      { unit: "", amount: BigInt(row.fundingCharged) },
    ]),
    statement("UPDATE registration SET funding_charged = NULL WHERE id = ?", row.id),
  ];
}
