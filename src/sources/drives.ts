/** What the service does for a source or with a wallet, the least first. */
export const DRIVES = [
  /** It is watched. */
  "nothing",
  /** What is open is brought to its end; nothing new is begun. */
  "finish",
  "all",
] as const;
export type Drives = (typeof DRIVES)[number];

/** What a wallet does for its source: the stricter of the two holds. */
export function drivesOf(source: { drives: Drives }, wallet: { drives: Drives }): Drives {
  return DRIVES.find((one) => one === source.drives || one === wallet.drives) ?? "nothing";
}
