import * as z from "zod";
import {
  countField,
  described,
  idField,
  named,
  nullableTextField,
  textField,
  timestampField,
} from "../http/openapi/fields.ts";
import {
  optionalTextParameter,
  pageParameters,
  textParameter,
} from "../http/openapi/parameters.ts";

const EXAMPLE_BOT_ID = "01m80ye1q8d2v6k4w9x3z7b5nf";
const EXAMPLE_VERSION_ID = "v2";

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
export const MAX_LISTED_FAILURES = 100;

const versionId = described(
  z
    .string()
    .min(2)
    .max(41)
    .regex(/^[a-z0-9][a-z0-9-]*$/, "must be lower-case letters, digits and hyphens"),
  "Id of the version.",
  EXAMPLE_VERSION_ID,
);

const timestamps = {
  createdAt: timestampField("Time of creation."),
  updatedAt: timestampField("Time of the last change."),
};

const EXAMPLE_REASON = "faster answers";

export const migrationBody = z.strictObject({
  toVersionId: described(versionId, "Version that the bots get."),
  reason: described(
    z.string().trim().min(1).max(2000).meta({ pattern: "\\S" }),
    "Reason, stored with each move.",
    EXAMPLE_REASON,
  ),
  fromVersionId: described(
    versionId.optional(),
    "Only bots on this version. Default: all bots.",
    "v1",
  ),
});
export type MigrationBody = z.output<typeof migrationBody>;

export const migrationResult = z.object({
  total: countField("Bots that match: `moved + alreadyOnVersion + failed + remaining`.", 3),
  moved: countField("Bots that were moved.", 2),
  alreadyOnVersion: countField("Bots that already had the version.", 1),
  failed: countField("Bots that could not be moved.", 0),
  failures: described(
    z
      .array(
        z.object({
          workerBotId: idField("the bot", EXAMPLE_BOT_ID),
          message: textField("Why the bot could not be moved.", "the bot was archived meanwhile"),
        }),
      )
      .max(MAX_LISTED_FAILURES),
    "The first failures; `GET …/moves?outcome=Failed` lists all.",
  ),
  remaining: countField("Bots beyond the 10,000 of one call. Call again to move them.", 0),
});
export type MigrationResult = z.infer<typeof migrationResult>;

const EXAMPLE_BOT_NAME = "Ada";

export const botRecord = named(
  "WorkerBot",
  "A bot.",
  z.object({
    id: idField("the bot", EXAMPLE_BOT_ID),
    name: textField("Name of the bot.", EXAMPLE_BOT_NAME),
    versionId: textField("Id of the bot's version.", EXAMPLE_VERSION_ID),
    status,
    ...timestamps,
  }),
);
export type BotRecord = z.infer<typeof botRecord>;

export const botBody = z.strictObject({
  name: described(textParameter(), "Name of the bot.", EXAMPLE_BOT_NAME),
  versionId,
});

const summaryText = "What is new in the version.";

export const versionRecord = named(
  "WorkerBotVersion",
  "A version that bots can run.",
  z.object({
    id: idField("the version", EXAMPLE_VERSION_ID),
    name: textField("Name of the version.", "Second"),
    summary: nullableTextField(summaryText, EXAMPLE_REASON),
    status,
    ...timestamps,
  }),
);
export type VersionRecord = z.infer<typeof versionRecord>;

export const versionBody = z.strictObject({
  id: versionId,
  name: described(textParameter(), "Name of the version.", "Second"),
  summary: described(textParameter(2000).nullable().default(null), summaryText, EXAMPLE_REASON),
});

export const moveRecord = named(
  "WorkerBotMove",
  "Result of a migration for a bot.",
  z.object({
    id: idField("this entry", "01m80ye1r3f5t8h1p6j9c0q4ma"),
    workerBotId: idField("the bot", EXAMPLE_BOT_ID),
    fromVersionId: textField("Version before the move.", "v1"),
    toVersionId: textField("Target version of the move.", EXAMPLE_VERSION_ID),
    reason: textField("Reason of the move.", EXAMPLE_REASON),
    outcome,
    message: nullableTextField(
      "Reason of the failure. Null: no failure.",
      "the bot was archived meanwhile",
    ),
    requestedById: idField("the API key that made the request", "env-admin"),
    requestId: textField("`x-request-id` of the response.", "01m80ye05tw8d5k11en0zccppg"),
    createdAt: timestampField("Time of the move."),
  }),
);
export type MoveRecord = z.infer<typeof moveRecord>;

/** Names a bot or a version. */
export const archiveRequestBody = z.strictObject({
  id: described(textParameter(), "Id of the bot or the version.", EXAMPLE_VERSION_ID),
});

const statusFilter = described(status.optional(), "Only entries in this status.");

export const botQuery = z.strictObject({
  ...pageParameters,
  versionId: described(versionId.optional(), "Only bots on this version."),
  status: statusFilter,
});
export const versionQuery = z.strictObject({ ...pageParameters, status: statusFilter });
export const moveQuery = z.strictObject({
  ...pageParameters,
  workerBotId: optionalTextParameter("Only moves of this bot.", EXAMPLE_BOT_ID),
  outcome: described(outcome.optional(), "Only moves with this outcome."),
});
