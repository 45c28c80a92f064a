import type { Network } from "./network.ts";

/** A slot and its start in Unix milliseconds, from which on slots last one second. */
const ORIGINS: Record<Network, { slot: number; time: number }> = {
  Preprod: { slot: 86_400, time: 1_655_769_600_000 },
  Mainnet: { slot: 4_492_800, time: 1_596_059_091_000 },
};
const SLOT_MS = 1000;

/** The slot that a moment (Unix milliseconds) lies in. Not defined before the network's origin. */
export function slotAt(network: Network, time: number): number {
  const origin = ORIGINS[network];
  return origin.slot + Math.floor((time - origin.time) / SLOT_MS);
}

/** When a slot starts, in Unix milliseconds. Not defined before the network's origin. */
export function timeOfSlot(network: Network, slot: number): number {
  const origin = ORIGINS[network];
  return origin.time + (slot - origin.slot) * SLOT_MS;
}
