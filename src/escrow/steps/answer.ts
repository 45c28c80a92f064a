/** What a change that was asked for is answered with: the record as the change left it. */
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { Caller } from "../../http/context.ts";
import type { DiffQuery } from "../diff.ts";
import type { ChangeSet } from "../fold/changes.ts";
import { listPage } from "../list.ts";
import type { EscrowRecord, Side } from "../record.ts";
import { render, STAMP, withConfirmations, withHistories, withMetadata } from "../render.ts";

/** A change as it is remembered for repeats: JSON throughout. */
export interface Changed {
  id: string;
  side: Side;
  network: Network;
  /** Payment key hash of its wallet, hex. */
  vkey: string | null;
  /** Null: nothing was changed. */
  made: {
    /** The record's, by which it is known again. */
    sequence: number;
    /** Epoch milliseconds. */
    at: number;
    /** The record, with the placeholder of its change stamps. */
    doc: string;
  } | null;
  /** What is said of it beside the record; left out: nothing. */
  warnings?: readonly string[];
}

/** A record that was left as it is. */
export function unchanged({ id, side, network, wallet }: EscrowRecord): Changed {
  return { id, side, network, vkey: wallet?.vkey ?? null, made: null };
}

/** A record that a change set, which is not written yet, changes. */
export function changedOf(changes: ChangeSet, record: EscrowRecord, tipHeight: number): Changed {
  const { id, sequence } = record;
  const doc = withConfirmations(render(record, changes.records.get(id)?.moved), tipHeight);
  return { ...unchanged(record), made: { sequence, at: changes.now, doc } };
}

/**
 * The answer, which is the same whatever has become of the record since. Once that has moved on, the
 * change's stamp is not known any more, and the time of the change stands for it: some milliseconds
 * before it where many changes are made at once.
 */
export async function shownAfter<Shown>(
  database: Database,
  reading: { viewer: Caller } & Pick<DiffQuery, "env">,
  { id, side, network, made }: Changed,
): Promise<Shown> {
  if (made === null) {
    const query = { network, id, limit: 1, includeHistory: false, ...reading };
    return JSON.parse(await listPage(database, side, query)) as Shown;
  }
  const [row] = await database.all<{ stamp: number; sequence: number; metadata: string | null }>(
    `SELECT action_changed_at AS stamp, sequence,
       (SELECT metadata FROM escrow_request WHERE record_id = escrow.id) AS metadata
     FROM escrow WHERE id = ?`,
    id,
  );
  const stamp = row?.sequence === made.sequence ? row.stamp : made.at;
  const doc = withHistories(withMetadata(made.doc, row?.metadata ?? null), side);
  return JSON.parse(doc.replaceAll(STAMP, new Date(stamp).toISOString())) as Shown;
}
