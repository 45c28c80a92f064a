import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";

const ID_LENGTH = 32;

/** The id of a capability: the same name and version have the same id. Null for none. */
export function computeCapabilityId(
  capability: { name: string; version: string } | null,
): string | null {
  if (capability === null) return null;
  const text = JSON.stringify([capability.name, capability.version]);
  return bytesToHex(sha256(new TextEncoder().encode(text))).slice(0, ID_LENGTH);
}

/**
 * One page of the capabilities that at least one agent offers now, in descending order of id. Steps
 * from one capability to the next, so the many agents that share one cost nothing.
 */
export async function listCapabilities(
  db: Database,
  query: { network: Network; limit: number; cursorId?: string | undefined },
): Promise<{ id: string; name: string; version: string }[]> {
  const nextEntrySql = (capability: string) =>
    `(SELECT id FROM registry_entry
      WHERE network = ?1 AND status = 'Online' AND capability_id IS NOT NULL
        AND capability_id < ${capability} ORDER BY capability_id DESC LIMIT 1)`;
  return db.all(
    `WITH RECURSIVE offer(entry_id, number) AS (
       SELECT ${nextEntrySql("?2")}, 1
       UNION ALL
       SELECT ${nextEntrySql("(SELECT capability_id FROM registry_entry WHERE id = offer.entry_id)")},
         number + 1
       FROM offer WHERE entry_id IS NOT NULL AND number < ?3)
     SELECT capability_id AS id, state->>'$.profile.capability.name' AS name,
       state->>'$.profile.capability.version' AS version
     FROM offer JOIN registry_entry AS e ON e.id = entry_id ORDER BY capability_id DESC`,
    query.network,
    // Above every id: those are hex.
    query.cursorId ?? "~",
    query.limit,
  );
}
