import { type ArchiveEnv, openArchives } from "../../archive/open-archives.ts";
import { readSnapshot, type SnapshotQuery } from "../../archive/read-snapshot.ts";
import type { Database } from "../../db/client.ts";

/** Rows about attempts, of the database and then of its archives. @throws ArchiveBehindError */
export async function readAttempts<Row>(
  env: ArchiveEnv,
  core: Pick<Database, "batch">,
  query: Omit<SnapshotQuery, "kind">,
): Promise<Row[]> {
  const parts = await readSnapshot<Row>(core, openArchives(env), { kind: "x402", ...query });
  return parts.flat();
}
