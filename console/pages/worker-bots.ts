import { textAt } from "../ui/path.ts";
import type { Page } from "../ui/resource.ts";
import { BOT_VERSIONS } from "./fields/known-ids.ts";

const BOTS = "/v1/admin/worker-bots";
const STATUS = {
  name: "status",
  label: "Status",
  as: "choice",
  choices: ["Active", "Archived"],
} as const;
const isActive = (row: unknown) => textAt(row, "status") === "Active";

export const workerBots: Page = {
  name: "worker-bots",
  title: "Worker bots",
  needs: "Admin",
  tabs: [
    {
      name: "bots",
      title: "Bots",
      about: "Worker bots, and the version that each runs.",
      path: BOTS,
      rows: "workerBots",
      empty: "There is no worker bot.",
      filters: [STATUS, { name: "versionId", label: "Version (id)", known: BOT_VERSIONS }],
      columns: [
        { head: "Name", at: "name" },
        { head: "Version", at: "versionId" },
        { head: "Status", at: "status", as: "tag" },
        { head: "Made", at: "createdAt", as: "time" },
        { head: "Id", at: "id", as: "code" },
      ],
      creates: [
        {
          name: "create",
          label: "Create bot",
          about: "Makes a bot of a version.",
          method: "POST",
          path: BOTS,
          fields: [
            { name: "name", label: "Name", isRequired: true },
            { name: "versionId", label: "Version (id)", known: BOT_VERSIONS, isRequired: true },
          ],
        },
      ],
      actions: [
        {
          name: "archive",
          label: "Archive",
          about: "Takes the bot out of migrations.",
          method: "DELETE",
          path: BOTS,
          fromRow: { id: "id" },
          isFinal: true,
          when: isActive,
        },
      ],
      related: [
        { label: "Moves", page: "worker-bots", tab: "moves", query: { workerBotId: "id" } },
      ],
    },
    {
      name: "versions",
      title: "Versions",
      about: "Versions that bots can run.",
      path: `${BOTS}/versions`,
      rows: "versions",
      empty: "There is no version.",
      filters: [STATUS],
      columns: [
        { head: "Id", at: "id" },
        { head: "Name", at: "name" },
        { head: "Summary", at: "summary" },
        { head: "Status", at: "status", as: "tag" },
        { head: "Made", at: "createdAt", as: "time" },
      ],
      creates: [
        {
          name: "create",
          label: "Create version",
          about: "Makes a version that bots can be moved to.",
          method: "POST",
          path: `${BOTS}/versions`,
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
          about:
            "Moves all active bots to this version, or those of one version. Running it again moves those that failed.",
          method: "POST",
          path: `${BOTS}/versions/migrate`,
          fields: [
            { name: "reason", label: "Reason", isRequired: true },
            { name: "fromVersionId", label: "Only bots of version (id)", known: BOT_VERSIONS },
          ],
          fromRow: { toVersionId: "id" },
          isFinal: true,
          when: isActive,
          shows: [
            { head: "Bots", at: "total" },
            { head: "Moved", at: "moved" },
            { head: "Were there already", at: "alreadyOnVersion" },
            { head: "Failed", at: "failed" },
            { head: "Failures", at: "failures", as: "json" },
          ],
        },
        {
          name: "archive",
          label: "Archive",
          about: "Bots can no longer be moved to it.",
          method: "DELETE",
          path: `${BOTS}/versions`,
          fromRow: { id: "id" },
          isFinal: true,
          when: isActive,
        },
      ],
    },
    {
      name: "moves",
      title: "Moves",
      about: "What migrations did to each bot, newest first.",
      path: `${BOTS}/moves`,
      rows: "moves",
      empty: "No bot was moved yet.",
      filters: [
        { name: "workerBotId", label: "Bot (id)" },
        { name: "outcome", label: "Outcome", as: "choice", choices: ["Moved", "Failed"] },
      ],
      columns: [
        { head: "Bot", at: "workerBotId" },
        { head: "From", at: "fromVersionId" },
        { head: "To", at: "toVersionId" },
        { head: "Outcome", at: "outcome", as: "tag" },
        { head: "Problem", at: "message" },
        { head: "Reason", at: "reason" },
        { head: "When", at: "createdAt", as: "time" },
      ],
    },
  ],
};
