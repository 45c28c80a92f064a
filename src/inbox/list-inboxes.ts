import { and, asc, desc, eq, inArray, type like, lt, or, type SQL, sql } from "drizzle-orm";
import type { Network } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import { equalsIfGiven } from "../db/conditions.ts";
import { normalizeSlug } from "./slug.ts";
import { type INBOX_STATUSES, inboxRegistration as inbox } from "./tables.ts";
import type { InboxRow } from "./verify-inbox.ts";

export type InboxStatus = (typeof INBOX_STATUSES)[number];

export interface InboxFilters {
  status?: InboxStatus[] | undefined;
  policyId?: string | undefined;
  /** In any form: it is compared in its normalized one. */
  agentSlug?: string | undefined;
}

interface InboxPageQuery {
  network: Network;
  limit: number;
  cursorId?: string | undefined;
}

/** The default of a list: inboxes that are or may become usable. */
const DEFAULT_STATUSES: InboxStatus[] = ["Pending", "Verified"];

/**
 * One page, newest first by id, after `cursorId`.
 *
 * @param search - a part of slug, name or linked e-mail address, case-insensitive
 */
export function listInboxes(
  db: Database,
  { network, limit, cursorId }: InboxPageQuery,
  { status = DEFAULT_STATUSES, ...filters }: InboxFilters,
  search?: string,
): Promise<InboxRow[]> {
  return db.orm
    .select()
    .from(inbox)
    .where(
      and(
        eq(inbox.network, network),
        cursorId === undefined ? undefined : lt(inbox.id, cursorId),
        ...buildConditions({ ...filters, status }),
        search === undefined ? undefined : buildSearchCondition(search),
      ),
    )
    .orderBy(desc(inbox.id))
    .limit(limit);
}

/**
 * Registrations whose status changed since a point, with the paging of `registry-diff.ts`. The cursor
 * item is returned again, and an unknown cursor is compared by its text. A cursor before the point does
 * not count.
 *
 * @param after - epoch milliseconds
 */
export function listChangedInboxes(
  db: Database,
  { network, limit, cursorId }: InboxPageQuery,
  after: number,
  filters: InboxFilters,
): Promise<InboxRow[]> {
  const first = cursorId ?? "";
  return db.orm
    .select()
    .from(inbox)
    .where(
      and(
        eq(inbox.network, network),
        sql`(${inbox.statusUpdatedAt}, ${inbox.id}) >= (${after},
          iif((SELECT c.status_updated_at FROM inbox_registration AS c
               WHERE c.id = ${first} AND c.network = ${network}) < ${after}, '', ${first}))`,
        ...buildConditions(filters),
      ),
    )
    .orderBy(asc(inbox.statusUpdatedAt), asc(inbox.id))
    .limit(cursorId === undefined ? limit : Math.max(limit, 2));
}

function buildConditions({ status, policyId, agentSlug }: InboxFilters): (SQL | undefined)[] {
  return [
    status && inArray(inbox.status, status),
    equalsIfGiven(inbox.policyId, policyId?.toLowerCase()),
    // Nothing has the empty slug, so a text without letters finds nothing.
    equalsIfGiven(inbox.agentSlug, agentSlug === undefined ? undefined : normalizeSlug(agentSlug)),
  ];
}

function buildSearchCondition(search: string): SQL | undefined {
  return or(
    buildContainsCondition(inbox.agentSlug, normalizeSlug(search) || search),
    buildContainsCondition(inbox.name, search),
    buildContainsCondition(inbox.linkedEmail, search),
  );
}

function buildContainsCondition(column: Parameters<typeof like>[0], part: string): SQL {
  return sql`instr(lower(${column}), lower(${part})) > 0`;
}
