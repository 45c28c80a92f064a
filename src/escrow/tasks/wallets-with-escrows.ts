import { and, asc, eq, isNull } from "drizzle-orm";
import type { ChainClock } from "../../chain/chain-time.ts";
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { type AutomationMode, selectAutomationMode } from "../../sources/automation-mode.ts";
import { paymentSource } from "../../sources/tables.ts";
import { managedWallet, type WalletRole } from "../../wallets/managed/tables.ts";
import type { DueWalletFinder } from "../../wallets/queue/due-wallets.ts";

interface AutomatedWallet {
  network: Network;
  vkey: string;
  sourceId: string;
  role: WalletRole;
  drives: AutomationMode;
}

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
 * @param sourceId - only this payment source
 */
export function createEscrowWalletFinder(
  clock: ChainClock,
  sourceId: string | null = null,
): DueWalletFinder {
  return (database, now) =>
    findWalletsDueBy(database, clock === "wall" ? now + LOOKAHEAD_MS : MAX_DUE_AT, sourceId);
}

/** @param time - epoch milliseconds */
async function findWalletsDueBy(
  database: Database,
  time: number,
  ofSource: string | null,
): Promise<{ network: Network; vkey: string }[]> {
  // By the wallet, or by the source where none was chosen yet.
  const due = await database.all<{ network: Network; vkey: string | null; sourceId: string }>(
    `SELECT DISTINCT network, wallet_vkey AS vkey,
       iif(wallet_vkey IS NULL, source_id, NULL) AS sourceId
     FROM escrow WHERE due_at IS NOT NULL AND due_at <= ?1 AND source_id = coalesce(?2, source_id)`,
    time,
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
}

const isBuyer = ({ role, drives }: AutomatedWallet) => role === "Purchasing" && drives === "all";
