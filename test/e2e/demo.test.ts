import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as mupdf from "mupdf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ask } from "../../devnet/api.ts";
import { LIVES } from "../../devnet/scenario.ts";
import { ON_CHAIN_STATES } from "../../src/chain/network.ts";
import {
  type Address,
  type Copy,
  freePort,
  isGroupAlive,
  killCopies,
  REGISTERED,
  ready,
  readyLines,
  records,
  registrations,
  start,
  states,
  stop,
} from "./copies.ts";

const DIFF_COMMAND = /^curl -s -H 'token: (\S+)' '(\S+\/diff\/\S+)'$/m;
const INVOICE_COMMAND = /^curl .*\/api\/v1\/invoice\/monthly' \| node -e .*$/m;

describe("npm start", { timeout: 120_000 }, () => {
  let copy: Copy;
  let service: Address;
  beforeAll(async () => {
    copy = start(await freePort());
    service = await ready(copy);
  }, 120_000);
  afterAll(killCopies);

  const asked = <Data>(method: "GET" | "POST", path: string, body?: object) =>
    ask<Data>({ url: service.url, token: service.adminKey }, method, path, body);

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
      .poll(look, { timeout: 60_000, interval: 500 })
      .toEqual(["Deregistered", "Invalid", "Offline", "Online"]);
    const been = async () => {
      await look();
      return [...seen].sort();
    };
    await expect.poll(been, { timeout: 60_000, interval: 500 }).toEqual(["Offline", "Online"]);
  });

  it("shows the demo in every on-chain state on both sides within 60 s", async () => {
    const expected = LIVES.map(({ ends }) => ends).sort();
    expect(new Set(expected)).toEqual(new Set(ON_CHAIN_STATES));
    await expect
      .poll(() => states(service), { timeout: 60_000, interval: 500 })
      .toEqual({ payment: expected, purchase: expected });
    for (const side of ["payment", "purchase"] as const) {
      for (const { onChainState, NextAction } of await records(service, side)) {
        const isInvalid = onChainState === "FundsOrDatumInvalid";
        expect(NextAction.requestedAction === "WaitingForManualAction").toBe(isInvalid);
        expect(NextAction.errorType !== null).toBe(isInvalid);
      }
    }
  });

  it("registers agents and an inbox agent, verifies it, and deregisters another", async () => {
    await expect
      .poll(() => registrations(service), { timeout: 90_000, interval: 500 })
      .toEqual(REGISTERED);
  });

  it("prints a command whose answer is a page of the diff", async () => {
    const [, token = "", url = ""] = DIFF_COMMAND.exec(copy.stdout) ?? [];
    const response = await fetch(url, { headers: { token } });
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as { data: { Purchases: object[] } };
    // A page is of ten unless `limit` says otherwise.
    expect(data.Purchases).toHaveLength(10);
  });

  it("prints a command that writes invoice.pdf", async () => {
    const folder = mkdtempSync(join(tmpdir(), "invoice-command-"));
    try {
      const [command] = await vi.waitUntil(() => INVOICE_COMMAND.exec(copy.stdout), {
        timeout: 10_000,
      });
      // The service polls the chain, so the payment may be a few seconds away.
      await vi.waitFor(() => promisify(execFile)("bash", ["-c", command], { cwd: folder }), {
        timeout: 20_000,
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

  it("says once that it is ready, and stops without a trace", async () => {
    expect(readyLines(copy)).toHaveLength(1);
    expect(await stop(copy)).toBe(0);
    expect(isGroupAlive(copy)).toBe(false);
    await expect(fetch(service.url)).rejects.toThrow();
  });
});
