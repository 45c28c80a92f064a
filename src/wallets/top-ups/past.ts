import { and, gt, inArray, or, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { transfer } from "../transfers/tables.ts";

/** A top-up from before; see `decide.ts`. */
export interface PastTransfer {
  /** The wallet that is topped up. */
  walletId: string;
  unit: string;
  amount: bigint;
  createdAt: number;
  endedAt: number | null;
  hasFailed: boolean;
}

/**
 * The top-ups of some wallets that are under way, or have changed since a time, epoch milliseconds.
 */
export async function topUpsSince(
  db: Database,
  walletIds: readonly string[],
  since: number,
): Promise<PastTransfer[]> {
  const rows = await db.orm
    .select()
    .from(transfer)
    .where(
      and(
        sql`${transfer.topUpWalletId} IN (SELECT value FROM json_each(${JSON.stringify(walletIds)}))`,
        or(gt(transfer.updatedAt, since), inArray(transfer.state, ["Pending", "Sent"])),
      ),
    );
  return rows.map(({ topUpWalletId, coin, assets, tx, state, createdAt, updatedAt }) => {
    const [token] = assets;
    return {
      walletId: topUpWalletId ?? "",
      unit: token?.unit ?? "",
      amount: BigInt(token?.quantity ?? tx?.coin ?? coin),
      createdAt,
      endedAt: state === "Confirmed" || state === "Failed" ? updatedAt : null,
      hasFailed: state === "Failed",
    };
  });
}
