import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { OBSERVE_EVENTS_SQL } from "./support/observer.ts";
import { emptyStorage } from "./support/storage.ts";

// A clock that the file before stopped would stop everything that waits in this one.
vi.useRealTimers();
await emptyStorage();

// The migrations as they are, without what remembers which were applied: every file begins with
// empty databases. The plugin's own helper would have each file load the whole service.
for (const [database, migrations] of [
  [env.DB, env.TEST_MIGRATIONS],
  [env.SEARCH_DB, env.TEST_SEARCH_MIGRATIONS],
  [env.ARCHIVE_1, env.TEST_ARCHIVE_MIGRATIONS],
  [env.TEST_ARCHIVE_2, env.TEST_ARCHIVE_MIGRATIONS],
  [env.TEST_ARCHIVE_3, env.TEST_ARCHIVE_MIGRATIONS],
] as const)
  for (const { queries } of migrations) await database.prepare(queries.join(";\n")).run();
await env.DB.prepare(OBSERVE_EVENTS_SQL).run();
