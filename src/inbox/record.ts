import type * as z from "zod";
import { isoTime } from "../http/envelope.ts";
import type { inboxRegistrationRecord } from "./schemas.ts";
import { type InboxRow, providerUrlOf, type VerificationContext } from "./verification.ts";

/** A registration as the interface shows it. */
export function shownInbox(
  row: InboxRow,
  usualProviders: VerificationContext["usualProviders"],
): z.input<typeof inboxRegistrationRecord> {
  return {
    id: row.id,
    createdAt: isoTime(row.createdAt),
    updatedAt: isoTime(row.updatedAt),
    status: row.status,
    statusUpdatedAt: isoTime(row.statusUpdatedAt),
    name: row.name,
    description: row.description,
    agentSlug: row.agentSlug,
    agentIdentifier: row.agentIdentifier,
    providerUrl: providerUrlOf(row, usualProviders),
    linkedEmail: row.linkedEmail,
    encryptionPublicKey: row.encryptionPublicKey,
    encryptionKeyVersion: row.encryptionKeyVersion,
    signingPublicKey: row.signingPublicKey,
    signingKeyVersion: row.signingKeyVersion,
    metadataVersion: row.metadataVersion,
    RegistrySource: { id: row.sourceId, policyId: row.policyId, url: row.sourceUrl },
  };
}
