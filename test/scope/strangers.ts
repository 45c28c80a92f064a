import type { Audience } from "./resources.ts";

/** Keys with +PAY that own nothing, and whom the owner's resources are hidden from. */
export const STRANGERS = [
  "another wallet of the same source",
  "a wallet of another source",
  "another owner",
  "another network",
] as const;
export type Stranger = (typeof STRANGERS)[number];

const SEES: Readonly<Record<Stranger, readonly Audience[]>> = {
  "another wallet of the same source": ["public", "network", "chain", "source"],
  "a wallet of another source": ["public", "network", "chain"],
  // It is bound to no wallet: it may see the records of all of them.
  "another owner": ["public", "network", "chain", "source", "wallets"],
  "another network": ["public"],
};

/** Whether a stranger may see what is shown to an audience. */
export function maySee(stranger: Stranger, audience: Audience): boolean {
  return SEES[stranger].includes(audience);
}
