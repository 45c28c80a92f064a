/** Conditional requests to deployments whose answers have further fields. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { createApp } from "../../src/app.ts";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { publicUrl } from "../support/names.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";
import { insertSource } from "../support/sources/sources.ts";

type App = ReturnType<typeof createApp>;

const RECORD = makeRecord("payment", { sourceType: "Web3ChainV2" });
const SOURCES = "/payment-source-extended";
const EXTENDED = [
  ["GET", "/payment?network=Preprod"],
  ["GET", "/payment/diff?network=Preprod"],
  ["GET", "/payment/diff/next-action?network=Preprod"],
  ["GET", "/payment/diff/onchain-state-or-result?network=Preprod"],
  ["POST", "/payment/resolve-blockchain-identifier"],
  ["GET", SOURCES],
  ["GET", "/webhooks"],
] as const;

/** A version of the service, and the next one: all its records have one field more. */
let app: App;
let nextApp: App;

beforeAll(async () => {
  await emptyTables();
  app = await deploy(false);
  nextApp = await deploy(true);
  await (await Writer.create(env.DB)).change([RECORD]);
  await insertSource("source-a", "Preprod");
  await env.DB.prepare("UPDATE payment_source SET type = 'Web3ChainV2', policy_id = ?")
    .bind("a".repeat(56))
    .run();
  const body = JSON.stringify({ url: await publicUrl(), Events: ["PAYMENT_ON_ERROR"] });
  expect((await send(app, "POST", "/webhooks", { init: { body } })).status).toBe(200);
});

async function deploy(isNext: boolean): Promise<App> {
  vi.stubEnv("WIRE_NAMES", "cardano");
  vi.resetModules();
  const { ANSWER_FIELDS } = await import("../../src/compatibility/answer-table.ts");
  if (isNext)
    for (const fields of Object.values(ANSWER_FIELDS)) {
      const { fieldsOf } = fields;
      fields.fieldsOf = (...given) => ({ ...fieldsOf(...given), isNext });
    }
  return (await import("../../src/app.ts")).createApp();
}

interface Options {
  init?: RequestInit;
  tag?: string;
  bindings?: object;
}

async function send(to: App, method: string, path: string, options: Options = {}) {
  const { init, tag, bindings = env } = options;
  const headers = { token: env.ADMIN_KEY ?? "", ...(tag && { "if-none-match": tag }) };
  const answer = await to.request(`/api/v1${path}`, { method, headers, ...init }, bindings);
  const { status } = answer;
  return { status, etag: answer.headers.get("etag") ?? "", text: await answer.text() };
}

describe.each(EXTENDED)("%s %s", (method, path) => {
  const { blockchainIdentifier } = RECORD;
  const body = JSON.stringify({ network: "Preprod", blockchainIdentifier });
  const init = method === "POST" ? { body } : {};

  it("answers 304 to a tag of the same version of the service", async () => {
    const { etag } = await send(app, method, path, { init });
    const again = await send(app, method, path, { init, tag: etag });
    expect(again).toEqual({ status: 304, etag, text: "" });
  });

  it("answers the whole when another version of the service adds other fields", async () => {
    const { etag, text } = await send(app, method, path, { init });
    expect(text).not.toContain("isNext");
    const next = await send(nextApp, method, path, { init, tag: etag });
    expect(next).toMatchObject({ status: 200, text: expect.stringContaining('"isNext":true') });
    expect((await send(nextApp, method, path, { init, tag: next.etag })).status).toBe(304);
    expect((await send(app, method, path, { init, tag: next.etag })).status).toBe(200);
  });
});

it("GET /payment-source-extended answers the whole when a variable changes added fields", async () => {
  const policy = { Web3ChainV2: { escrow: "b".repeat(56), policy: "a".repeat(56) } };
  const outdated = await send(app, "GET", SOURCES);
  expect(outdated.text).toContain('"contractSyncStatus":"outdated_contract"');
  const bindings = { ...env, CONTRACT_TEMPLATES: JSON.stringify(policy) };
  const current = await send(app, "GET", SOURCES, { tag: outdated.etag, bindings });
  expect(current.status).toBe(200);
  expect(current.text).toContain('"contractSyncStatus":"in_sync"');
});

it("GET /payment/diff asks the database once for a 304, and reads no text", async () => {
  const { etag: tag } = await send(app, "GET", "/payment/diff?network=Preprod");
  const asked: (readonly string[])[] = [];
  const DB = wrapD1(env.DB, ({ sql }, run) => {
    asked.push(sql);
    return run();
  });
  const bindings = { ...env, DB };
  const { status } = await send(app, "GET", "/payment/diff?network=Preprod", { tag, bindings });
  expect(status).toBe(304);
  expect(asked).toHaveLength(1);
  expect(asked.flat().join()).not.toMatch(/\b(doc|metadata|funds)\b/);
});
