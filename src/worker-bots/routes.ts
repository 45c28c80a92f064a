import * as z from "zod";
import { paginate, serveAdmin } from "../http/admin-endpoint.ts";
import { createRouter } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import { archiveBot, createBot, listBots } from "./bots.ts";
import { listMoves, migrateBots } from "./migrate-bots.ts";
import {
  archiveRequestBody,
  botBody,
  botQuery,
  botRecord,
  MAX_LISTED_FAILURES,
  migrationBody,
  migrationResult,
  moveQuery,
  moveRecord,
  versionBody,
  versionQuery,
  versionRecord,
} from "./schemas.ts";
import { archiveVersion, createVersion, listVersions } from "./versions.ts";

const TAG = "Worker bots";
const BOTS_PATH = "/admin/worker-bots";
const VERSIONS_PATH = `${BOTS_PATH}/versions`;

/** The interface's admin operation, and the endpoints for the bots and versions it works on. */
export function createWorkerBotRoutes() {
  const router = createRouter();

  serveAdmin(
    router,
    {
      method: "post",
      operationId: "migrateWorkerBots",
      path: `${VERSIONS_PATH}/migrate`,
      tag: TAG,
      summary: "Migrates worker bots to a version",
      description:
        "Moves up to 10,000 bots that are not archived. A repeated call moves the rest: failed bots, and bots that an interrupted run did not reach. `meta.pagination` describes `failures`.",
      body: migrationBody,
      data: migrationResult,
      errors: { 409: "Another migration is running; see Retry-After." },
    },
    async (c, { body }) => {
      const data = await migrateBots(c, body, Date.now());
      const pagination = {
        cursor: null,
        limit: MAX_LISTED_FAILURES,
        total: data.failed,
        nextCursor: null,
      };
      return { data, pagination };
    },
  );

  serveAdmin(
    router,
    {
      method: "get",
      operationId: "listWorkerBotMoves",
      path: `${BOTS_PATH}/moves`,
      tag: TAG,
      summary: "Lists the results of migrations for each bot, newest first",
      query: moveQuery,
      data: z.object({ moves: described(z.array(moveRecord), "The moves.") }),
    },
    async (c, { query }) => {
      const { items, pagination } = paginate(await listMoves(c, query), query);
      return { data: { moves: items }, pagination };
    },
  );

  serveAdmin(
    router,
    {
      method: "get",
      operationId: "listWorkerBots",
      path: BOTS_PATH,
      tag: TAG,
      summary: "Lists worker bots, newest first",
      query: botQuery,
      data: z.object({ workerBots: described(z.array(botRecord), "The bots.") }),
    },
    async (c, { query }) => {
      const { items, pagination } = paginate(await listBots(c, query), query);
      return { data: { workerBots: items }, pagination };
    },
  );

  serveAdmin(
    router,
    {
      method: "post",
      operationId: "createWorkerBot",
      path: BOTS_PATH,
      tag: TAG,
      summary: "Creates a worker bot",
      body: botBody,
      idempotent: true,
      data: botRecord,
    },
    async (c, { body }) => ({ data: await createBot(c, body, Date.now()) }),
  );

  serveAdmin(
    router,
    {
      method: "delete",
      operationId: "archiveWorkerBot",
      path: BOTS_PATH,
      tag: TAG,
      summary: "Archives a worker bot, so that migrations no longer move the bot",
      body: archiveRequestBody,
      data: botRecord,
      errors: { 404: "There is no such worker bot.", 409: "The worker bot is already archived." },
    },
    async (c, { body }) => ({ data: await archiveBot(c, body.id, Date.now()) }),
  );

  serveAdmin(
    router,
    {
      method: "get",
      operationId: "listWorkerBotVersions",
      path: VERSIONS_PATH,
      tag: TAG,
      summary: "Lists versions, by id descending",
      query: versionQuery,
      data: z.object({ versions: described(z.array(versionRecord), "The versions.") }),
    },
    async (c, { query }) => {
      const { items, pagination } = paginate(await listVersions(c, query), query);
      return { data: { versions: items }, pagination };
    },
  );

  serveAdmin(
    router,
    {
      method: "post",
      operationId: "createWorkerBotVersion",
      path: VERSIONS_PATH,
      tag: TAG,
      summary: "Creates a version that bots can run",
      body: versionBody,
      idempotent: true,
      data: versionRecord,
      errors: { 409: "Another version has this id." },
    },
    async (c, { body }) => ({ data: await createVersion(c, body, Date.now()) }),
  );

  serveAdmin(
    router,
    {
      method: "delete",
      operationId: "archiveWorkerBotVersion",
      path: VERSIONS_PATH,
      tag: TAG,
      summary: "Archives a version, so that no bot can be moved to the version",
      body: archiveRequestBody,
      data: versionRecord,
      errors: {
        404: "There is no such version.",
        409: "The version is already archived, or worker bots run it.",
      },
    },
    async (c, { body }) => ({ data: await archiveVersion(c, body.id, Date.now()) }),
  );

  return router;
}
