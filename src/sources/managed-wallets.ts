import { and, desc, eq, isNull, lt, type SQL } from "drizzle-orm";
import { generateMnemonic, keysFromMnemonic } from "../chain/keys.ts";
import type { Network } from "../chain/network.ts";
import { type Database, db, statement, violates } from "../db/client.ts";
import type { Env } from "../env.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { isoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { readBalances } from "./balances.ts";
import { addressOn } from "./checks.ts";
import { renderWallet, type WalletRow } from "./record.ts";
import { managedWallet } from "./tables.ts";
import type { ChangeBody, ListQuery, WalletRecord } from "./wallet-schemas.ts";

/** Of the time that a request has left, what the providers get; the rest is for the answer. */
const BALANCES_SHARE = 0.6;

/**
 * One page of the wallets in use, newest first, with what lies at their addresses. A balance that is
 * not known in time is null.
 *
 * @param deadline - of the request, epoch milliseconds
 */
export async function listWallets(env: Env, query: ListQuery, deadline: number) {
  const filters: (SQL | undefined)[] = [
    isNull(managedWallet.deletedAt),
    query.cursorId === undefined ? undefined : lt(managedWallet.id, query.cursorId),
    query.paymentSourceId === undefined
      ? undefined
      : eq(managedWallet.sourceId, query.paymentSourceId),
    query.walletType === undefined ? undefined : eq(managedWallet.role, query.walletType),
    query.walletVkey === undefined ? undefined : eq(managedWallet.vkey, query.walletVkey),
    query.walletAddress === undefined ? undefined : eq(managedWallet.address, query.walletAddress),
  ];
  const rows = await db(env, undefined, { deadline })
    .orm.select()
    .from(managedWallet)
    .where(and(...filters))
    .orderBy(desc(managedWallet.id))
    .limit(query.limit);
  const now = Date.now();
  const balances = await readBalances(env, rows, now + (deadline - now) * BALANCES_SHARE);
  return rows.map((row) => {
    const balance = balances.get(row.id);
    const funds = balance && [...balance].map(([unit, amount]) => ({ unit, amount: `${amount}` }));
    return { ...toRecord(row), Balance: funds ?? null };
  });
}

/** A fresh wallet. It is stored nowhere: who asked adds it to a source, or keeps it. */
export async function freshWallet(network: Network) {
  const walletMnemonic = generateMnemonic();
  const { address, vkey } = await keysFromMnemonic(walletMnemonic, network);
  return { walletMnemonic, walletAddress: address, walletVkey: vkey };
}

/**
 * Changes a wallet's collection address or note; what is left out is kept.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400 for a collection address of another network, 404
 */
export async function changeWallet(
  c: AppContext,
  { id, ...changes }: ChangeBody,
  now: number,
): Promise<WalletRecord> {
  const database = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const { network } = await walletInUse(database, id, "id");
  const { collectionAddress: to, note } = changes;
  const collectionAddress = to && addressOn(network, "collectionAddress", to);
  try {
    await commitAudited(
      c,
      database,
      { action: "wallet.update", target: id, detail: changes, now },
      [
        statement(
          `UPDATE managed_wallet SET note = iif(deleted_at IS NULL, ifnull(?2, note), NULL),
             collection_address = iif(?3, ?4, collection_address)
           WHERE id = ?1`,
          id,
          note ?? null,
          Number(collectionAddress !== undefined),
          collectionAddress ?? null,
        ),
      ],
    );
  } catch (error) {
    if (violates(error, "managed_wallet.note")) throw noSuchWallet("id");
    throw error;
  }
  return toRecord(await walletInUse(database, id, "id"));
}

/**
 * A wallet that was not removed.
 *
 * @param field - where the request has the id
 * @throws ApiError 404
 */
export async function walletInUse(
  database: Database,
  id: string,
  field: string,
): Promise<WalletRow> {
  const [row] = await database.orm
    .select()
    .from(managedWallet)
    .where(and(eq(managedWallet.id, id), isNull(managedWallet.deletedAt)));
  if (!row) throw noSuchWallet(field);
  return row;
}

function noSuchWallet(field: string): ApiError {
  return new ApiError(404, `${field}: there is no such wallet`);
}

function toRecord(row: WalletRow): WalletRecord {
  return {
    ...renderWallet(row),
    type: row.role,
    network: row.network,
    paymentSourceId: row.sourceId,
    createdAt: isoTime(row.createdAt),
  };
}
