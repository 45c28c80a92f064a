import type { AgentProfile } from "./profile.ts";

/** What an inbox agent's token says of it. */
export interface InboxAgentProfile {
  name: string;
  description: string | null;
  /** In the form that `inbox/slug.ts` makes. */
  agentSlug: string;
  metadataVersion: 1;
}

export type RegistrationProfile = AgentProfile | InboxAgentProfile;

/** A wallet as records show it. */
export interface WalletName {
  /** Payment key hash, hex. */
  vkey: string;
  address: string;
}

/** A transaction that mints or burns a token. */
export interface RegistrationTransaction {
  /** Hex. */
  hash: string;
  status: "Pending" | "Confirmed" | "FailedViaTimeout" | "FailedViaManualReset";
  /** The first slot in which it is no longer valid. */
  validTo: number;
  /** Native minor units, decimal text. */
  fees: string;
  /** Null while it is in no block. */
  blockHeight: number | null;
  /** Unix seconds. */
  blockTime: number | null;
}
