/** SQL that finds rows of `escrow` by their identifiers: through `escrow_identity`. */

/**
 * The records of a side with an identifier, to follow FROM. Only the columns of `escrow` have their plain names
 * there.
 *
 * @param hash - SQL of the identifier's hash, hex
 * @param side - SQL
 */
export function selectByIdentifierSql(hash: string, side: string): string {
  return `(SELECT id AS identified_id FROM escrow_identity
    WHERE identifier_hash = unhex(${hash}) AND side = ${side})
    CROSS JOIN escrow ON escrow.id = identified_id`;
}

/**
 * The newer records with the identifier of a row of `escrow`, to follow FROM, as `newer`; conditions follow
 * with AND.
 *
 * @param side - SQL
 */
export function selectNewerSql(side: string): string {
  return `escrow_identity AS identity CROSS JOIN escrow AS newer ON newer.id = identity.id
    WHERE identity.identifier_hash = unhex(escrow.identifier_hash) AND identity.side = ${side}
      AND identity.id > escrow.id`;
}
