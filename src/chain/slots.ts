import type { Network } from "./network.ts";

/** A slot and its start in Unix milliseconds; from it on, slots last one second. */
const SLOT_ORIGINS: Record<Network, { slot: number; time: number }> = {
  Preprod: { slot: 86_400, time: 1_655_769_600_000 },
  Mainnet: { slot: 4_492_800, time: 1_596_059_091_000 },
};
const SLOT_MS = 1000;

/** The slot of a time (Unix milliseconds). Not defined before the network's origin. */
export function slotAt(network: Network, time: number): number {
  const origin = SLOT_ORIGINS[network];
  return origin.slot + Math.floor((time - origin.time) / SLOT_MS);
}

/** When a slot starts, in Unix milliseconds. Not defined before the network's origin. */
export function timeOfSlot(network: Network, slot: number): number {
  const origin = SLOT_ORIGINS[network];
  return origin.time + (slot - origin.slot) * SLOT_MS;
}

/** The first slot that starts at a time (Unix milliseconds) or after it. */
export function firstSlotAtOrAfter(network: Network, time: number): number {
  return slotAt(network, time + SLOT_MS - 1);
}

/** Slots of an epoch. On both networks one begins where its slots became seconds. */
const EPOCH_SLOTS = 432_000;

/** The first slot of the epoch after that of a slot. */
export function computeNextEpochStart(network: Network, slot: number): number {
  const origin = SLOT_ORIGINS[network].slot;
  return origin + (Math.floor((slot - origin) / EPOCH_SLOTS) + 1) * EPOCH_SLOTS;
}
