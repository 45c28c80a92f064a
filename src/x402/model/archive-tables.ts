/** Tables of an archive: the columns of `tables.ts`, and the indexes of what is asked of final attempts. */
import { sql } from "drizzle-orm";
import { index, integer, sqliteTable } from "drizzle-orm/sqlite-core";
import { ATTEMPT_COLUMNS, HOLDING_SQL } from "./tables.ts";

export { x402Settlement } from "./tables.ts";

export const archivedAttempt = sqliteTable(
  "x402_payment_attempt",
  {
    ...ATTEMPT_COLUMNS,
    /** Of the copy. */
    operation: integer("operation").notNull(),
  },
  (table) => [
    index("x402_attempt_operation").on(table.operation),
    index("x402_attempt_api_key").on(table.apiKeyId, table.id),
    index("x402_attempt_identifier")
      .on(table.apiKeyId, table.paymentIdentifier)
      .where(sql`payment_identifier IS NOT NULL`),
    index("x402_attempt_hash").on(table.paymentPayloadHash).where(sql.raw(HOLDING_SQL)),
    index("x402_attempt_claim").on(table.claim).where(sql.raw(HOLDING_SQL)),
  ],
);
