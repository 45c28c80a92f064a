/** The peer's own service as a process: its API, its jobs, its PostgreSQL database, on the local chain. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { until } from "../../../devnet/client/wait.ts";
import { TERMS } from "../../../devnet/contracts/terms.ts";
import { ADMIN } from "../../../devnet/demo/actors/wallets.ts";
import { findFreePort, startPostgres } from "../../e2e/postgres.ts";
import type { Access } from "../scene.ts";

const toPath = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const REDIRECT = toPath("redirect-chain.ts");
/** The least that its configuration takes. */
const EVERY_S = { often: "5", seldom: "15" };

export interface PeerService {
  access: Access;
  /** What the process has printed until now. */
  printed(): string;
  close(): Promise<void>;
}

/**
 * Starts a copy whose packages are installed. Null: this machine has no PostgreSQL.
 *
 * @param folder - of the copy
 * @param provider - base URL of the local chain's provider
 */
export async function startPeerService(
  folder: string,
  provider: string,
): Promise<PeerService | null> {
  const server = await startPostgres();
  if (server === null) return null;
  let child: ChildProcess | undefined;
  const close = async () => {
    if (child && child.exitCode === null) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
    await server.close();
  };
  try {
    await migrate(server.url, join(folder, "prisma/migrations"));
    const port = await findFreePort();
    const token = randomBytes(24).toString("hex");
    const options = {
      cwd: folder,
      env: {
        ...toEnvironment(server.url),
        ADMIN_KEY: token,
        PORT: String(port),
        PEER_PROVIDER: provider,
        BATCH_PAYMENT_INTERVAL: EVERY_S.often,
        CHECK_WALLET_TRANSACTION_HASH_INTERVAL: EVERY_S.often,
        CHECK_TX_INTERVAL: EVERY_S.seldom,
      },
    };
    const run = (file: string) => ["--import", "tsx", "--import", REDIRECT, file];
    execFileSync(process.execPath, run("prisma/seed.ts"), { ...options, stdio: "pipe" });
    const started = spawn(process.execPath, run("src/index.ts"), options);
    child = started;
    let output = "";
    for (const stream of [started.stdout, started.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    const url = `http://127.0.0.1:${port}`;
    const isUp = async () => {
      if (started.exitCode !== null) throw new Error(`the peer has ended: ${output}`);
      return await fetch(`${url}/api/v1/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    };
    await until(isUp, { what: "the peer's service", everyMs: 500, limitMs: 120_000 });
    return { access: { url, token }, printed: () => output, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Writes the peer's contracts with the terms of the local chain to a file, whose path it returns. The peer
 * derives the address of a payment source, so both services must know the same contracts.
 *
 * @param folder - of the copy
 */
export function writePeerContracts(folder: string, path: string): string {
  const { cooldownTime, fee, requiredAdminSignatures } = TERMS.Web3ChainV1;
  const terms = [fee.permille, cooldownTime, requiredAdminSignatures].map(String);
  const printed = execFileSync(
    process.execPath,
    ["--import", "tsx", toPath("print-contracts.ts"), ADMIN.address, fee.receiver, ...terms],
    { cwd: folder, env: toEnvironment("postgres://none"), stdio: "pipe" },
  );
  writeFileSync(path, printed);
  return path;
}

const toEnvironment = (databaseUrl: string) => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  DATABASE_URL: databaseUrl,
  ENCRYPTION_KEY: randomBytes(24).toString("hex"),
});

/** Applies the peer's migrations. Its own tool for that is a binary, which no package contains. */
async function migrate(url: string, folder: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    const names = entries.filter((one) => one.isDirectory()).map(({ name }) => name);
    for (const name of names.sort())
      await sql.unsafe(readFileSync(join(folder, name, "migration.sql"), "utf8"));
  } finally {
    await sql.end();
  }
}
