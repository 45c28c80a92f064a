import { env } from "cloudflare:workers";
import { openDb } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import type { Side } from "../../../src/escrow/model/escrow-record.ts";
import type { Step } from "../../../src/escrow/model/intent.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { loadRecords } from "../../../src/escrow/store/load-records.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";

/** Asks for a step of all records of a side. */
export async function askFor(
  side: Side,
  step: Step,
  resultHash: string | null = null,
): Promise<void> {
  const ledger = openDb(env);
  const now = Date.now();
  const { records } = await loadRecords(ledger, [], "SELECT id FROM escrow WHERE side = ?2", side);
  const changes = new ChangeSet(records, now, 0);
  for (const record of records) {
    const intent = { id: newId(now), step, resultHash, by: "key-a", since: now };
    changes.setProgress(record, { ...record.progress, intent });
  }
  const sourceId = records[0]?.sourceId ?? "";
  await ledger.batch(writeChanges(changes, { sourceId, network: "Preprod" }));
}
