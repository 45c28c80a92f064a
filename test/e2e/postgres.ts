/** A PostgreSQL server for a test, from the packages of Debian. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { vi } from "vitest";

const PACKAGES = "/usr/lib/postgresql";

export interface PostgresServer {
  url: string;
  close(): Promise<void>;
}

/** Starts a server with an empty database; null where the machine has none. */
export async function startPostgres(): Promise<PostgresServer | null> {
  const versions = existsSync(PACKAGES) ? readdirSync(PACKAGES).sort() : [];
  const bin = versions
    .map((version) => join(PACKAGES, version, "bin"))
    .findLast((folder) => existsSync(join(folder, "initdb")));
  if (bin === undefined) return null;
  const folder = mkdtempSync(join(tmpdir(), "postgres-"));
  const data = join(folder, "data");
  const user = findUser();
  if (user) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o755);
  const options = { ...user, cwd: "/", env: { PATH: process.env.PATH ?? "", LC_ALL: "C.UTF-8" } };
  const init = ["-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8"];
  execFileSync(join(bin, "initdb"), init, { ...options, stdio: "pipe" });
  const port = await findFreePort();
  const settings = ["listen_addresses=127.0.0.1", "fsync=off", `unix_socket_directories=${folder}`];
  const server: ChildProcess = spawn(
    join(bin, "postgres"),
    ["-D", data, "-p", String(port), ...settings.flatMap((one) => ["-c", one])],
    { ...options, stdio: "ignore" },
  );
  const exited = once(server, "exit");
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await vi.waitUntil(() => canConnect(url), { timeout: 60_000, interval: 100 });
  return {
    url,
    async close() {
      server.kill("SIGINT");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Root may not run the server. */
function findUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const idOf = (flag: string) =>
    Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: idOf("-u"), gid: idOf("-g") };
}

async function canConnect(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 5 });
  try {
    await sql`SELECT 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end();
  }
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
