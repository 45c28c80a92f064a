import type { AgentProfile } from "./profile.ts";
import type { registryEntry } from "./tables.ts";

export const ENTRY_STATUSES = ["Online", "Offline", "Deregistered", "Invalid"] as const;
export type EntryStatus = (typeof ENTRY_STATUSES)[number];

/** The results of health checks. */
export type AgentHealth = EntryRecord["health"];

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
export type EntryRecord = Pick<
  typeof registryEntry.$inferSelect,
  | "id"
  | "network"
  | "sourceId"
  | "policyId"
  | "sourceUrl"
  | "agentIdentifier"
  | "health"
  | "createdAt"
  | "revision"
> & { state: EntryState };

/** A row of `ENTRY_COLUMNS`. */
export type EntryRow = Omit<EntryRecord, "state"> & { state: string };

/** The columns of an entry for SELECT, less what follows from `state`. */
export const ENTRY_COLUMNS = `id, network, source_id AS sourceId, policy_id AS policyId,
  source_url AS sourceUrl, agent_identifier AS agentIdentifier, state, health,
  created_at AS createdAt, revision`;

export function toEntryRecord(row: EntryRow): EntryRecord {
  return {
    id: row.id,
    network: row.network,
    sourceId: row.sourceId,
    policyId: row.policyId,
    sourceUrl: row.sourceUrl,
    agentIdentifier: row.agentIdentifier,
    state: JSON.parse(row.state) as EntryState,
    health: row.health,
    createdAt: row.createdAt,
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
