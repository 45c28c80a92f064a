import * as z from "zod";
import { deriveId } from "../../../src/db/id.ts";
import { normalizeSlug } from "../../../src/inbox/slug.ts";
import type { RegistrationProfile } from "../../../src/registrations/registration-profile.ts";
import {
  findOpenPurpose,
  REGISTRATION_STATES,
  type RegistrationKind,
} from "../../../src/registrations/states.ts";
import { insertRegistration } from "../../../src/registrations/store.ts";
import {
  amount,
  type Conversion,
  defineKind,
  type ImportContext,
  type ImportedSource,
  LeftOut,
  optionalText,
  text,
  time,
} from "../import-context.ts";
import { buildAgentProfile } from "./agent-metadata.ts";

const commonSchema = z.object({
  id: text,
  createdAt: time,
  paymentSourceId: text,
  smartContractWalletId: text,
  recipientHotWalletId: optionalText,
  deregistrationHotWalletId: optionalText,
  sendFundingLovelace: amount.nullable(),
  name: text,
  agentIdentifier: optionalText,
  state: z.enum(REGISTRATION_STATES),
  registrationStateLastChangedAt: time,
  error: optionalText,
  requestedById: optionalText,
});
type PeerRegistration = z.output<typeof commonSchema>;

/** Registered agents, so that their owners can update and deregister them here. */
export const registrations = defineKind({
  name: "registrations of agents",
  table: "RegistryRequest",
  schema: z.looseObject(commonSchema.shape),
  convert: (row, context) =>
    convertRegistration("Agent", row, context, ({ type }) => buildAgentProfile(row, type, context)),
});

/** Registered inbox agents. */
export const inboxRegistrations = defineKind({
  name: "registrations of inbox agents",
  table: "InboxAgentRegistrationRequest",
  schema: commonSchema.extend({ description: optionalText, agentSlug: text }),
  convert: (row, context) =>
    convertRegistration("InboxAgent", row, context, () => ({
      name: row.name,
      description: row.description,
      agentSlug: normalizeSlug(row.agentSlug),
      metadataVersion: 1,
    })),
});

function convertRegistration(
  kind: RegistrationKind,
  row: PeerRegistration,
  context: ImportContext,
  buildProfile: (source: ImportedSource) => RegistrationProfile,
): Conversion {
  const source = context.requireSource(row.paymentSourceId);
  if (findOpenPurpose(row.state))
    throw new LeftOut(`is ${row.state} there: let it end, and import again`);
  const wallet = context.requireWallet(row.deregistrationHotWalletId ?? row.smartContractWalletId);
  const recipient = row.recipientHotWalletId && context.wallets.get(row.recipientHotWalletId);
  const profile = buildProfile(source);
  const id = deriveId(row.createdAt, `registration ${row.id}`);
  context.recordIds.set(row.id, id);
  if (!context.claim("registration", id, id, "")) return "present";
  return insertRegistration(context.database, {
    id,
    kind,
    network: source.network,
    sourceId: source.id,
    sourceType: source.type,
    contractAddress: source.contractAddress,
    policyId: source.policyId,
    profile,
    name: profile.name,
    state: row.state,
    stateChangedAt: row.registrationStateLastChangedAt,
    error: row.error,
    agentIdentifier: row.agentIdentifier?.toLowerCase() ?? null,
    wallet: { vkey: wallet.vkey, address: wallet.address },
    walletVkey: wallet.vkey,
    recipient: recipient ? { vkey: recipient.vkey, address: recipient.address } : null,
    sendFunding: row.sendFundingLovelace,
    fundingCharged: null,
    seed: null,
    tx: null,
    createdById: context.ownerOf(row.requestedById),
    createdAt: row.createdAt,
    updatedAt: context.now,
    lastCheckedAt: null,
    revision: 0,
    task: null,
  });
}
