import { and, asc, eq, getTableColumns, isNotNull, sql } from "drizzle-orm";
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { SpentElsewhere } from "../spending/stored/wallet.ts";
import type { WalletTransaction } from "../spending/transaction.ts";
import { transactionOf } from "../spending/written.ts";
import { hotWallet, walletTransaction } from "../tables.ts";

/** Where a wallet stands: what its object knows of it, read without asking the object. */
export interface WalletStand {
  /** Names of the outputs that its line begins with, and that it keeps for collateral. */
  lineRoot: string | null;
  collateral: string | null;
  spentElsewhere: readonly SpentElsewhere[];
  /** What holds it up, and since when, epoch milliseconds; null: nothing. */
  hold: { reason: string; since: number } | null;
  /** All transactions that are not final, in the order in which they were stored. */
  open: StoredTransaction[];
}

/** A transaction with the time at which it was stored, epoch milliseconds. */
export type StoredTransaction = WalletTransaction & { createdAt: number };

/** A wallet that has never sent anything. */
export const AT_REST: WalletStand = {
  lineRoot: null,
  collateral: null,
  spentElsewhere: [],
  hold: null,
  open: [],
};

const { cbor: _, ...COLUMNS } = getTableColumns(walletTransaction);

/**
 * Where some wallets of a network stand, by payment key hash; one at rest is left out.
 *
 * @param vkeys - payment key hashes, hex
 */
export async function readStands(
  ledger: Database,
  network: Network,
  vkeys: readonly string[],
): Promise<Map<string, WalletStand>> {
  const asked = JSON.stringify(vkeys);
  const [wallets, transactions] = await Promise.all([
    ledger.orm
      .select()
      .from(hotWallet)
      .where(
        and(
          eq(hotWallet.network, network),
          sql`${hotWallet.vkey} IN (SELECT value FROM json_each(${asked}))`,
        ),
      ),
    ledger.orm
      .select(COLUMNS)
      .from(walletTransaction)
      .where(
        and(
          eq(walletTransaction.network, network),
          sql`${walletTransaction.walletVkey} IN (SELECT value FROM json_each(${asked}))`,
          isNotNull(walletTransaction.dueAt),
        ),
      )
      .orderBy(asc(walletTransaction.sequence)),
  ]);
  const open = Map.groupBy(transactions, ({ walletVkey }) => walletVkey);
  return new Map(
    wallets.map(({ vkey, lineRoot, collateral, spentElsewhere, held, heldSince }) => [
      vkey,
      {
        lineRoot,
        collateral,
        spentElsewhere: JSON.parse(spentElsewhere ?? "[]"),
        hold: held === null ? null : { reason: held, since: heldSince ?? 0 },
        open: (open.get(vkey) ?? []).map((row) => ({
          ...transactionOf({ ...row, movedAt: row.updatedAt }),
          createdAt: row.createdAt,
        })),
      },
    ]),
  );
}
