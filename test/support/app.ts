import { runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import { NETWORKS } from "../../src/chain/network.ts";

/** The service, to be asked with bindings of a test. Creating it anew costs more than most requests. */
export const app = createApp();

/** Asks the Worker, as the administrator unless the request carries another token. */
export function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { token: env.ADMIN_KEY ?? "", ...(init.headers as Record<string, string>) };
  return exports.default.fetch(new Request(`http://service.test${path}`, { ...init, headers }));
}

/** Empties every table, so that a test begins with nothing, and its events are stored. */
export async function emptyTables(): Promise<void> {
  const { results: tables } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table'
       AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%cf_%'
       AND name NOT IN ('d1_migrations', 'webhook_subscription')`,
  ).all<{ name: string }>();
  // Most tables are empty. One question for all costs less than a statement for each.
  const isFilled = tables.map(({ name }) => `EXISTS (SELECT 1 FROM "${name}") AS "${name}"`);
  const answer = await env.DB.prepare(`SELECT ${isFilled.join(", ")}`).first();
  const filled = tables.filter(({ name }) => answer?.[name] === 1);
  const deletions = filled.map(({ name }) => env.DB.prepare(`DELETE FROM "${name}"`));
  await Promise.all([deletions.length > 0 && env.DB.batch(deletions), emptyJournals()]);
}

/** As before any wallet sent anything: a database that holds less now is not one that was set back. */
export async function emptyJournals(): Promise<void> {
  const { SPENDING_JOURNAL } = env;
  await Promise.all(
    NETWORKS.map((network) =>
      runInDurableObject(
        SPENDING_JOURNAL.get(SPENDING_JOURNAL.idFromName(network)),
        (_, { storage }) => {
          storage.sql.exec(
            "DELETE FROM handed; DELETE FROM highest; UPDATE journal SET highest = 0, halted_until = NULL",
          );
        },
      ),
    ),
  );
}
