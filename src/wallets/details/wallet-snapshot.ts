import { and, asc, eq, getTableColumns, isNotNull } from "drizzle-orm";
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { isOneOf } from "../../db/conditions.ts";
import type { ReasonCode } from "../../reason-codes.ts";
import { hotWallet, walletTransaction, walletTransactionContent } from "../model/tables.ts";
import type { WalletTransaction } from "../model/wallet-transaction.ts";
import { parseTransaction } from "../spending/model/serialize-transaction.ts";
import type { ForeignSpend } from "../spending/store/wallet.ts";

/** Where a wallet stands: what its object knows of it, read without asking the object. */
export interface WalletSnapshot {
  /** Names of the outputs: the root of its outward chain, and the one reserved for collateral. */
  chainRoot: string | null;
  collateral: string | null;
  spentElsewhere: readonly ForeignSpend[];
  /** What holds it up, and since when, epoch milliseconds; null: nothing. */
  blocker: { reasonCode: ReasonCode; reason: string; since: number } | null;
  /** All transactions that are not final, in the order in which they were stored. */
  openTransactions: StoredTransaction[];
}

/** A transaction with the time at which it was stored, epoch milliseconds. */
export type StoredTransaction = WalletTransaction & { createdAt: number };

/** A wallet that has never sent anything. */
export const IDLE_WALLET: WalletSnapshot = {
  chainRoot: null,
  collateral: null,
  spentElsewhere: [],
  blocker: null,
  openTransactions: [],
};

const COLUMNS = {
  ...getTableColumns(walletTransaction),
  content: walletTransactionContent.content,
};

/**
 * Where some wallets of a network stand, by payment key hash; one at rest is left out.
 *
 * @param vkeys - payment key hashes, hex
 */
export async function readSnapshots(
  database: Database,
  network: Network,
  vkeys: readonly string[],
): Promise<Map<string, WalletSnapshot>> {
  const [wallets, transactions] = await Promise.all([
    database.orm
      .select()
      .from(hotWallet)
      .where(and(eq(hotWallet.network, network), isOneOf(hotWallet.vkey, vkeys))),
    database.orm
      .select(COLUMNS)
      .from(walletTransaction)
      .innerJoin(
        walletTransactionContent,
        eq(walletTransactionContent.hash, walletTransaction.hash),
      )
      .where(
        and(
          eq(walletTransaction.network, network),
          isOneOf(walletTransaction.walletVkey, vkeys),
          isNotNull(walletTransaction.dueAt),
        ),
      )
      .orderBy(asc(walletTransaction.sequence)),
  ]);
  const open = Map.groupBy(transactions, ({ walletVkey }) => walletVkey);
  return new Map(
    wallets.map(
      ({ vkey, chainRoot, collateral, spentElsewhere, blocker, blockerCode, blockedSince }) => [
        vkey,
        {
          chainRoot,
          collateral,
          spentElsewhere: JSON.parse(spentElsewhere ?? "[]"),
          blocker:
            blocker === null
              ? null
              : {
                  reasonCode: blockerCode ?? "failing",
                  reason: blocker,
                  since: blockedSince ?? 0,
                },
          openTransactions: (open.get(vkey) ?? []).map((row) => ({
            ...parseTransaction({ ...row, movedAt: row.updatedAt }),
            createdAt: row.createdAt,
          })),
        },
      ],
    ),
  );
}
