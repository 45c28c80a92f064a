import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Network } from "../chain/network.ts";
import type { Database } from "../db/client.ts";

const ID_LENGTH = 32;

/** Names a capability: the same name and version have the same id everywhere. Null for none. */
export function capabilityId(capability: { name: string; version: string } | null): string | null {
  if (capability === null) return null;
  const text = JSON.stringify([capability.name, capability.version]);
  return bytesToHex(sha256(new TextEncoder().encode(text))).slice(0, ID_LENGTH);
}

/** One page of the capabilities that at least one agent offers now, in descending order of id. */
export async function listCapabilities(
  db: Database,
  query: { network: Network; limit: number; cursorId?: string | undefined },
): Promise<{ id: string; name: string; version: string }[]> {
  const rows = await db.all<{ id: string; name: string; version: string }>(
    `SELECT capability_id AS id, state->>'$.profile.capability.name' AS name,
       state->>'$.profile.capability.version' AS version
     FROM registry_entry
     WHERE network = ?1 AND status = 'Online' AND capability_id IS NOT NULL AND capability_id < ?2
     GROUP BY capability_id ORDER BY capability_id DESC LIMIT ?3`,
    query.network,
    // Above every id: those are hex.
    query.cursorId ?? "~",
    query.limit,
  );
  return rows;
}
