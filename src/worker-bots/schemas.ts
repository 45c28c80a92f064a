import * as z from "zod";
import { answerText, described, named, recordId, timestamp } from "../http/openapi/fields.ts";
import { page, text } from "../http/parameters.ts";

const BOT_ID = "01m80ye1q8d2v6k4w9x3z7b5nf";
const VERSION = "v2";

const status = described(
  named("WorkerBotStatus", "Whether a bot or a version is used.", z.enum(["Active", "Archived"])),
  "Whether it is used.",
  "Active",
);
const outcome = described(
  named("MoveOutcome", "What a migration did to a bot.", z.enum(["Moved", "Failed"])),
  "What the migration did.",
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
  createdAt: timestamp("When it was made."),
  updatedAt: timestamp("When it was last changed."),
};

const REASON = "faster answers";

export const migrateBody = z.strictObject({
  toVersionId: described(versionId, "Version that the bots get."),
  reason: described(
    z.string().trim().min(1).max(2000).meta({ pattern: "\\S" }),
    "Kept with each move.",
    REASON,
  ),
  fromVersionId: described(
    versionId.optional(),
    "Only bots on this version; without it, all of them.",
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
  alreadyOnVersion: described(z.int().min(0), "Bots that had the version.", 1),
  failed: described(z.int().min(0), "Bots that could not be moved.", 0),
  failures: described(
    z
      .array(
        z.object({
          workerBotId: recordId("the bot", BOT_ID),
          message: answerText("Why it could not be moved.", "the bot was archived meanwhile"),
        }),
      )
      .max(MAX_FAILURES),
    "The first failures; `GET …/moves?outcome=Failed` lists all.",
  ),
  remaining: described(
    z.int().min(0),
    "Bots beyond the 10,000 of one call, not touched: run it again.",
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
    versionId: answerText("Id of its version.", VERSION),
    status,
    ...timestamps,
  }),
);
export type BotRecord = z.infer<typeof botRecord>;

export const botBody = z.strictObject({
  name: described(text(), "Name of the bot.", botName),
  versionId,
});

const summary = "What is new in it.";

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
  "What a migration did to a bot.",
  z.object({
    id: recordId("this entry", "01m80ye1r3f5t8h1p6j9c0q4ma"),
    workerBotId: recordId("the bot", BOT_ID),
    fromVersionId: answerText("Version that it had.", "v1"),
    toVersionId: answerText("Version that it was to get.", VERSION),
    reason: answerText("Why it was moved.", REASON),
    outcome,
    message: described(
      z.string().nullable(),
      "Why it failed; null when it did not.",
      "the bot was archived meanwhile",
    ),
    requestedById: recordId("the API key that asked for it", "env-admin"),
    requestId: answerText("`x-request-id` of the answer.", "01m80ye05tw8d5k11en0zccppg"),
    createdAt: timestamp("When it was done."),
  }),
);
export type MoveRecord = z.infer<typeof moveRecord>;

/** Names a bot or a version. */
export const archiveBody = z.strictObject({
  id: described(text(), "Id of the bot or the version.", VERSION),
});

const statusFilter = described(status.optional(), "Only those in this status.");

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
