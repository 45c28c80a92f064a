import { and, desc, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { runWithCharge } from "../api-keys/run-with-charge.ts";
import type { Network } from "../chain/network.ts";
import { type Database, openDb } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { toEnvelope, toIsoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { described } from "../http/openapi/fields.ts";
import { describeDiffPaging } from "../http/openapi/parameters.ts";
import { createJsonResponse, openReadSession } from "../http/session.ts";
import { readDefaultProviders, readOutboundOptions } from "./fetch-provider-page.ts";
import { listChangedInboxes, listInboxes } from "./list-inboxes.ts";
import {
  inboxDiffBody,
  inboxListBody,
  inboxRefreshBody,
  inboxRegistrationRecord,
  inboxRegistrations,
  inboxSearchBody,
} from "./schemas.ts";
import { inboxRegistration as inbox } from "./tables.ts";
import {
  findProviderUrl,
  type InboxRow,
  type VerificationContext,
  verifyInbox,
} from "./verify-inbox.ts";

const OPTIONS = {
  method: "post",
  access: "User",
  scope: "network",
  tag: "Inbox registrations",
} as const;
/** What the operations that list registrations have in common. */
const LIST_OPTIONS = {
  ...OPTIONS,
  isConditional: true,
  takesBookmark: true,
  data: inboxRegistrations,
} as const;

/** `/inbox-agent-registration…` of the interface: the state on the chain and at the providers. */
export function createInboxRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      ...OPTIONS,
      operationId: "refreshInboxRegistration",
      path: "/inbox-agent-registration-refresh",
      summary: "Verifies an inbox registration again",
      description:
        "An invalid registration becomes pending first. If the provider does not answer in six seconds, nothing changes. The service charges the credit before it asks the provider.",
      body: inboxRefreshBody,
      data: z.object({
        registration: described(
          inboxRegistrationRecord,
          "The registration after the verification.",
        ),
      }),
      errors: {
        402: "The API key has no usage credits left.",
        404: "There is no such registration.",
      },
    },
    async (c, { body }) => {
      const row = await refreshInbox(c, body);
      return { registration: toInboxRecord(row, readDefaultProviders(c.env)) };
    },
  );

  serve(
    router,
    {
      ...LIST_OPTIONS,
      operationId: "listInboxRegistrations",
      path: "/inbox-agent-registration",
      summary: "Lists inbox registrations, newest first",
      body: inboxListBody,
    },
    (c, { body }) =>
      respondWithPage(c, body.network, (session) => listInboxes(session, body, body.filter ?? {})),
  );

  serve(
    router,
    {
      ...LIST_OPTIONS,
      operationId: "searchInboxRegistrations",
      path: "/inbox-agent-registration-search",
      summary: "Searches inbox registrations, newest first",
      body: inboxSearchBody,
    },
    (c, { body }) =>
      respondWithPage(c, body.network, (session) =>
        listInboxes(session, body, body.filter ?? {}, body.query),
      ),
  );

  serve(
    router,
    {
      ...LIST_OPTIONS,
      operationId: "diffInboxRegistrations",
      path: "/inbox-agent-registration-diff",
      summary: "Returns inbox registrations whose status changed at or after a time",
      description: describeDiffPaging("statusUpdatedAt", "statusUpdatedAfter", "at"),
      body: inboxDiffBody,
    },
    (c, { body }) =>
      respondWithPage(c, body.network, (session) =>
        listChangedInboxes(session, body, body.statusUpdatedAfter, body),
      ),
  );

  return router;
}

async function respondWithPage(
  c: AppContext,
  network: Network,
  list: (session: Database) => Promise<InboxRow[]>,
): Promise<Response> {
  const session = openReadSession(c, network);
  const providers = readDefaultProviders(c.env);
  const registrations = (await list(session)).map((row) => toInboxRecord(row, providers));
  return createJsonResponse(c, JSON.stringify(toEnvelope({ registrations })), session);
}

const REFRESH_TIMEOUT_MS = 6_000;

/**
 * Verifies one registration anew, an invalid one from the beginning. Charged before the provider is
 * asked, whether or not it answers; not charged for a deregistered one, nor when the service itself
 * fails.
 *
 * @throws ApiError 402, 404
 */
async function refreshInbox(
  c: AppContext,
  { network, agentIdentifier }: { network: Network; agentIdentifier: string },
): Promise<InboxRow> {
  const { deadline } = c.var;
  const database = openDb(c.env, network, { writes: "idempotent", deadline });
  const [row] = await database.orm
    .select()
    .from(inbox)
    // The `+` prevents the index of networks, which has too many rows.
    .where(and(eq(inbox.agentIdentifier, agentIdentifier), sql`+${inbox.network} = ${network}`))
    // A source that was removed and added again has the token twice; the active one counts.
    .orderBy(sql`${inbox.status} = 'Deregistered'`, desc(inbox.id))
    .limit(1);
  if (!row) throw new ApiError(404, "agentIdentifier: there is no such inbox registration");
  if (row.status === "Deregistered") return row;
  const context = {
    db: database,
    outbound: await readOutboundOptions(c.env, deadline),
    defaultProviders: readDefaultProviders(c.env),
    timeoutMs: REFRESH_TIMEOUT_MS,
    now: Date.now,
  };
  return runWithCharge(c, "inbox-registration-refresh", () => verifyInbox(context, row));
}

/** A registration as the interface shows it. */
function toInboxRecord(
  row: InboxRow,
  defaultProviders: VerificationContext["defaultProviders"],
): z.input<typeof inboxRegistrationRecord> {
  return {
    id: row.id,
    createdAt: toIsoTime(row.createdAt),
    updatedAt: toIsoTime(row.updatedAt),
    status: row.status,
    statusUpdatedAt: toIsoTime(row.statusUpdatedAt),
    name: row.name,
    description: row.description,
    agentSlug: row.agentSlug,
    agentIdentifier: row.agentIdentifier,
    providerUrl: findProviderUrl(row, defaultProviders),
    linkedEmail: row.linkedEmail,
    encryptionPublicKey: row.encryptionPublicKey,
    encryptionKeyVersion: row.encryptionKeyVersion,
    signingPublicKey: row.signingPublicKey,
    signingKeyVersion: row.signingKeyVersion,
    metadataVersion: row.metadataVersion,
    RegistrySource: { id: row.sourceId, policyId: row.policyId, url: row.sourceUrl },
  };
}
