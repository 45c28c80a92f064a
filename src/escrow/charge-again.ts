import { type Statement, statement } from "../db/client.ts";

/** Of the locked purchases, whose ids are the parameter, those whose charge was given back. */
const GIVEN_BACK = "escrow.id IN (SELECT value FROM json_each(?)) AND charge = 'returned'";

/**
 * Charges purchases again whose charge was given back before their lock landed, for the batch that writes the
 * lock: a database that was set back forgets that one is under way. What a key has bought since does not
 * stop the chain's answer: credits end at their limit, and spending beyond its limit lets nothing more be bought.
 */
export function chargeAgain(ids: readonly string[]): Statement[] {
  if (ids.length === 0) return [];
  const listed = JSON.stringify(ids);
  return [
    // What is taken is noted first: a purchase that finds no credits left has none to give back later.
    statement(
      `UPDATE escrow_request SET credits = max(0, min(credits, again.room))
       FROM (SELECT record_id AS id, max_usage_credits - accumulated_usage_credits + credits
           - sum(credits) OVER (PARTITION BY api_key.id ORDER BY record_id) AS room
         FROM escrow JOIN escrow_request ON record_id = escrow.id
           JOIN api_key ON api_key.id = escrow.requested_by_id
         WHERE ${GIVEN_BACK} AND credits > 0) AS again
       WHERE record_id = again.id`,
      listed,
    ),
    statement(
      `UPDATE api_key SET accumulated_usage_credits = accumulated_usage_credits + again.credits
       FROM (SELECT escrow.requested_by_id AS key_id, sum(credits) AS credits
         FROM escrow JOIN escrow_request ON record_id = escrow.id
         WHERE ${GIVEN_BACK} AND credits > 0 GROUP BY 1) AS again
       WHERE api_key.id = again.key_id`,
      listed,
    ),
    statement(
      `UPDATE key_spending SET spent = spent + again.amount, most = max(most, spent + again.amount)
       FROM (SELECT escrow.requested_by_id AS key_id, escrow.network AS network,
           fund.value->>'unit' AS unit, sum(CAST(fund.value->>'amount' AS INTEGER)) AS amount
         FROM escrow JOIN escrow_request ON record_id = escrow.id, json_each(terms->'funds') AS fund
         WHERE ${GIVEN_BACK} AND is_spent = 1 GROUP BY 1, 2, 3) AS again
       WHERE key_spending.api_key_id = again.key_id AND key_spending.network = again.network
         AND key_spending.unit = again.unit`,
      listed,
    ),
    statement(`UPDATE escrow SET charge = 'held' WHERE ${GIVEN_BACK}`, listed),
  ];
}
