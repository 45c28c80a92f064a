import * as z from "zod";
import type { ServiceEventKind } from "../events/event-kinds.ts";
import { network } from "../http/openapi/chain-fields.ts";
import {
  described,
  idField,
  named,
  nullableTextField,
  nullableTimestampField,
  textField,
  timestampField,
} from "../http/openapi/fields.ts";
import type { EventDeclaration } from "../http/router.ts";
import { providerPurpose } from "../sources/schemas.ts";

const sourceKind = described(
  named("SourceKind", "Kind of a source.", z.enum(["payment", "registry"])),
  "Kind of the source.",
  "payment",
);

const stuckSource = named(
  "StuckSource",
  "A source whose sync has stopped.",
  z.object({
    sourceId: idField("the source", "01m80ydym8b5krj5k5mrnn0w9r"),
    kind: sourceKind,
    network,
    lastSyncAt: nullableTimestampField("When the sync last reached the tip. Null: never."),
    error: nullableTextField(
      "Why the last sync failed. Null: not tried.",
      "The chain provider failed",
    ),
  }),
);

const providerOutage = named(
  "ProviderOutage",
  "A chain provider that a source does not use at the moment.",
  z.object({
    sourceId: idField("the source", "01m80ydym8b5krj5k5mrnn0w9r"),
    kind: sourceKind,
    network,
    provider: described(
      z.int(),
      "Position of the provider. 0: the first provider of the source, 1: the first of `RpcProviders`.",
      0,
    ),
    use: described(z.array(providerPurpose), "What it is not used for.", ["reads"]),
    since: timestampField("Time of the first failed call."),
    reason: textField("Why calls failed.", "provider: GET /blocks/latest: status 503"),
  }),
);

const stuckWallet = named(
  "StuckWallet",
  "A stuck wallet.",
  z.object({
    network,
    walletVkey: nullableTextField(
      "Payment key hash, in hex. Null: no wallet of the source can do the tasks.",
      "5c7d0ba14bbd3ad0d1b5b4b3a6ecb9bb9ae6c7d5c4c3e1d5a3d6e5b0",
    ),
    walletNote: nullableTextField(
      "The wallet's note. Null: no wallet of the source can do the tasks.",
      "main buyer",
    ),
    paymentSourceId: nullableTextField(
      "Id of the payment source. Null: unknown.",
      "01m80ydym8b5krj5k5mrnn0w9r",
    ),
    waiting: described(z.number(), "Number of tasks that are stuck.", 1),
    reason: textField("Why one of the tasks is stuck.", "the wallet lacks 5000000 units"),
  }),
);

const disabledWebhook = named(
  "DisabledWebhook",
  "A webhook that the service disabled.",
  z.object({
    webhookId: idField("the webhook", "01m80ydyrn7fh4bt4hg1xd53zw"),
    name: textField("Display name.", "Bookkeeping"),
    apiKeyId: idField("the API key that created it", "env-admin"),
    disabledAt: timestampField("Time of the disabling."),
    disabledReason: textField("Reason of the disabling.", "10 deliveries in a row failed"),
  }),
);

const deadMessages = named(
  "DeadMessages",
  "Messages that failed permanently. The cron does their work.",
  z.object({
    queue: textField("The dead-letter queue.", "agent-payment-events-dead"),
    messages: described(z.number(), "Number of messages.", 3),
  }),
);

const databaseSize = named(
  "DatabaseSize",
  "The size of the database.",
  z.object({
    database: textField("Binding of the database.", "DB"),
    bytes: described(z.number(), "Size.", 8_120_000_000),
    maxBytes: described(z.number(), "Size that the database may have.", 10_000_000_000),
    daysLeft: described(
      z.number().nullable(),
      "Days until the database is full, at the present rate. Null: it does not grow.",
      41.5,
    ),
  }),
);

const archiveBinding = named(
  "ArchiveBinding",
  "An archive that needs a person.",
  z.object({ binding: textField("Binding of the archive.", "ARCHIVE_2") }),
);

/** What each event tells, and its data. */
const EVENTS: Readonly<Record<ServiceEventKind, readonly [what: string, data: z.ZodType]>> = {
  SOURCE_STUCK: ["the sync of a payment source or registry source has stopped", stuckSource],
  PROVIDER_OUT: ["one of several chain providers of a source does not work", providerOutage],
  WALLET_STUCK: ["a wallet is stuck, for example without funds", stuckWallet],
  ENDPOINT_DISABLED: [
    "the service disabled a webhook whose receiver kept failing",
    disabledWebhook,
  ],
  QUEUE_DEAD: ["messages of a queue failed permanently", deadMessages],
  DATABASE_NEARLY_FULL: ["the database uses 80 % of its limit", databaseSize],
  DATABASE_FULL: ["the database is full and refuses writes", databaseSize],
  ARCHIVE_NEEDED: ["all archives are full, and final records stay in the database", archiveBinding],
  ARCHIVE_BEHIND: ["an archive was set back, and reads that need it fail", archiveBinding],
  ARCHIVE_UNBOUND: [
    "an archive with records is not bound, and reads that need it fail",
    archiveBinding,
  ],
  ARCHIVE_UNMIGRATED: [
    "an archive lacks tables or columns, so nothing moves there",
    archiveBinding,
  ],
};

/** Events of the service itself, which only Admins' webhooks are sent: one each time that it begins. */
export const SERVICE_EVENTS: readonly EventDeclaration[] = Object.entries(EVENTS).map(
  ([kind, [what, data]]) => ({ kind, summary: `For Admins: ${what}`, data }),
);
