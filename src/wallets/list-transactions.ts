import { and, desc, eq, gte, lt, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { equalsIfGiven } from "../db/conditions.ts";
import { toIsoTime } from "../http/envelope.ts";
import type { TransactionQuery, TransactionRecord } from "./managed/schemas.ts";
import { walletTransaction } from "./model/tables.ts";

/** One page of the wallets' transactions, newest first, after the one with the hash `cursorId`. */
export async function listTransactions(
  database: Database,
  { network, limit, cursorId, walletVkey, state, from, to }: TransactionQuery,
): Promise<TransactionRecord[]> {
  const { createdAt } = walletTransaction;
  const rows = await database.orm
    .select()
    .from(walletTransaction)
    .where(
      and(
        eq(walletTransaction.network, network),
        cursorId === undefined
          ? undefined
          : sql`(${createdAt}, rowid) < (SELECT created_at, rowid FROM wallet_transaction
              WHERE hash = ${cursorId})`,
        equalsIfGiven(walletTransaction.walletVkey, walletVkey),
        equalsIfGiven(walletTransaction.phase, state),
        from === undefined ? undefined : gte(createdAt, from),
        to === undefined ? undefined : lt(createdAt, to),
      ),
    )
    .orderBy(desc(createdAt), desc(sql`rowid`))
    .limit(limit);
  return rows.map(toTransactionRecord);
}

function toTransactionRecord(row: typeof walletTransaction.$inferSelect): TransactionRecord {
  return {
    txHash: row.hash,
    state: row.phase,
    network: row.network,
    walletVkey: row.walletVkey,
    paymentSourceId: row.sourceId,
    Tasks: JSON.parse(row.tasks) as TransactionRecord["Tasks"],
    fees: row.fee,
    validTo: row.validTo,
    blockHeight: row.blockHeight,
    blockTime: row.blockTime,
    error: row.error,
    requestId: row.requestId,
    createdAt: toIsoTime(row.createdAt),
    updatedAt: toIsoTime(row.updatedAt),
  };
}
