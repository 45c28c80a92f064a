/** Copies of the service, started as a terminal starts them and driven from outside. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, vi } from "vitest";
import { ask } from "../../devnet/client/api.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url));
const READY = /^ {2}Console +(http:\/\/127\.0\.0\.1:\d+)\/console\n {2}Admin key +(\S+)$/gm;
const DIFF = "diff/onchain-state-or-result?network=Preprod&limit=100";
/** Time limit for automatic steps on a busy machine. */
export const WAIT_MS = 200_000;

/** `PATH` with the machine's Node, which users have, instead of the newer one of this repository's packages. */
export function machinePath(): string {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.filter((folder) => !folder.includes("node_modules")).join(delimiter);
}

/** A running `npm start`, in a separate process group. */
export interface Copy {
  process: ChildProcess;
  stdout: string;
  stderr: string;
  /** The exit code, once the copy has ended and everything that it printed was read. */
  closed: Promise<number | null>;
}

/** Where a copy is reached. */
export interface Address {
  url: string;
  adminKey: string;
}

export interface LedgerRecord {
  id: string;
  blockchainIdentifier: string;
  onChainState: string;
  /** Unix milliseconds, decimal text. */
  payByTime: string;
  buyerReturnAddress: string | null;
  NextAction: { requestedAction: string; errorType: string | null };
}

const copies: Copy[] = [];
/** Every copy loads the same modules: the first compiles them for all. */
const NODE_COMPILE_CACHE = join(tmpdir(), "compiled-for-copies");

export function start(port: number, ...flags: string[]): Copy {
  return run(process.execPath, ["devnet/start.ts", ...flags], { PORT: String(port) });
}

export function run(
  command: string,
  args: string[],
  env: Record<string, string>,
  cwd = root,
): Copy {
  const options = { cwd, detached: true, env: { ...process.env, NODE_COMPILE_CACHE, ...env } };
  const child = spawn(command, args, options);
  // "exit" may come before the last output.
  const closed = once(child, "close").then(([code]) => code);
  const copy: Copy = { process: child, stdout: "", stderr: "", closed };
  child.stdout.on("data", (chunk) => {
    copy.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    copy.stderr += chunk;
  });
  copies.push(copy);
  return copy;
}

/** The addresses that a copy has printed: one, once it is ready. */
export function printedAddresses(copy: Copy): Address[] {
  return [...copy.stdout.matchAll(READY)].map(([, url = "", adminKey = ""]) => ({ url, adminKey }));
}

/** URL of the webhook receiver that a copy prints. */
export function receiverOf(copy: Copy): string {
  const [, url = ""] = /^ {2}Webhooks +(\S+)$/m.exec(copy.stdout) ?? [];
  return url;
}

/** Waits until a copy prints its address. */
export function ready(copy: Copy): Promise<Address> {
  const line = () => {
    if (copy.process.exitCode !== null) throw new Error(`it stopped:\n${copy.stderr}`);
    return printedAddresses(copy)[0];
  };
  return vi.waitUntil(line, { timeout: WAIT_MS, interval: 100 });
}

/** Sends a signal to the whole process group, as Ctrl-C does, and waits for the exit code. */
export function stop({ process: child, closed }: Copy, signal: NodeJS.Signals = "SIGINT") {
  process.kill(-(child.pid ?? Number.NaN), signal);
  return closed;
}

/** Whether any process of the copy lives, workerd included: none lives, so none listens. */
export function isGroupAlive({ process: { pid = Number.NaN } }: Copy): boolean {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
}

/** Ends whatever a test left running. */
export function killCopies(): void {
  for (const copy of copies.splice(0)) {
    if (isGroupAlive(copy)) process.kill(-(copy.process.pid ?? Number.NaN), "SIGKILL");
  }
}

/** Finds a free port below the system's ephemeral range, so no other server gets the port first. */
export async function freePort(): Promise<number> {
  const port = randomInt(10_000, 30_000);
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    return freePort();
  }
  server.close();
  await once(server, "close");
  return port;
}

/** All records of one side, as the diff shows them from the beginning. */
export async function records(
  { url, adminKey }: Address,
  side: "payment" | "purchase",
): Promise<LedgerRecord[]> {
  const response = await fetch(`${url}/api/v1/${side}/${DIFF}`, { headers: { token: adminKey } });
  const { data } = (await response.json()) as { data: Record<string, LedgerRecord[]> };
  expect(response.status).toBe(200);
  return data[side === "payment" ? "Payments" : "Purchases"] ?? [];
}

/**
 * Those of the demo's past, which are over when a copy is ready: new ones come, and are paid, later.
 *
 * @param readyAt - Unix milliseconds
 */
export async function pastRecords(
  address: Address,
  side: "payment" | "purchase",
  readyAt: number,
): Promise<LedgerRecord[]> {
  const found = await records(address, side);
  return found.filter(({ payByTime }) => Number(payByTime) < readyAt);
}

/** The on-chain states of both sides of the demo's past, each in alphabetical order. */
export async function pastStates(
  address: Address,
  readyAt: number,
): Promise<Record<"payment" | "purchase", string[]>> {
  const [payment, purchase] = await Promise.all([
    pastRecords(address, "payment", readyAt),
    pastRecords(address, "purchase", readyAt),
  ]);
  const statesOf = (found: LedgerRecord[]) => found.map(({ onChainState }) => onChainState).sort();
  return { payment: statesOf(payment), purchase: statesOf(purchase) };
}

/** What the demo's registrations come to. */
export const REGISTERED = {
  agents: [
    "Registered adviser: RegistrationConfirmed",
    "Second-generation adviser: RegistrationConfirmed",
    "Short-lived adviser: DeregistrationConfirmed",
  ],
  inboxAgents: ["demo-inbox: RegistrationConfirmed"],
  inboxes: ["demo-inbox: Verified"],
};

/** How the registrations stand. */
export async function registrations({ url, adminKey: token }: Address): Promise<typeof REGISTERED> {
  type Assets = { Assets: Record<string, string>[] };
  type Inboxes = { registrations: Record<string, string>[] };
  const access = { url, token };
  const agents = await ask<Assets>(access, "GET", "/registry?network=Preprod");
  const inboxAgents = await ask<Assets>(access, "GET", "/inbox-agents?network=Preprod");
  const inboxes = await ask<Inboxes>(access, "POST", "/inbox-agent-registration", {
    network: "Preprod",
  });
  return {
    agents: agents.Assets.map(({ name, state }) => `${name}: ${state}`).sort(),
    inboxAgents: inboxAgents.Assets.map(({ agentSlug, state }) => `${agentSlug}: ${state}`),
    inboxes: inboxes.registrations.map(({ agentSlug, status }) => `${agentSlug}: ${status}`),
  };
}
