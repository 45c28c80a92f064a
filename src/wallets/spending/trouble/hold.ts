/** What holds up a whole wallet: it is stored once, with the wallet, rather than with all that waits. */
import { ProviderError } from "../../../chain/provider/provider.ts";
import { WalletShort } from "../../../chain/transaction/selection.ts";
import { type Statement, statement } from "../../../db/client.ts";
import { log } from "../../../log.ts";
import { isForAll } from "../../isolate.ts";
import { LineWaits, WalletGone } from "../../work.ts";
import { NotYet } from "../making/window.ts";
import type { WalletDatabase, WalletState } from "../stored/wallet.ts";

/**
 * What a run found of its wallet: why it gets nothing done, for people; null: nothing holds it up;
 * undefined: nothing was tried, so what was found before holds.
 */
export type Hold = string | null | undefined;

/** Why a wallet whose provider fails gets nothing done. */
export const waitsForProvider = ({ message }: ProviderError): string =>
  `waits for the chain provider: ${message}`;

/** Why a wallet gets nothing done because of an error; null: the error is of some tasks alone. */
export function holdOf(error: unknown): string | null {
  if (error instanceof ProviderError && isForAll(error)) return waitsForProvider(error);
  const isOfWallet = [NotYet, LineWaits, WalletShort, WalletGone].some(
    (kind) => error instanceof kind,
  );
  return isOfWallet ? (error as Error).message : null;
}

/**
 * The same because of an error with which one task was left out. What a provider says of one task is no
 * trouble of the wallet: what it fails at for all is thrown before any task is left out.
 */
export function holdOfTask(error: unknown): string | null {
  return error instanceof ProviderError ? null : holdOf(error);
}

/**
 * Stores what holds up a wallet, if that has changed, and since when anything does.
 *
 * @param db - with `writes: "idempotent"`
 * @param now - epoch milliseconds
 */
export async function writeHold(
  db: WalletDatabase,
  { network, vkey, held }: Pick<WalletState, "network" | "vkey" | "held">,
  hold: Hold,
  now: number,
): Promise<void> {
  if (hold === undefined || hold === held) return;
  await db.batch([holdStatement({ network, vkey }, hold, now)]);
  log(hold === null ? "info" : "warn", "wallet.held", { wallet: vkey, reason: hold });
}

/** A wallet that never stored a transaction gets a row without one. */
function holdStatement(
  { network, vkey }: Pick<WalletState, "network" | "vkey">,
  hold: string | null,
  now: number,
): Statement {
  return statement(
    `INSERT INTO hot_wallet (network, vkey, version, sequence, held, held_since)
     VALUES (?1, ?2, 0, 0, ?3, ?4)
     ON CONFLICT (network, vkey) DO UPDATE SET
       held = ?3, held_since = iif(?3 IS NULL, NULL, ifnull(held_since, ?4))`,
    network,
    vkey,
    hold,
    now,
  );
}
