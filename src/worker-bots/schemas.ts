import * as z from "zod";
import { answerText, described, named, recordId, timestamp } from "../http/openapi/fields.ts";
import { page, text } from "../http/openapi/parameters.ts";

const BOT_ID = "01m80ye1q8d2v6k4w9x3z7b5nf";
const VERSION = "v2";

const status = described(
  named("WorkerBotStatus", "Whether a bot or a version is in use.", z.enum(["Active", "Archived"])),
  "Whether the bot or the version is in use.",
  "Active",
);
const outcome = described(
  named("MoveOutcome", "Result of a migration for a bot.", z.enum(["Moved", "Failed"])),
  "Result of the migration.",
  "Moved",
);

/** Failures listed; `failed` counts all. */
export const MAX_FAILURES = 100;

const versionId = described(
  z
    .string()
    .min(2)
    .max(41)
    .regex(/^[a-z0-9][a-z0-9-]*$/, "must be lower-case letters, digits and hyphens"),
  "Id of the version.",
  VERSION,
);

const timestamps = {
  createdAt: timestamp("Time of creation."),
  updatedAt: timestamp("Time of the last change."),
};

const REASON = "faster answers";

export const migrateBody = z.strictObject({
  toVersionId: described(versionId, "Version that the bots get."),
  reason: described(
    z.string().trim().min(1).max(2000).meta({ pattern: "\\S" }),
    "Reason, stored with each move.",
    REASON,
  ),
  fromVersionId: described(
    versionId.optional(),
    "Only bots on this version. Default: all bots.",
    "v1",
  ),
});
export type MigrateBody = z.output<typeof migrateBody>;

export const migrateResult = z.object({
  total: described(
    z.int().min(0),
    "Bots that match: `moved + alreadyOnVersion + failed + remaining`.",
    3,
  ),
  moved: described(z.int().min(0), "Bots that were moved.", 2),
  alreadyOnVersion: described(z.int().min(0), "Bots that already had the version.", 1),
  failed: described(z.int().min(0), "Bots that could not be moved.", 0),
  failures: described(
    z
      .array(
        z.object({
          workerBotId: recordId("the bot", BOT_ID),
          message: answerText("Why the bot could not be moved.", "the bot was archived meanwhile"),
        }),
      )
      .max(MAX_FAILURES),
    "The first failures; `GET …/moves?outcome=Failed` lists all.",
  ),
  remaining: described(
    z.int().min(0),
    "Bots beyond the 10,000 of one call. Call again to move them.",
    0,
  ),
});
export type MigrateResult = z.infer<typeof migrateResult>;

const botName = "Ada";

export const botRecord = named(
  "WorkerBot",
  "A bot.",
  z.object({
    id: recordId("the bot", BOT_ID),
    name: answerText("Name of the bot.", botName),
    versionId: answerText("Id of the bot's version.", VERSION),
    status,
    ...timestamps,
  }),
);
export type BotRecord = z.infer<typeof botRecord>;

export const botBody = z.strictObject({
  name: described(text(), "Name of the bot.", botName),
  versionId,
});

const summary = "What is new in the version.";

export const versionRecord = named(
  "WorkerBotVersion",
  "A version that bots can run.",
  z.object({
    id: recordId("the version", VERSION),
    name: answerText("Name of the version.", "Second"),
    summary: described(z.string().nullable(), summary, REASON),
    status,
    ...timestamps,
  }),
);
export type VersionRecord = z.infer<typeof versionRecord>;

export const versionBody = z.strictObject({
  id: versionId,
  name: described(text(), "Name of the version.", "Second"),
  summary: described(text(2000).nullable().default(null), summary, REASON),
});

export const moveRecord = named(
  "WorkerBotMove",
  "Result of a migration for a bot.",
  z.object({
    id: recordId("this entry", "01m80ye1r3f5t8h1p6j9c0q4ma"),
    workerBotId: recordId("the bot", BOT_ID),
    fromVersionId: answerText("Version before the move.", "v1"),
    toVersionId: answerText("Target version of the move.", VERSION),
    reason: answerText("Reason of the move.", REASON),
    outcome,
    message: described(
      z.string().nullable(),
      "Reason of the failure. Null: no failure.",
      "the bot was archived meanwhile",
    ),
    requestedById: recordId("the API key that made the request", "env-admin"),
    requestId: answerText("`x-request-id` of the response.", "01m80ye05tw8d5k11en0zccppg"),
    createdAt: timestamp("Time of the move."),
  }),
);
export type MoveRecord = z.infer<typeof moveRecord>;

/** Names a bot or a version. */
export const archiveBody = z.strictObject({
  id: described(text(), "Id of the bot or the version.", VERSION),
});

const statusFilter = described(status.optional(), "Only entries in this status.");

export const botQuery = z.strictObject({
  ...page,
  versionId: described(versionId.optional(), "Only bots on this version."),
  status: statusFilter,
});
export const versionQuery = z.strictObject({ ...page, status: statusFilter });
export const moveQuery = z.strictObject({
  ...page,
  workerBotId: described(text().optional(), "Only moves of this bot.", BOT_ID),
  outcome: described(outcome.optional(), "Only moves with this outcome."),
});
