/**
 * The demo: lives of escrows of both generations, played with real transactions. Two days of them are
 * over when the service begins, each step made when the contracts allow it, by moving the chain's
 * clock; from then on new lives go on in real time.
 */
import { setImmediate, setInterval } from "node:timers/promises";
import type { Chain } from "../ledger/chain.ts";
import { LedgerRejection } from "../ledger/rejection.ts";
import { BUYERS } from "./actors/wallets.ts";
import { provideDollars } from "./currency.ts";
import { LIVES } from "./lives.ts";
import {
  isOver,
  nextOf,
  type Pace,
  type PlayedLife,
  playedIn,
  playOn,
  type Scene,
  sceneOf,
} from "./scenes.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long the demo takes by the chain's clock, milliseconds. */
export const HISTORY_MS = 48 * HOUR_MS;
/** More than the longest life takes until the last of its deadlines. */
const LONGEST_LIFE_MS = 14 * HOUR_MS;

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

/** Of the present: whoever looks on sees what becomes of a life within minutes. */
const BRISK: Pace = {
  pauseMs: 12_000,
  terms: termsAfter(60_000, 80_000, 100_000, 120_000),
};

/** Between the beginnings of two lives of the present. */
const NEW_LIFE_EVERY_MS = 20_000;
const TICK_MS = 1_000;

/**
 * Plays every life to its end, and moves the chain's clock on by `HISTORY_MS`.
 *
 * @throws LedgerRejection when the ledger refuses a transaction.
 */
export async function playHistory(chain: Chain): Promise<PlayedLife[]> {
  const begins = chain.now();
  for (const buyer of BUYERS) provideDollars(chain, buyer);
  const spacing = Math.floor((HISTORY_MS - LONGEST_LIFE_MS) / LIVES.length);
  const scenes = LIVES.map((life, turn) => sceneOf(life, turn, begins + turn * spacing));
  for (let scene = nextOf(scenes); scene; scene = nextOf(scenes)) {
    if (chain.now() < scene.due) chain.moveTo(scene.due);
    playOn(chain, scene, UNHURRIED);
    // The ledger runs in this process: let the provider's API answer in between.
    await setImmediate();
  }
  if (chain.now() < begins + HISTORY_MS) chain.moveTo(begins + HISTORY_MS);
  return scenes.flatMap(playedIn);
}

/**
 * Lives of the present. The returned function does what is due by the chain's clock, one thing at a
 * time; the clock is not moved.
 *
 * @param onLost - is told of a step that the ledger refuses, with which its life stops: on a machine
 *   that slept, it comes after its deadline
 */
export function presentLives(chain: Chain, onLost: (reason: LedgerRejection) => void): () => void {
  for (const buyer of BUYERS) provideDollars(chain, buyer);
  const lives = LIVES.filter(({ steps, takesHours }) => steps.length > 0 && !takesHours);
  const scenes = new Set<Scene>();
  let turn = 0;
  let begins = chain.now();
  return () => {
    const now = chain.now();
    const life = lives[turn % lives.length];
    if (life && now >= begins) {
      scenes.add(sceneOf(life, turn++, now));
      begins = now + NEW_LIFE_EVERY_MS;
    }
    const scene = nextOf(scenes);
    if (!scene || scene.due > now) return;
    try {
      playOn(chain, scene, BRISK);
      if (isOver(scene)) scenes.delete(scene);
    } catch (error) {
      if (!(error instanceof LedgerRejection)) throw error;
      scenes.delete(scene);
      onLost(error);
    }
  };
}

/** Plays the lives of the present until the signal aborts, which ends it with an AbortError. */
export async function playPresent(
  chain: Chain,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<void> {
  const tick = presentLives(chain, ({ message }) => log(`demo: a life stops: ${message}`));
  for await (const _ of setInterval(TICK_MS, null, { signal })) tick();
}
