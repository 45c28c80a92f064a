import type { Network } from "../../chain/network.ts";
import type { AgentProfile } from "./profile.ts";

export const ENTRY_STATUSES = ["Online", "Offline", "Deregistered", "Invalid"] as const;
export type EntryStatus = (typeof ENTRY_STATUSES)[number];

/** The results of health checks. */
export type AgentHealth = "Online" | "Offline" | "Invalid";

/** What transactions change. A rollback restores it as a whole. */
export interface EntryState {
  /** How many of the token exist: decimal text, `0` once it is burned. */
  supply: string;
  /** Null when the metadata could not be read. */
  profile: AgentProfile | null;
  /** Why it could not be read; null when it could. */
  reason: string | null;
}

/** A registered agent, parsed from its row. */
export interface EntryRecord {
  id: string;
  network: Network;
  sourceId: string;
  policyId: string;
  /** Of its source. */
  sourceUrl: string | null;
  /** Policy id and asset name, hex. */
  agentIdentifier: string;
  state: EntryState;
  health: AgentHealth;
  /** Epoch milliseconds. */
  createdAt: number;
  revision: number;
}

/** A row of `registry_entry` as SQL gives it, less what follows from `state`. */
export interface EntryRow {
  id: string;
  network: Network;
  source_id: string;
  policy_id: string;
  source_url: string | null;
  agent_identifier: string;
  state: string;
  health: AgentHealth;
  created_at: number;
  revision: number;
}

/** The columns of `EntryRow`, for SELECT. */
export const ENTRY_COLUMNS =
  "id, network, source_id, policy_id, source_url, agent_identifier, state, health, created_at, revision";

export function toEntryRecord(row: EntryRow): EntryRecord {
  return {
    id: row.id,
    network: row.network,
    sourceId: row.source_id,
    policyId: row.policy_id,
    sourceUrl: row.source_url,
    agentIdentifier: row.agent_identifier,
    state: JSON.parse(row.state) as EntryState,
    health: row.health,
    createdAt: row.created_at,
    revision: row.revision,
  };
}

/** The state of an entry before its first transaction, or whose mint was rolled back. */
export const UNMINTED_STATE: EntryState = { supply: "0", profile: null, reason: null };

/** A burned token is `Deregistered` and an unreadable one `Invalid`, whatever checks say. */
export function statusOf({ supply, profile }: EntryState, health: AgentHealth): EntryStatus {
  if (BigInt(supply) <= 0n) return "Deregistered";
  return profile === null ? "Invalid" : health;
}

/** Whether there is an agent to be checked. */
export function isCheckable({ supply, profile }: EntryState): boolean {
  return BigInt(supply) > 0n && profile !== null;
}
