import { and, asc, eq, isNull } from "drizzle-orm";
import type { ChainClock } from "../../chain/chain-time.ts";
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { selectAutomationMode } from "../../sources/automation-mode.ts";
import { paymentSource } from "../../sources/tables.ts";
import { managedWallet, type WalletRow } from "../../wallets/managed/tables.ts";
import type { DueWalletFinder } from "../../wallets/queue/due-wallets.ts";

type AutomatedWallet = Pick<WalletRow, "network" | "vkey" | "sourceId" | "role" | "drives">;

/** The wallets in use of followed payment sources that do anything, the oldest first. */
async function listAutomatedWallets(core: Database): Promise<AutomatedWallet[]> {
  const rows = await core.orm
    .select({ wallet: managedWallet, source: paymentSource })
    .from(managedWallet)
    .innerJoin(paymentSource, eq(paymentSource.id, managedWallet.sourceId))
    .where(and(isNull(managedWallet.deletedAt), isNull(paymentSource.deletedAt)))
    .orderBy(asc(managedWallet.createdAt), asc(managedWallet.id));
  return rows
    .map(({ wallet: { network, vkey, sourceId, role, drives }, source }) => ({
      ...{ network, vkey, sourceId, role },
      drives: selectAutomationMode(source, { drives }),
    }))
    .filter(({ drives }) => drives !== "nothing");
}

/** What is due before the next run of the cron: the wallets, once woken, set their alarms to the moment. */
const LOOKAHEAD_MS = 60_000;
const MAX_DUE_AT = Number.MAX_SAFE_INTEGER;

/**
 * Finds wallets with records that are due within a minute.
 *
 * @param clock - on another clock, all wallets with records count as due
 * @param ofSource - only this payment source
 */
export function createEscrowWalletFinder(
  clock: ChainClock,
  ofSource: string | null = null,
): DueWalletFinder {
  return async (database, now) => {
    // By the wallet, or by the source where none was chosen yet.
    const due = await database.all<{ network: Network; vkey: string | null; sourceId: string }>(
      `SELECT DISTINCT network, wallet_vkey AS vkey,
         iif(wallet_vkey IS NULL, source_id, NULL) AS sourceId
       FROM escrow WHERE due_at IS NOT NULL AND due_at <= ?1 AND source_id = coalesce(?2, source_id)`,
      clock === "wall" ? now + LOOKAHEAD_MS : MAX_DUE_AT,
      ofSource,
    );
    if (due.length === 0) return [];
    const driven = await listAutomatedWallets(database);
    return due.flatMap(({ network, vkey, sourceId }) => {
      const found = driven.find((one) =>
        vkey === null
          ? one.sourceId === sourceId && isBuyer(one)
          : one.network === network && one.vkey === vkey,
      );
      return found ? [{ network, vkey: found.vkey }] : [];
    });
  };
}

const isBuyer = ({ role, drives }: AutomatedWallet) => role === "Purchasing" && drives === "all";
