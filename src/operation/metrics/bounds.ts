/**
 * Nothing is counted beyond this many rows. A collector that asks each quarter of a minute thus costs
 * and waits little, however much is stored.
 */
export const MAX_COUNTED = 10_000;
