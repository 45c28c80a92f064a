import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import { LIVES } from "../../devnet/scenario.ts";
import { ON_CHAIN_STATES } from "../../src/chain/network.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const READY = /^ready: (http:\/\/127\.0\.0\.1:\d+) · admin key: (\S+)$/gm;
const DIFF = "diff/onchain-state-or-result?network=Preprod&limit=100";
const START_TIMEOUT_MS = 60_000;

/** What `npm start` runs, in a process group of its own, as a terminal would start it. */
interface Copy {
  process: ChildProcess;
  stdout: string;
  stderr: string;
}

interface LedgerRecord {
  blockchainIdentifier: string;
  onChainState: string;
  NextAction: { requestedAction: string; errorType: string | null };
}

const copies: Copy[] = [];

function start(port: number, ...flags: string[]): Copy {
  return run(process.execPath, ["devnet/start.ts", ...flags], { PORT: String(port) });
}

function run(command: string, args: string[], env: Record<string, string>): Copy {
  const options = { cwd: root, detached: true, env: { ...process.env, ...env } };
  const child = spawn(command, args, options);
  const copy: Copy = { process: child, stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    copy.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    copy.stderr += chunk;
  });
  copies.push(copy);
  return copy;
}

/** Origin and admin key from the ready line. */
async function ready(copy: Copy): Promise<{ url: string; adminKey: string }> {
  const line = await vi.waitUntil(
    () => {
      if (copy.process.exitCode !== null) throw new Error(`it stopped:\n${copy.stderr}`);
      return [...copy.stdout.matchAll(READY)][0];
    },
    { timeout: START_TIMEOUT_MS, interval: 100 },
  );
  return { url: line[1] ?? "", adminKey: line[2] ?? "" };
}

/** Sends a signal to the whole process group, as Ctrl-C does, and waits for the end. */
async function stop({ process: child }: Copy, signal: NodeJS.Signals = "SIGINT") {
  const exit = once(child, "exit");
  process.kill(-(child.pid ?? Number.NaN), signal);
  return (await exit)[0];
}

function isGroupAlive({ process: { pid = Number.NaN } }: Copy): boolean {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function records(
  { url, adminKey }: { url: string; adminKey: string },
  side: "payment" | "purchase",
): Promise<LedgerRecord[]> {
  const response = await fetch(`${url}/api/v1/${side}/${DIFF}`, { headers: { token: adminKey } });
  const { data } = (await response.json()) as { data: Record<string, LedgerRecord[]> };
  expect(response.status).toBe(200);
  return data[side === "payment" ? "Payments" : "Purchases"] ?? [];
}

const statesOf = (found: LedgerRecord[]) => found.map(({ onChainState }) => onChainState).sort();

afterEach(() => {
  for (const copy of copies.splice(0)) {
    if (isGroupAlive(copy)) process.kill(-(copy.process.pid ?? Number.NaN), "SIGKILL");
  }
});

describe("npm start", () => {
  it("tracks the demo through every on-chain state on both sides, and stops without a trace", {
    timeout: 150_000,
  }, async () => {
    const copy = start(await freePort());
    const service = await ready(copy);
    expect([...copy.stdout.matchAll(READY)]).toHaveLength(1);

    const expected = LIVES.map(({ ends }) => ends).sort();
    expect(new Set(expected)).toEqual(new Set(ON_CHAIN_STATES));
    for (const side of ["payment", "purchase"] as const) {
      const states = async () => statesOf(await records(service, side));
      await expect.poll(states, { timeout: 60_000, interval: 500 }).toEqual(expected);
      for (const { onChainState, NextAction } of await records(service, side)) {
        const isInvalid = onChainState === "FundsOrDatumInvalid";
        expect(NextAction.requestedAction === "WaitingForManualAction").toBe(isInvalid);
        expect(NextAction.errorType !== null).toBe(isInvalid);
      }
    }

    expect(await stop(copy)).toBe(0);
    expect(isGroupAlive(copy)).toBe(false);
    await expect(fetch(service.url)).rejects.toThrow();
  });

  it("prints a command whose answer is a page of the diff", { timeout: 90_000 }, async () => {
    const copy = start(await freePort(), "--no-demo");
    await ready(copy);
    const [, token = "", url = ""] = /^curl -s -H 'token: (\S+)' '(\S+)'$/m.exec(copy.stdout) ?? [];
    const response = await fetch(url, { headers: { token } });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: { Purchases: [] } });
    expect(await stop(copy, "SIGTERM")).toBe(0);
  });

  it("runs twice at once, and again on a port that was freed", { timeout: 150_000 }, async () => {
    const [portA, portB] = [await freePort(), await freePort()];
    const both = [start(portA, "--no-demo"), start(portB, "--no-demo")] as const;
    const services = await Promise.all(both.map(ready));
    for (const service of services) expect(await records(service, "payment")).toEqual([]);
    expect(await Promise.all(both.map((copy) => stop(copy)))).toEqual([0, 0]);

    const again = start(portA, "--no-demo");
    expect((await ready(again)).url).toBe(`http://127.0.0.1:${portA}`);
    expect(await stop(again)).toBe(0);
  });

  it("stops when npm's shell is gone, which passes no signal on", { timeout: 90_000 }, async () => {
    const command = `"${process.execPath}" devnet/start.ts --no-demo; exit`;
    const env = { PORT: String(await freePort()), npm_lifecycle_event: "start" };
    const copy = run("sh", ["-c", command], env);
    const { url } = await ready(copy);
    // The shell's output is shared by what it started, so it is closed when that has ended too.
    const closed = once(copy.process, "close");
    copy.process.kill("SIGTERM");
    await closed;
    await expect(fetch(url)).rejects.toThrow();
  });

  it("says in one line that its port is in use", async () => {
    const port = await freePort();
    const occupant = createServer().listen(port, "127.0.0.1");
    await once(occupant, "listening");
    const copy = start(port);
    expect((await once(copy.process, "close"))[0]).toBe(1);
    expect(copy.stderr).toMatch(new RegExp(`^port ${port} is in use; .*\\n$`));
    expect(copy.stdout).toBe("");
    occupant.close();
  });
});
