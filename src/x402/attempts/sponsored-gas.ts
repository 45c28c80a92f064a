/** The gas that settlements with a permit of their payer may cost, and what they have cost. */
import { type Database, type Statement, statement, violates } from "../../db/client.ts";
import type { AttemptOrder } from "../model/messages.ts";
import { toGwei } from "../networks/gas-sponsoring.ts";

const DAY_MS = 24 * 60 * 60_000;

/** A day of UTC, since the limits are by day. @param now - epoch milliseconds */
const toDay = (now: number) => Math.floor(now / DAY_MS);

/** The limits do not cover the gas, or another payment of the payer in the token is open. */
export class GasNotSponsoredError extends Error {
  override name = "GasNotSponsoredError";
}

/** Throws the error of a batch; of one that `buildReservation` aborted, GasNotSponsoredError. */
export function throwIfNotSponsored(error: unknown): never {
  const isRefused =
    violates(error, "x402_sponsored_gas.gwei") || violates(error, "x402_sponsored_gas.payer");
  throw isRefused ? new GasNotSponsoredError() : error;
}

/** The gas that the limits leave for a payer on a day, in gwei. Null: the network gives none. */
const REMAINING_SQL = `SELECT min(max_sponsored_gwei_per_day - ifnull(sum(gas.gwei), 0),
    max_sponsored_gwei_per_payer - ifnull(sum(gas.gwei) FILTER (WHERE gas.payer = ?2), 0))
  FROM x402_network AS network LEFT JOIN x402_sponsored_gas AS gas
    ON gas.caip2_id = network.caip2_id AND gas.day = ?3
  WHERE network.caip2_id = ?1`;

/**
 * Reserves the most that a settlement may cost. It aborts its batch where the limits do not cover the cost.
 * So it does where another payment of the payer in the token is open, since permits have consecutive nonces.
 *
 * @param maxCost - in wei
 * @param now - epoch milliseconds
 */
export function buildReservation(
  { attemptId, requirements: { network, asset } }: AttemptOrder,
  payer: string,
  maxCost: string,
  now: number,
): Statement {
  return statement(
    `INSERT INTO x402_sponsored_gas (attempt_id, caip2_id, asset, payer, day, gwei, is_open)
     VALUES (?5, ?1, ?6, ?2, ?3, iif((${REMAINING_SQL}) >= ?4, ?4, NULL), 1)`,
    network,
    payer,
    toDay(now),
    toGwei(BigInt(maxCost)),
    attemptId,
    asset.toLowerCase(),
  );
}

/** Whether a reservation would succeed now. @param maxCost - in wei @param now - epoch milliseconds */
export async function isGasAvailable(
  core: Database,
  { network, asset }: AttemptOrder["requirements"],
  payer: string,
  maxCost: string,
  now: number,
): Promise<boolean> {
  const [row] = await core.all<{ isAvailable: number }>(
    `SELECT (${REMAINING_SQL}) >= ?4 AND NOT EXISTS (SELECT 1 FROM x402_sponsored_gas
       WHERE caip2_id = ?1 AND asset = ?5 AND payer = ?2 AND is_open = 1) AS isAvailable`,
    network,
    payer,
    toDay(now),
    toGwei(BigInt(maxCost)),
    asset.toLowerCase(),
  );
  return row?.isAvailable === 1;
}

/** A claim that may have a reservation: only Permit2 takes a permit. */
const mayHaveReservation = ({ claim }: AttemptOrder) => claim.startsWith("permit2:");

/** Lets the payer use another permit, since the settlement has an outcome. Its cost is known later. */
export function buildRelease(order: AttemptOrder): Statement[] {
  if (!mayHaveReservation(order)) return [];
  return [
    statement("UPDATE x402_sponsored_gas SET is_open = 0 WHERE attempt_id = ?", order.attemptId),
  ];
}

/** Deletes the reservation of an attempt of which nothing was sent. */
export function buildCancellation(order: AttemptOrder): Statement[] {
  if (!mayHaveReservation(order)) return [];
  return [statement("DELETE FROM x402_sponsored_gas WHERE attempt_id = ?", order.attemptId)];
}
