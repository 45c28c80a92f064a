/**
 * The demo's past: lives of escrows of both generations, played with real transactions. Two days of them are
 * over when the service begins, each step made when the contracts allow it, by moving the chain's
 * clock. Some are left open, for the service to end.
 */
import { setImmediate } from "node:timers/promises";
import type { Chain } from "../ledger/chain.ts";
import { BUYERS } from "./actors/wallets.ts";
import { provideDollars } from "./currency.ts";
import { LIVES } from "./lives.ts";
import { nextOf, type Pace, type PlayedLife, playedIn, playOn, sceneOf } from "./scenes.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long the demo takes by the chain's clock, milliseconds. */
export const HISTORY_MS = 48 * HOUR_MS;
/** More than the longest life takes until the last of its deadlines. */
const MAX_LIFE_MS = 14 * HOUR_MS;
/** Before the end: pay-by is over then, and the result not due yet. */
const LATE_MS = 45 * MINUTE_MS;

const termsAfter =
  (payBy: number, submitResult: number, unlock: number, dispute: number): Pace["terms"] =>
  (now) => ({
    payByTime: BigInt(now + payBy),
    submitResultTime: BigInt(now + submitResult),
    unlockTime: BigInt(now + unlock),
    externalDisputeUnlockTime: BigInt(now + dispute),
  });

/** Of the past: hours, and longer pauses than a cooldown and the validity before it. */
const UNHURRIED: Pace = {
  pauseMs: 15 * MINUTE_MS,
  terms: termsAfter(30 * MINUTE_MS, HOUR_MS, 7 * HOUR_MS, 13 * HOUR_MS),
};

/**
 * Plays every life to its end, and moves the chain's clock on by `HISTORY_MS`.
 *
 * @throws LedgerRejection when the ledger refuses a transaction.
 */
export async function playHistory(chain: Chain): Promise<PlayedLife[]> {
  const begins = chain.now();
  for (const buyer of BUYERS) provideDollars(chain, buyer);
  const spacing = Math.floor((HISTORY_MS - MAX_LIFE_MS) / LIVES.length);
  const beginOf = (turn: number, isLate = false) =>
    begins + (isLate ? HISTORY_MS - LATE_MS : turn * spacing);
  const scenes = LIVES.map((life, turn) => sceneOf(life, turn, beginOf(turn, life.isLate)));
  for (let scene = nextOf(scenes); scene; scene = nextOf(scenes)) {
    if (chain.now() < scene.due) chain.moveTo(scene.due);
    playOn(chain, scene, UNHURRIED);
    // The ledger runs in this process: let the provider's API answer in between.
    await setImmediate();
  }
  if (chain.now() < begins + HISTORY_MS) chain.moveTo(begins + HISTORY_MS);
  return scenes.flatMap(playedIn);
}
