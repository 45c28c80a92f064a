import { z } from "@hono/zod-openapi";
import { paginate, serveAdmin } from "../http/admin-endpoint.ts";
import { createRouter } from "../http/endpoint.ts";
import { archiveBot, createBot, listBots } from "./bots.ts";
import { migrateBots } from "./migrate.ts";
import { listMoves } from "./moves.ts";
import {
  archiveBody,
  botBody,
  botQuery,
  botRecord,
  MAX_FAILURES,
  migrateBody,
  migrateResult,
  moveQuery,
  moveRecord,
  versionBody,
  versionQuery,
  versionRecord,
} from "./schemas.ts";
import { archiveVersion, createVersion, listVersions } from "./versions.ts";

const TAG = "Worker bots";
const BOTS = "/admin/worker-bots";
const VERSIONS = `${BOTS}/versions`;

const idOf = ({ id }: { id: string }) => id;

/** The admin operation of the interface, and what it needs to have something to move. */
export function workerBotRoutes() {
  const router = createRouter();

  serveAdmin(
    router,
    {
      method: "post",
      path: `${VERSIONS}/migrate`,
      tag: TAG,
      summary: "Migrates worker bots to a version",
      description:
        "Moves up to 10,000 bots that are not archived. Running it again moves what is left: bots that failed, or all that a broken-off run did not reach. `meta.pagination` is that of `failures`.",
      body: migrateBody,
      data: migrateResult,
      errors: { 409: "Another migration is running; see Retry-After." },
    },
    async (c, { body }) => {
      const data = await migrateBots(c, body, Date.now());
      const pagination = {
        cursor: null,
        limit: MAX_FAILURES,
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
      path: `${BOTS}/moves`,
      tag: TAG,
      summary: "Lists what migrations did to each bot, newest first",
      query: moveQuery,
      data: z.object({ moves: z.array(moveRecord) }),
    },
    async (c, { query }) => {
      const { items, pagination } = paginate(await listMoves(c, query), query, idOf);
      return { data: { moves: items }, pagination };
    },
  );

  serveAdmin(
    router,
    {
      method: "get",
      path: BOTS,
      tag: TAG,
      summary: "Lists worker bots, newest first",
      query: botQuery,
      data: z.object({ workerBots: z.array(botRecord) }),
    },
    async (c, { query }) => {
      const { items, pagination } = paginate(await listBots(c, query), query, idOf);
      return { data: { workerBots: items }, pagination };
    },
  );

  serveAdmin(
    router,
    {
      method: "post",
      path: BOTS,
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
      path: BOTS,
      tag: TAG,
      summary: "Archives a worker bot, which no migration moves any more",
      body: archiveBody,
      data: botRecord,
      errors: { 404: "There is no such worker bot.", 409: "It is archived already." },
    },
    async (c, { body }) => ({ data: await archiveBot(c, body.id, Date.now()) }),
  );

  serveAdmin(
    router,
    {
      method: "get",
      path: VERSIONS,
      tag: TAG,
      summary: "Lists versions, by id descending",
      query: versionQuery,
      data: z.object({ versions: z.array(versionRecord) }),
    },
    async (c, { query }) => {
      const { items, pagination } = paginate(await listVersions(c, query), query, idOf);
      return { data: { versions: items }, pagination };
    },
  );

  serveAdmin(
    router,
    {
      method: "post",
      path: VERSIONS,
      tag: TAG,
      summary: "Creates a version that bots can run",
      body: versionBody,
      idempotent: true,
      data: versionRecord,
      errors: { 409: "The id is taken." },
    },
    async (c, { body }) => ({ data: await createVersion(c, body, Date.now()) }),
  );

  serveAdmin(
    router,
    {
      method: "delete",
      path: VERSIONS,
      tag: TAG,
      summary: "Archives a version, which no bot can be put on any more",
      body: archiveBody,
      data: versionRecord,
      errors: {
        404: "There is no such version.",
        409: "It is archived already, or worker bots run it.",
      },
    },
    async (c, { body }) => ({ data: await archiveVersion(c, body.id, Date.now()) }),
  );

  return router;
}
