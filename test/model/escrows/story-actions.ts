/** What happens in a story. */
import type { Faults } from "../process-faults.ts";

/** What can happen while escrows live, each with a number that says how, and how often it does. */
export const STORY_ACTIONS = {
  request: 6,
  ask: 8,
  round: 14,
  mine: 3,
  sync: 3,
  run: 4,
  wait: 3,
  deadline: 4,
  days: 1,
  cancel: 1,
  recover: 2,
  rollback: 3,
  evict: 1,
  submitFault: 1,
  failingCalls: 1,
  lag: 1,
  failScript: 1,
  stepByHand: 3,
  lockByHand: 1,
  dispute: 1,
  propose: 3,
  sign: 1,
  withdraw: 1,
  settleByHand: 1,
  save: 1,
  restore: 1,
  forget: 2,
  shelf: 5,
  receive: 3,
  deliver: 1,
  lockOddly: 2,
  toggle: 2,
  fat: 1,
  stale: 2,
} as const;
export type StoryAction = readonly [kind: keyof typeof STORY_ACTIONS, n: number];

/** Most processes live: one in four dies, and one in eight hears nothing from its database. */
export function faultsOf(n: number): Faults {
  if (n % 8 === 7) return { repeats: true };
  if (n % 4 !== 1) return {};
  return { dies: 1 + ((n >> 3) % 40), when: (n >> 2) % 2 === 0 ? "before" : "after" };
}
