/** What holds up a whole wallet: it is stored once, with the wallet, rather than with all that waits. */
import { ProviderError } from "../../chain/provider/provider.ts";
import { InsufficientFundsError } from "../../chain/transaction/select-inputs.ts";
import { type Statement, statement } from "../../db/client.ts";
import { log } from "../../log.ts";
import type { ReasonCode } from "../../reason-codes.ts";
import { OutwardChainPendingError, RetryLaterError, WalletRemovedError } from "../queue/errors.ts";
import { isProviderDown } from "../queue/isolate-failures.ts";
import { describeProviderFailure } from "../queue/outcome.ts";
import type { WalletDatabase, WalletState } from "./store/wallet.ts";

/** Why a wallet gets nothing done. */
export interface BlockerReason {
  code: ReasonCode;
  /** For people. */
  reason: string;
}

/**
 * What a run found of its wallet. Null: nothing blocks it. Undefined: nothing was tried, so what was found
 * before is still true.
 */
export type Blocker = BlockerReason | null | undefined;

/** Finds why a wallet gets nothing done because of an error. Null: the error is of some tasks alone. */
export function findBlocker(error: unknown): BlockerReason | null {
  if (error instanceof ProviderError && isProviderDown(error))
    return { code: "provider", reason: describeProviderFailure(error) };
  if (error instanceof RetryLaterError) return { code: error.code, reason: error.message };
  if (error instanceof OutwardChainPendingError) return { code: "chain", reason: error.message };
  if (error instanceof InsufficientFundsError) return { code: "funds", reason: error.message };
  return error instanceof WalletRemovedError ? { code: "person", reason: error.message } : null;
}

/**
 * Finds the blocker for an error that excluded one task. A provider's error about one task does not
 * block the wallet. An error that blocks all tasks is thrown before any task is excluded.
 */
export function findTaskBlocker(error: unknown): BlockerReason | null {
  return error instanceof ProviderError ? null : findBlocker(error);
}

/**
 * Stores what holds up a wallet, if that has changed, and since when anything does.
 *
 * @param db - with `writes: "idempotent"`
 * @param now - epoch milliseconds
 */
export async function storeBlocker(
  db: WalletDatabase,
  { network, vkey, blocker: before }: Pick<WalletState, "network" | "vkey" | "blocker">,
  blocker: Blocker,
  now: number,
): Promise<void> {
  const reason = blocker?.reason ?? null;
  if (blocker === undefined || reason === before) return;
  await db.batch([upsertBlocker({ network, vkey }, blocker, now)]);
  log(blocker === null ? "info" : "warn", "wallet.held", { wallet: vkey, reason });
}

/** A wallet that never stored a transaction gets a row without one. */
function upsertBlocker(
  { network, vkey }: Pick<WalletState, "network" | "vkey">,
  blocker: BlockerReason | null,
  now: number,
): Statement {
  return statement(
    `INSERT INTO hot_wallet (network, vkey, version, sequence, blocker, blocker_code, blocked_since)
     VALUES (?1, ?2, 0, 0, ?3, ?4, ?5)
     ON CONFLICT (network, vkey) DO UPDATE SET blocker = ?3, blocker_code = ?4,
       blocked_since = iif(?3 IS NULL, NULL, ifnull(blocked_since, ?5))`,
    network,
    vkey,
    blocker?.reason ?? null,
    blocker?.code ?? null,
    now,
  );
}
