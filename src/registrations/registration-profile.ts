import type { AgentProfile } from "../registry/entries/profile.ts";

/** Minimum native minor units sent with a token. */
export const MIN_FUNDING = 5_000_000n;

/** The metadata of an inbox agent's token. */
export interface InboxAgentProfile {
  name: string;
  description: string | null;
  /** Normalised by `inbox/slug.ts`. */
  agentSlug: string;
  metadataVersion: 1;
}

export type RegistrationProfile = AgentProfile | InboxAgentProfile;

/** A wallet as records show it. */
export interface RegistrationWallet {
  /** Payment key hash, hex. */
  vkey: string;
  address: string;
}

/** A transaction that mints or burns a token, or both. */
export interface RegistrationTransaction {
  /** Hex. */
  hash: string;
  /** Of the task that it does. */
  taskId: string;
  status: "Pending" | "Confirmed" | "FailedViaTimeout" | "FailedViaManualReset";
  /** The first slot in which it is no longer valid. */
  validTo: number;
  /** Native minor units, decimal text. */
  fees: string;
  /** Null until it is in a block. */
  blockHeight: number | null;
  /** Unix seconds. */
  blockTime: number | null;
}
