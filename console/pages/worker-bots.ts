import { textAt } from "../ui/path.ts";
import type { PageDefinition } from "../ui/resource.ts";
import { BOT_VERSIONS } from "./fields/known-ids.ts";

const BOTS_PATH = "/v1/admin/worker-bots";
const STATUS_FIELD = {
  name: "status",
  label: "Status",
  as: "choice",
  choices: ["Active", "Archived"],
} as const;
const isActive = (row: unknown) => textAt(row, "status") === "Active";

export const workerBotsPage: PageDefinition = {
  name: "worker-bots",
  title: "Worker bots",
  access: "Admin",
  tabs: [
    {
      name: "bots",
      title: "Bots",
      description: "Worker bots, and the version that each runs.",
      path: BOTS_PATH,
      rowsMember: "workerBots",
      emptyText: "There is no worker bot yet. Create a version first, then a bot of it.",
      filters: [STATUS_FIELD, { name: "versionId", label: "Version", knownIds: BOT_VERSIONS }],
      columns: [
        { heading: "Name", path: "name" },
        { heading: "Version", path: "versionId" },
        { heading: "Status", path: "status", as: "tag" },
        { heading: "Created", path: "createdAt", as: "time" },
        { heading: "Id", path: "id", as: "code" },
      ],
      creates: [
        {
          name: "create",
          label: "Create bot",
          description: "Makes a bot of a version.",
          method: "POST",
          path: BOTS_PATH,
          fields: [
            { name: "name", label: "Name", isRequired: true },
            { name: "versionId", label: "Version", knownIds: BOT_VERSIONS, isRequired: true },
          ],
        },
      ],
      actions: [
        {
          name: "archive",
          label: "Archive",
          description: "Takes the bot out of migrations.",
          method: "DELETE",
          path: BOTS_PATH,
          fromRow: { id: "id" },
          isFinal: true,
          isApplicable: isActive,
        },
      ],
      related: [
        { label: "Moves", page: "worker-bots", tab: "moves", query: { workerBotId: "id" } },
      ],
    },
    {
      name: "versions",
      title: "Versions",
      description: "Versions that bots can run.",
      path: `${BOTS_PATH}/versions`,
      rowsMember: "versions",
      emptyText: "There is no version yet. Create one, which bots can then run.",
      filters: [STATUS_FIELD],
      columns: [
        { heading: "Id", path: "id" },
        { heading: "Name", path: "name" },
        { heading: "Summary", path: "summary" },
        { heading: "Status", path: "status", as: "tag" },
        { heading: "Created", path: "createdAt", as: "time" },
      ],
      creates: [
        {
          name: "create",
          label: "Create version",
          description: "Makes a version that bots can be moved to.",
          method: "POST",
          path: `${BOTS_PATH}/versions`,
          fields: [
            { name: "id", label: "Id", isRequired: true },
            { name: "name", label: "Name", isRequired: true },
            { name: "summary", label: "Summary", as: "long" },
          ],
        },
      ],
      actions: [
        {
          name: "migrate",
          label: "Move bots to it",
          description:
            "Moves all active bots to this version, or those of one version. Running it again moves those that failed.",
          method: "POST",
          path: `${BOTS_PATH}/versions/migrate`,
          fields: [
            { name: "reason", label: "Reason", isRequired: true },
            { name: "fromVersionId", label: "Only bots of version", knownIds: BOT_VERSIONS },
          ],
          fromRow: { toVersionId: "id" },
          isFinal: true,
          isApplicable: isActive,
          shows: [
            { heading: "Bots", path: "total" },
            { heading: "Moved", path: "moved" },
            { heading: "Were there already", path: "alreadyOnVersion" },
            { heading: "Failed", path: "failed" },
            { heading: "Failures", path: "failures", as: "json" },
          ],
        },
        {
          name: "archive",
          label: "Archive",
          description: "Bots can no longer be moved to it.",
          method: "DELETE",
          path: `${BOTS_PATH}/versions`,
          fromRow: { id: "id" },
          isFinal: true,
          isApplicable: isActive,
        },
      ],
    },
    {
      name: "moves",
      title: "Moves",
      description: "What migrations did to each bot, newest first.",
      path: `${BOTS_PATH}/moves`,
      rowsMember: "moves",
      emptyText: "No bot was moved yet. Open a version, and move bots to it.",
      filters: [
        { name: "workerBotId", label: "Bot" },
        { name: "outcome", label: "Outcome", as: "choice", choices: ["Moved", "Failed"] },
      ],
      columns: [
        { heading: "Bot", path: "workerBotId" },
        { heading: "From", path: "fromVersionId" },
        { heading: "To", path: "toVersionId" },
        { heading: "Outcome", path: "outcome", as: "tag" },
        { heading: "Problem", path: "message" },
        { heading: "Reason", path: "reason" },
        { heading: "When", path: "createdAt", as: "time" },
      ],
    },
  ],
};
