import { env } from "cloudflare:workers";
import type { Env } from "../../src/env.ts";
import { app } from "../support/app.ts";

export const MIGRATE = "/versions/migrate";

export interface AdminRequest {
  method?: string;
  /** JSON, or a text that is sent as it is. */
  body?: unknown;
  /** Default: the administrator's. */
  token?: string | null;
  headers?: Record<string, string>;
  /** Laid over the environment. */
  env?: Partial<Env> & { REQUEST_DEADLINE_MS?: string };
}

export interface AdminAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service has answered
  body: any;
}

/** Asks below /v1/admin/worker-bots. */
export async function ask(path: string, request: AdminRequest = {}): Promise<AdminAnswer> {
  const { token = env.ADMIN_KEY ?? "", body } = request;
  const method = request.method ?? (body === undefined ? "GET" : "POST");
  const answer = await app.request(
    `/v1/admin/worker-bots${path}`,
    {
      method,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...request.headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    },
    { ...env, ...request.env },
  );
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
}

/** Runs a migration. */
export function migrate(body: object, request: AdminRequest = {}): Promise<AdminAnswer> {
  return ask(MIGRATE, { body: { reason: "a test", ...body }, ...request });
}

/** `bot-00000`, the id that `insertBots` gives. */
export const botId = (n: number) => `bot-${String(n).padStart(5, "0")}`;

/** Writes versions straight into the table. */
export async function insertVersions(...ids: string[]): Promise<void> {
  await env.DB.prepare(
    `INSERT INTO worker_bot_version (id, name, status, created_by_id, created_at, updated_at)
     SELECT value, value, 'Active', 'env-admin', 0, 0 FROM json_each(?)`,
  )
    .bind(JSON.stringify(ids))
    .run();
}

/** Writes a bot for each version in the list straight into the table; `!` before it: archived. */
export async function insertBots(versions: readonly string[]): Promise<void> {
  await env.DB.prepare(
    `INSERT INTO worker_bot (id, name, version_id, status, created_by_id, created_at, updated_at)
     SELECT printf('bot-%05d', key), 'bot', ltrim(value, '!'),
       iif(value LIKE '!%', 'Archived', 'Active'), 'env-admin', 0, 0
     FROM json_each(?)`,
  )
    .bind(JSON.stringify(versions))
    .run();
}

/** The version that each bot runs, in the order they were inserted; `!` before it: archived. */
export async function fleet(): Promise<string[]> {
  const { results } = await env.DB.prepare(
    `SELECT iif(status = 'Archived', '!', '') || version_id AS version FROM worker_bot ORDER BY id`,
  ).all<{ version: string }>();
  return results.map(({ version }) => version);
}

export interface MoveRow {
  id: string;
  bot: string;
  from: string;
  to: string;
  outcome: string;
  message: string | null;
}

/** The audit rows of all migrations, oldest first. */
export async function moves(): Promise<MoveRow[]> {
  const { results } = await env.DB.prepare(
    `SELECT move.id, worker_bot_id AS bot, move.from_version_id AS "from", to_version_id AS "to",
       outcome, message
     FROM worker_bot_move AS move JOIN worker_bot_migration AS migration
       ON migration.id = move.migration_id ORDER BY move.id`,
  ).all<MoveRow>();
  return results;
}
