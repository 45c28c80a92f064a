/**
 * Nothing is counted beyond this many rows, so that a collector that asks each quarter of a minute costs
 * and waits little, however much is stored.
 */
export const MAX_COUNTED = 10_000;
