import { and, desc, eq, sql } from "drizzle-orm";
import { chargedWork } from "../api-keys/charged-work.ts";
import type { Network } from "../chain/network.ts";
import { db } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { outboundOf, usualProviders } from "./providers.ts";
import { inboxRegistration as inbox } from "./tables.ts";
import { type InboxRow, verify } from "./verification.ts";

const TIMEOUT_MS = 6_000;

/**
 * Verifies one registration anew, an invalid one from the beginning. Charged before the provider is
 * asked, whether or not it answers; not charged for a deregistered one, nor when the service itself
 * fails.
 *
 * @throws ApiError 402, 404
 */
export async function refreshInbox(
  c: AppContext,
  { network, agentIdentifier }: { network: Network; agentIdentifier: string },
): Promise<InboxRow> {
  const { deadline } = c.var;
  const ledger = db(c.env, network, { writes: "idempotent", deadline });
  const [row] = await ledger.orm
    .select()
    .from(inbox)
    // Only looked for by the agent: D1 has no statistics that say that a network has more.
    .where(and(eq(inbox.agentIdentifier, agentIdentifier), sql`+${inbox.network} = ${network}`))
    // A source that was removed and added again has the token twice; the active one counts.
    .orderBy(sql`${inbox.status} = 'Deregistered'`, desc(inbox.id))
    .limit(1);
  if (!row) throw new ApiError(404, "agentIdentifier: there is no such inbox registration");
  if (row.status === "Deregistered") return row;
  const context = {
    db: ledger,
    outbound: await outboundOf(c.env, deadline),
    usualProviders: usualProviders(c.env),
    timeoutMs: TIMEOUT_MS,
    now: Date.now,
  };
  return chargedWork(c, "inbox-registration-refresh", () => verify(context, row));
}
