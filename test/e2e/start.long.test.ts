import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { until } from "../../devnet/client/wait.ts";
import { BUYERS, SELLERS, STRANGER } from "../../devnet/demo/actors/wallets.ts";
import { type Receiver, startReceiver } from "../../devnet/demo/receiver.ts";
import { EVENT_KINDS } from "../../src/events/event-kinds.ts";
import {
  type Address,
  type Copy,
  freePort,
  killCopies,
  ready,
  records,
  registrations,
  run,
  start,
  stop,
  WAIT_MS,
} from "./copies.ts";

/** A person reads and copies such a line at once. */
const MAX_LINE_LENGTH = 200;

/** What a service has records of. */
const LISTS = [
  "/payment-source-extended?network=Preprod",
  "/registry-source?network=Preprod",
  "/registry?network=Preprod",
  "/inbox-agents?network=Preprod",
  "/wallet/list",
  "/webhooks",
  "/x402/networks",
  "/x402/wallets",
  "/x402/payment-sources",
];

/** The rows of all lists, by the list's name in the answer. */
async function lists({ url, adminKey: token }: Address): Promise<Record<string, object[]>> {
  const answers = LISTS.map((path) => ask<Record<string, unknown>>({ url, token }, "GET", path));
  const entries = (await Promise.all(answers)).flatMap(Object.entries);
  return Object.fromEntries(entries.filter(([, rows]) => Array.isArray(rows)));
}

describe("npm start twice at once", () => {
  let folder: string;
  let receivers: [mine: Receiver, other: Receiver];
  /** An empty one that keeps its state, and an idle one with an origin on this machine. */
  let copies: [kept: Copy, open: Copy];
  let services: [kept: Address, open: Address];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "twice-"));
    receivers = [await startReceiver(), await startReceiver()];
    copies = [
      start(await freePort(), "--no-demo", `--keep=${folder}`),
      start(await freePort(), "--idle", `--origins=${receivers[0].url}`),
    ];
    services = await Promise.all([ready(copies[0]), ready(copies[1])]);
  });
  afterAll(async () => {
    killCopies();
    for (const receiver of receivers) await receiver.close();
    rmSync(folder, { recursive: true });
  });

  it("runs both, with sources and no payments when idle, and without any record when without the demo", async () => {
    const [empty, idle] = services;
    for (const service of services) expect(await records(service, "payment")).toEqual([]);
    expect(await lists(idle)).toMatchObject({ ExtendedPaymentSources: [{}, {}], Webhooks: [{}] });
    for (const [name, rows] of Object.entries(await lists(empty)))
      expect(`${name}: ${rows.length}`).toBe(`${name}: 0`);
  });

  it("funds a wallet on the chain of an empty start by the printed command", async () => {
    const [{ stdout }] = copies;
    const [, url = ""] = /'(\S+\/_control\/demo\/fund)'/.exec(stdout) ?? [];
    const body = JSON.stringify({ address: SELLERS[0].address });
    for (const _ of ["once", "twice"]) {
      const answer = await fetch(url, { method: "POST", body });
      expect(await answer.json()).toEqual({ hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    }
  });

  it("lets webhooks arrive at an origin that --origins names, and at no other of this machine", async () => {
    const [mine, other] = receivers;
    const [, { url, adminKey }] = services;
    const webhook = (receiver: Receiver) =>
      ask({ url, token: adminKey }, "POST", "/webhooks", {
        url: `${receiver.url}/inbox`,
        Events: EVENT_KINDS,
      });
    await webhook(mine);
    await expect(webhook(other)).rejects.toMatchObject({ status: 400 });
  });

  it("sends an Admin WALLET_STUCK when a wallet lacks funds, and ENDPOINT_DISABLED when a receiver answers 410", async () => {
    const [mine] = receivers;
    const [, { url, adminKey: token }] = services;
    const webhook = (path: string, Events: string[]) =>
      ask({ url, token }, "POST", "/webhooks", { url: `${mine.url}${path}`, Events });
    await webhook("/alarms", ["WALLET_STUCK", "ENDPOINT_DISABLED"]);
    await webhook("/gone?answer=410", ["WALLET_STUCK"]);
    await ask({ url, token }, "POST", "/wallet/transfer-funds", {
      fromWalletAddress: BUYERS[0].address,
      toAddress: STRANGER.address,
      minorUnitAmount: "9000000000000000",
    });
    const told = () => mine.arrivals("/alarms").map(({ body }) => JSON.parse(body).type);
    await expect.poll(told).toEqual(["WALLET_STUCK", "ENDPOINT_DISABLED"]);
  });

  it("prints the path of the service's log file", async () => {
    const [{ stdout }] = copies;
    const file = join(folder, "service.log");
    expect(stdout.split("\n")).toContain(`  Log        ${file}`);
    // Written by the first run of the cron.
    await expect.poll(() => readFileSync(file, "utf8")).toContain("reseal.done");
  });

  it("stops both when asked to, and prints phases and then at most 15 lines", async () => {
    const [kept, open] = copies;
    expect(await Promise.all([stop(kept, "SIGINT"), stop(open, "SIGTERM")])).toEqual([0, 0]);
    for (const { stdout, stderr } of copies) {
      const lines = stdout.trimEnd().split("\n");
      const summary = lines.slice(lines.findIndex((line) => line.startsWith("Ready.")));
      expect(lines.slice(0, -summary.length)).toEqual([
        "Building the Worker …",
        "Starting the local chain and the Worker …",
      ]);
      expect(summary.length).toBeLessThanOrEqual(15);
      expect(lines.filter((line) => line.length > MAX_LINE_LENGTH)).toEqual([]);
      expect(stderr).toBe("");
    }
  });

  it("runs again on a port that was freed, and stops when npm's shell is gone, which passes no signal on", async () => {
    const [{ url }] = services;
    const command = `"${process.execPath}" devnet/start.ts --no-demo; exit`;
    const env = { PORT: new URL(url).port, npm_lifecycle_event: "start" };
    const copy = run("sh", ["-c", command], env);
    expect((await ready(copy)).url).toBe(url);
    // The shell's output is shared by what it started, so it is closed when that has ended too.
    const closed = once(copy.process, "close");
    copy.process.kill("SIGTERM");
    await closed;
    await expect(fetch(url)).rejects.toThrow();
  });
});

describe("npm start", () => {
  afterEach(killCopies);

  it("plays its history on Dolos, and registers agents through Ogmios", async () => {
    const service = await ready(start(await freePort(), "--provider=dolos"));
    const hasHistory = async () => (await records(service, "payment")).length > 20;
    await until(hasHistory, { what: "the demo's history", limitMs: WAIT_MS });
    const expected = [
      "Registered adviser: RegistrationConfirmed",
      "Short-lived adviser: DeregistrationConfirmed",
    ];
    const isDone = async () => isDeepStrictEqual((await registrations(service)).agents, expected);
    await until(isDone, { what: "the demo's registrations", limitMs: WAIT_MS });
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
