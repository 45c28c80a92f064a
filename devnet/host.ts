/**
 * Runs the built Worker in workerd, with the bindings of `wrangler.toml` simulated by miniflare.
 * `npm start`, the end-to-end tests and the benchmarks all run the service this way, so what they
 * see is the bundle that would be deployed.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { D1Database } from "@cloudflare/workers-types";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import {
  unstable_getMiniflareWorkerOptions,
  unstable_readConfig,
  unstable_splitSqlQuery,
} from "wrangler";
import { DIST } from "./build.ts";

const configPath = fileURLToPath(new URL("../wrangler.toml", import.meta.url));
const migrationsPath = new URL("../migrations/", import.meta.url);
const archiveMigrationsPath = new URL("../migrations-archive/", import.meta.url);
const searchMigrationsPath = new URL("../migrations-search/", import.meta.url);

export interface HostOptions {
  /** Variables and secrets, laid over those of `wrangler.toml`. */
  bindings: Record<string, string>;
  /** TCP port on 127.0.0.1; a free one when omitted. */
  port?: number;
  /** Folder in which D1 and Durable Objects live on; they are forgotten when omitted. */
  persistTo?: string;
  /**
   * The caller closes the host on SIGINT and SIGTERM. Otherwise these end the process at once, and
   * workerd with it.
   */
  leaveSignals?: boolean;
  /** How many archives are bound, if more than those of `wrangler.toml`. */
  archives?: number;
  /** False: no key is limited. The simulated limits cost more than the real ones. */
  rateLimits?: false;
  /** Takes each line that the Worker or its runtime prints; the console when omitted. */
  log?: (line: string) => void;
  /** The ES module to run; `dist/worker.js` when omitted. */
  bundle?: string;
  /**
   * The Worker answers on a separate socket, without the entry of the local runtime, which costs
   * more than the Worker.
   */
  isDirect?: boolean;
}

/** A running Worker. */
export interface Host {
  /** Origin without a trailing slash. */
  url: string;
  /** The database behind the binding `DB`, reachable past the Worker. */
  d1: D1Database;
  /** The database behind the binding `SEARCH_DB`. */
  searchD1: D1Database;
  /** The databases behind the bindings `ARCHIVE_1` and so on. */
  archiveD1s: readonly D1Database[];
  /** Puts a message into the queue behind a binding, past the Worker. */
  send(queue: string, message: unknown): Promise<void>;
  /** Fires the cron handler once and resolves when it has finished. */
  scheduled(cron?: string): Promise<void>;
  /** Stops workerd. */
  close(): Promise<void>;
}

/**
 * Starts the built Worker and applies the migrations to its databases.
 *
 * @throws when the port is taken, the bundle does not start or a migration fails.
 */
export async function startHost(options: HostOptions): Promise<Host> {
  const { log, archives = 0 } = options;
  const script = options.bundle ?? join(DIST, "worker.js");
  // Its list of read files would be between the lines of the program that starts a host.
  process.env.WRANGLER_LOG ??= "warn";
  const config = unstable_readConfig({ config: configPath });
  // The module rules are the bundler's business; the bundle is one module, with packages and fonts beside it.
  const { modulesRules: _, ...workerOptions } =
    unstable_getMiniflareWorkerOptions(config).workerOptions;
  const further = Array.from({ length: archives }, (_, i) => `ARCHIVE_${i + 1}`);
  const d1Databases = {
    ...Object.fromEntries(further.map((name) => [name, name])),
    ...(workerOptions.d1Databases as Record<string, string>),
  };
  const archiveNames = Object.keys(d1Databases).filter((name) => name.startsWith("ARCHIVE_"));
  const create = () =>
    new Miniflare(
      convertV4MiniflareOptions({
        ...workerOptions,
        d1Databases,
        ...(options.rateLimits === false && { ratelimits: {} }),
        modules: modulesOf(script),
        modulesRoot: dirname(script),
        // Not `workerOptions.bindings`, which contain `.dev.vars`.
        bindings: { ...config.vars, ...options.bindings },
        host: "127.0.0.1",
        port: options.port ?? 0,
        // The request's `cf` object would otherwise be fetched from the internet.
        cf: false,
        ...(options.isDirect && { unsafeDirectSockets: [{}] }),
        log: new Log(LogLevel.WARN),
        ...(log && { handleStructuredLogs: ({ message }: { message: string }) => log(message) }),
        ...(options.persistTo !== undefined && { resourcePersistencePath: options.persistTo }),
      }),
    );
  const miniflare = options.leaveSignals ? withoutSignalHandlers(create) : create();
  try {
    const ready = await miniflare.ready;
    const { origin: url } = options.isDirect ? await miniflare.unsafeGetDirectURL() : ready;
    const d1 = await miniflare.getD1Database("DB");
    await applyMigrations(d1, migrationsPath);
    const searchD1 = await miniflare.getD1Database("SEARCH_DB");
    await applyMigrations(searchD1, searchMigrationsPath);
    const archiveD1s: D1Database[] = [];
    for (const name of archiveNames) {
      const archive = await miniflare.getD1Database(name);
      await applyMigrations(archive, archiveMigrationsPath);
      archiveD1s.push(archive);
    }
    const worker = await miniflare.getWorker();
    return {
      url,
      d1,
      searchD1,
      archiveD1s,
      async send(queue, message) {
        const producer = await miniflare.getQueueProducer(queue);
        await producer.send(message);
      },
      async scheduled(cron = "* * * * *") {
        const { outcome } = await worker.scheduled({ cron, scheduledTime: new Date() });
        if (outcome !== "ok") throw new Error(`the cron handler ended with outcome ${outcome}`);
      },
      close: () => miniflare.dispose(),
    };
  } catch (error) {
    await miniflare.dispose();
    throw error;
  }
}

/** The bundle, and the packages and fonts that the bundler put beside it. */
function modulesOf(script: string) {
  const folder = dirname(script);
  const beside = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const named = (ending: string) =>
    beside.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
  return [
    { type: "ESModule" as const, path: script },
    ...named(".mjs").map((path) => ({ type: "ESModule" as const, path })),
    ...named(".ttf").map((path) => ({ type: "Data" as const, path })),
  ];
}

/** Runs a function and takes away the signal handlers that it left behind. */
function withoutSignalHandlers<T>(run: () => T): T {
  const signals = ["SIGINT", "SIGTERM"] as const;
  const before = signals.map((signal) => process.listeners(signal));
  const result = run();
  for (const [i, signal] of signals.entries()) {
    for (const listener of process.listeners(signal)) {
      if (!before[i]?.includes(listener)) process.removeListener(signal, listener);
    }
  }
  return result;
}

/** Applies the migration files in order of their names, each once, remembering them in the database. */
async function applyMigrations(d1: D1Database, folder: URL): Promise<void> {
  await d1.exec("CREATE TABLE IF NOT EXISTS devnet_migrations (name TEXT PRIMARY KEY NOT NULL)");
  const { results } = await d1
    .prepare("SELECT name FROM devnet_migrations")
    .all<{ name: string }>();
  const applied = new Set(results.map((row) => row.name));
  const files = readdirSync(folder).filter((file) => file.endsWith(".sql"));
  for (const name of files.sort()) {
    if (applied.has(name)) continue;
    const sql = readFileSync(new URL(name, folder), "utf8");
    await d1.batch([
      ...unstable_splitSqlQuery(sql).map((statement) => d1.prepare(statement)),
      d1.prepare("INSERT INTO devnet_migrations (name) VALUES (?)").bind(name),
    ]);
  }
}
