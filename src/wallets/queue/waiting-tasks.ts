import type { Funds, Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { ReasonCode } from "../../reason-codes.ts";

/** Native minor units that an empty wallet asks for: for the first task, its fees and its collateral. */
export const MIN_FUNDING_COIN = 10_000_000n;

/** Something that a wallet shall do on the chain and has not begun. */
export interface WaitingTask {
  /** Payment key hash of the wallet, hex. */
  vkey: string;
  /** The names of the feature and of the task, as in the wallet's transactions. */
  feature: string;
  id: string;
  /** What it waits for. */
  code: ReasonCode;
  /** The same for people. */
  reason: string;
  /** When it is tried next, epoch milliseconds; in the past: at the next run. */
  dueAt: number;
  /** What the wallet has to pay for it at least, beside fees. */
  needs?: readonly Funds[];
}

/**
 * What waits for some wallets of a network, as one feature knows it: of each wallet at most so many
 * tasks, the next first. It only reads.
 *
 * @param vkeys - payment key hashes, hex
 */
export type WaitingTaskLister = (
  database: Database,
  network: Network,
  vkeys: readonly string[],
  limit: number,
) => Promise<WaitingTask[]>;

export const WAITING_FOR_TURN_REASON = "waits for its turn";
