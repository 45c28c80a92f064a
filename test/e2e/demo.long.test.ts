import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import * as mupdf from "mupdf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { DEMO_DOLLAR } from "../../devnet/demo/currency.ts";
import { drivenEndsOf, LIVES } from "../../devnet/demo/lives.ts";
import { ON_CHAIN_STATES } from "../../src/chain/network.ts";
import {
  type Address,
  type Copy,
  freePort,
  isGroupAlive,
  killCopies,
  pastRecords,
  pastStates,
  printedAddresses,
  REGISTERED,
  ready,
  receiverOf,
  records,
  registrations,
  root,
  start,
  stop,
  WAIT_MS,
} from "./copies.ts";
import { PRICE, X402Demo } from "./x402-demo.ts";

const DIFF_COMMAND = /^ {2}curl -s -H 'token: (\S+)' '(\S+\/diff\/\S+)'$/m;
const INVOICE_COMMAND = /^ {2}Invoice +(sh '\S+')$/m;

/** What is shown of confirmations, which grow with every block. */
function confirmationsOf(shown: unknown): number[] {
  const found: number[] = [];
  JSON.stringify(shown, (name, value) => {
    if (name === "confirmations" && value !== null) found.push(value);
    return value;
  });
  return found;
}

/** What is shown, but for confirmations. */
function settled(shown: unknown): unknown {
  return JSON.parse(
    JSON.stringify(shown, (name, value) => (name === "confirmations" ? undefined : value)),
  );
}

describe("npm start -- --keep", () => {
  let folder: string;
  let copy: Copy;
  let service: Address;
  let readyAt: number;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "kept-"));
    copy = start(await freePort(), `--keep=${join(folder, "state")}`);
    service = await ready(copy);
    readyAt = Date.now();
  });
  afterAll(() => {
    killCopies();
    rmSync(folder, { recursive: true, force: true });
  });

  const asked = <Data>(method: "GET" | "POST", path: string, body?: object) =>
    ask<Data>({ url: service.url, token: service.adminKey }, method, path, body);

  it("sells a job by the tools of MCP: an agent is found and quotes, its price is locked, the result is delivered", async () => {
    const use = async (name: string, args: object) => {
      const answer = await fetch(`${service.url}/mcp`, {
        method: "POST",
        headers: { authorization: `Bearer ${service.adminKey}`, connection: "close" },
        body: JSON.stringify({
          ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
          params: { name, arguments: args },
        }),
      });
      const { result } = (await answer.json()) as { result: { content: { text: string }[] } };
      return JSON.parse(result.content[0]?.text ?? "{}");
    };
    const network = "Preprod";
    const find = async () =>
      (await use("find_agents", { network, query: "translator" })).agents[0]?.agentIdentifier;
    await expect.poll(find, { timeout: WAIT_MS }).toBeTypeOf("string");
    const agentIdentifier = await find();
    const shown = await use("show_agent", { agentIdentifier });
    expect(shown.untrusted_data.inputSchema.input_data).toMatchObject([{ id: "text" }]);
    const job = { network, agentIdentifier, input: { text: "Guten Tag" } };
    // Right after the start the newest block is still too old for a quote.
    const quote = async () => (await use("quote_job", job)).price;
    await expect.poll(quote, { timeout: WAIT_MS }).toEqual([{ amount: "5000000", unit: "" }]);
    const { order, price } = await use("quote_job", job);
    expect(await use("purchase_job", { order, confirmedPrice: price })).toMatchObject({
      bought: true,
    });
    const { blockchainIdentifier } = order;
    const state = async () =>
      (await use("purchase_status", { network, blockchainIdentifier })).state;
    await expect.poll(state, { timeout: WAIT_MS }).toBe("ResultSubmitted");

    // An agent refuses what it cannot work on.
    const refused = await use("quote_job", { ...job, input: { text: 5 } });
    expect(refused.error).toBe("The agent returned no quote. Try another agent.");
  });

  it("shows agents in every status within 60 s, and one that goes and comes back", async () => {
    const seen = new Set<string>();
    const look = async () => {
      const { entries } = await asked<{ entries: { name: string; status: string }[] }>(
        "POST",
        "/registry-diff",
        { network: "Preprod", statusUpdatedAfter: "1970-01-01", limit: 50 },
      );
      const restless = entries.find(({ name }) => name === "Restless forecaster");
      if (restless) seen.add(restless.status);
      return [...new Set(entries.map(({ status }) => status))].sort();
    };
    await expect
      .poll(look, { interval: 500 })
      .toEqual(["Deregistered", "Invalid", "Offline", "Online"]);
    const been = async () => {
      await look();
      return [...seen].sort();
    };
    await expect.poll(been, { interval: 500 }).toEqual(["Offline", "Online"]);
  });

  it("shows the demo in every on-chain state, and ends those of its lives whose time has come", async () => {
    const [payment, purchase] = [drivenEndsOf(LIVES, "payment"), drivenEndsOf(LIVES, "purchase")];
    expect(new Set([...payment, ...purchase])).toEqual(new Set(ON_CHAIN_STATES));
    await expect
      .poll(() => pastStates(service, readyAt), { interval: 500 })
      .toEqual({ payment: payment.sort(), purchase: purchase.sort() });
    for (const side of ["payment", "purchase"] as const) {
      for (const { onChainState, NextAction } of await pastRecords(service, side, readyAt)) {
        const isInvalid = onChainState === "FundsOrDatumInvalid";
        expect(NextAction.requestedAction === "WaitingForManualAction").toBe(isInvalid);
        expect(NextAction.errorType !== null).toBe(isInvalid);
      }
    }
  });

  it("shows two days of payments, some in tokens, with addresses of the parties' own", async () => {
    const past = await pastRecords(service, "purchase", readyAt);
    const { Purchases } = await asked<{ Purchases: { PaidFunds: { unit: string }[] }[] }>(
      "GET",
      "/purchase?network=Preprod&limit=100",
    );
    const times = past.map(({ payByTime }) => Number(payByTime));
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(24 * 3_600_000);
    expect(past.filter(({ buyerReturnAddress }) => buyerReturnAddress !== null)).not.toEqual([]);
    const units = Purchases.flatMap(({ PaidFunds }) => PaidFunds.map(({ unit }) => unit));
    expect(new Set(units)).toEqual(new Set(["", DEMO_DOLLAR]));
  });

  it("goes on with new lives, which move on while one looks", async () => {
    const seen = new Map<string, Set<string>>();
    const mostStates = async () => {
      for (const record of await records(service, "purchase")) {
        if (Number(record.payByTime) < readyAt) continue;
        const states = seen.get(record.blockchainIdentifier) ?? new Set();
        seen.set(record.blockchainIdentifier, states.add(record.onChainState));
      }
      return Math.max(0, ...[...seen.values()].map(({ size }) => size));
    };
    await expect.poll(mostStates, { interval: 1_000 }).toBeGreaterThan(1);
    const lives = async () => {
      await mostStates();
      return seen.size;
    };
    await expect.poll(lives, { interval: 1_000 }).toBeGreaterThan(1);
  });

  it("sells and locks the job of the guide's purchase by curl", async () => {
    const program = readFileSync(join(root, "examples/guides/purchase.sh"), "utf8")
      .replace(/^BASE=.*$/m, `BASE=${service.url}`)
      .replace(/^KEY=.*$/m, `KEY=${service.adminKey}`);
    // Its purchase may be locked by the time it looks.
    const { stdout } = await promisify(execFile)("bash", ["-c", `${program}\necho "{$ID}"`]);
    const [requested, , id = ""] = stdout.trim().split("\n");
    expect(requested).toBe("FundsLockingRequested");
    const both = async () => {
      const one = (side: string) =>
        asked<{ onChainState: string }>(
          "POST",
          `/${side}/resolve-blockchain-identifier`,
          JSON.parse(id),
        );
      return [(await one("payment")).onChainState, (await one("purchase")).onChainState];
    };
    await expect.poll(both, { interval: 500 }).toEqual(["FundsLocked", "FundsLocked"]);
  });

  it("registers agents and an inbox agent, verifies it, and deregisters another", async () => {
    await expect.poll(() => registrations(service), { interval: 500 }).toEqual(REGISTERED);
  });

  it("reports status ok in its health", async () => {
    expect(await asked("GET", "/health")).toMatchObject({ status: "ok", reasons: [] });
  });

  it("prints a command whose answer is a page of the diff", async () => {
    const [, token = "", url = ""] = DIFF_COMMAND.exec(copy.stdout) ?? [];
    const response = await fetch(url, { headers: { token } });
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as { data: { Purchases: object[] } };
    expect(data.Purchases).toHaveLength(1);
  });

  it("prints a command that writes invoice.pdf", async () => {
    const folder = mkdtempSync(join(tmpdir(), "invoice-command-"));
    try {
      const [, command = ""] = INVOICE_COMMAND.exec(copy.stdout) ?? [];
      // The service polls the chain, so the payment may be a few seconds away.
      await vi.waitFor(() => promisify(execFile)("bash", ["-c", command], { cwd: folder }), {
        timeout: WAIT_MS,
        interval: 500,
      });
      const pdf = mupdf.Document.openDocument(readFileSync(join(folder, "invoice.pdf")), "pdf");
      const text = pdf.loadPage(0).toStructuredText("").asText();
      expect(text).toContain("Demo Agents GmbH");
      expect(text).toContain("€0.00");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("shows the same records on the same chains again after it was killed, and goes on", async () => {
    const both = async (address: Address) => [
      await pastRecords(address, "payment", readyAt),
      await pastRecords(address, "purchase", readyAt),
    ];
    let shown: unknown = null;
    const isAtRest = async () => {
      const last = shown;
      shown = await both(service);
      return isDeepStrictEqual(settled(shown), settled(last));
    };
    await expect.poll(isAtRest, { interval: 5_000 }).toBe(true);
    const least = confirmationsOf(shown);
    expect(least.length).toBeGreaterThan(0);

    const demo = await X402Demo.of(copy);
    await demo.played();
    // The next thing that happens to the copy is its end.
    await demo.buy("eip3009");
    await stop(copy, "SIGKILL");
    const receiver = receiverOf(copy);
    expect(receiver).not.toBe("");
    copy = start(await freePort(), `--keep=${join(folder, "state")}`);
    service = await ready(copy);
    expect(receiverOf(copy)).toBe(receiver);
    const kept = await both(service);
    expect(settled(kept)).toEqual(settled(shown));
    for (const [i, confirmations] of confirmationsOf(kept).entries())
      expect(confirmations).toBeGreaterThanOrEqual(least[i] ?? Number.NaN);

    const search = { network: "Preprod", query: "Steady translator" };
    const path = "/registry-entry-search";
    const { entries } = await asked<{ entries: { apiBaseUrl: string }[] }>("POST", path, search);
    expect(entries).toHaveLength(1);
    expect((await fetch(`${entries[0]?.apiBaseUrl}/availability`)).status).toBe(200);

    const reopened = await X402Demo.of(copy);
    const settlements = await reopened.settlements();
    expect(settlements).toHaveLength(3);
    const receipts = await reopened.receipts(settlements);
    expect(receipts.map((receipt) => receipt?.status)).toEqual(["0x1", "0x1", "0x1"]);
    expect(await reopened.earned()).toBe(3n * PRICE);
    await reopened.buy("permit2");
    expect(await reopened.earned()).toBe(4n * PRICE);
  });

  it("says once that it is ready, and stops without a trace", async () => {
    expect(printedAddresses(copy)).toHaveLength(1);
    expect(await stop(copy)).toBe(0);
    expect(isGroupAlive(copy)).toBe(false);
    await expect(fetch(service.url)).rejects.toThrow();
  });
});
