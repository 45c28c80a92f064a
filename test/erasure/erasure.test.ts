import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import type { Env } from "../../src/env.ts";
import { continueErasures } from "../../src/erasure/continue-erasures.ts";
import { MAX_ERASED_ROWS } from "../../src/erasure/erasures.ts";
import { app, call, emptyTables } from "../support/app.ts";
import { failingD1, wrapD1 } from "../support/d1.ts";
import { problemsOf } from "../support/endpoints/document.ts";
import { insertRows } from "../support/insert-rows.ts";
import { insertKey } from "../support/keys.ts";
import { growingReads } from "../support/plans.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";

const SECRET_TEXT = "Ada Lovelace, ada@example.com";
const WALLET = JSON.stringify({ vkey: "22".repeat(28), address: "addr_test1seller" });
const DAY_MS = 24 * 60 * 60_000;

interface Erasure {
  apiKeyId: string;
  isComplete: boolean;
  Erased: { what: string; count: number | null }[];
  Stays: { what: string; basis: string; until: string | null }[];
}

async function erase(
  apiKeyId: string,
  { token = env.ADMIN_KEY ?? "", using = env as Env } = {},
): Promise<{ status: number; data?: Erasure; error?: { code: string; message: string } }> {
  const init = { method: "POST", headers: { token }, body: JSON.stringify({ apiKeyId }) };
  const answer = await app.request("/api/v1/erasure", init, using);
  return { ...((await answer.json()) as object), status: answer.status };
}

/** The counts of what was erased, without those that are zero. */
const countsOf = (data: Erasure | undefined) =>
  Object.fromEntries(
    data?.Erased.filter(({ count }) => count !== 0).map(({ what, count }) => [what, count]) ?? [],
  );

async function readRow<Row>(sql: string, ...params: unknown[]): Promise<Row | null> {
  return env.DB.prepare(sql)
    .bind(...params)
    .first<Row>();
}

/** All that the database holds, as text. */
async function readDatabase(): Promise<string> {
  const { results } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*'
       AND name NOT GLOB 'sqlite_*'`,
  ).all<{ name: string }>();
  const rows = await env.DB.batch(
    results.map(({ name }) => env.DB.prepare(`SELECT * FROM "${name}"`)),
  );
  return JSON.stringify(rows.map((one) => one.results));
}

let nextId = 0;
const toId = (name: string) => `${name}-${nextId++}`;

/** Gives a key one of everything that names a person. */
async function insertPersonalData(keyId: string): Promise<void> {
  await env.DB.prepare("UPDATE api_key SET name = ?, return_addresses = ? WHERE id = ?")
    .bind(SECRET_TEXT, JSON.stringify([`addr of ${SECRET_TEXT}`]), keyId)
    .run();
  const detail = JSON.stringify({ name: SECRET_TEXT });
  const common = { request_id: "request", at: 1 };
  const escrow = { id: toId("escrow"), requested_by_id: keyId, on_chain_state: "Withdrawn" };
  await insertRows("audit", [
    { ...common, id: toId("a"), api_key_id: keyId, action: "thing.change", target: "x", detail },
    {
      ...common,
      id: toId("a"),
      api_key_id: "boss",
      action: "api-key.update",
      target: keyId,
      detail,
    },
  ]);
  await insertRows("escrow", [
    {
      ...{ ...escrow, side: "purchase", network: "Preprod", source_type: "Web3ChainV1" },
      ...{ source_id: "source", identifier_hash: escrow.id, revision: 3, requested_action: "None" },
      ...{ funds: '[{"unit":"","amount":"5000000"}]', charge: "held" },
    },
  ]);
  await insertRows("escrow_request", [
    { record_id: escrow.id, requested_by_id: keyId, metadata: SECRET_TEXT, credits: 1 },
  ]);
  await insertRows("webhook_endpoint", [
    {
      ...{ id: toId("hook"), url: SECRET_TEXT, name: SECRET_TEXT, target_hash: toId("target") },
      ...{ format: "CHAT", events: "[]", auth_token: SECRET_TEXT, secret: SECRET_TEXT },
      ...{ previous_secret: SECRET_TEXT, is_active: 1, created_by_id: keyId },
    },
  ]);
  await insertRows("idempotency", [
    { api_key_id: keyId, key: SECRET_TEXT, sealed_answer: SECRET_TEXT, created_at: Date.now() },
  ]);
  await insertRows("x402_payment_source", [
    { id: toId("resource"), url: SECRET_TEXT, description: SECRET_TEXT, created_by_id: keyId },
  ]);
  await insertRows("registration", [
    {
      ...{ id: toId("agent"), kind: "Agent", network: "Preprod", state: "RegistrationFailed" },
      ...{ name: SECRET_TEXT, created_by_id: keyId },
      ...{ wallet: WALLET, recipient: null, tx: null, agent_identifier: null, send_funding: null },
      profile: JSON.stringify({
        ...{ name: SECRET_TEXT, description: SECRET_TEXT, apiBaseUrl: SECRET_TEXT },
        ...{ image: SECRET_TEXT, tags: [SECRET_TEXT], capability: null, metadataVersion: 2 },
        author: { name: SECRET_TEXT, organization: null, contactEmail: SECRET_TEXT },
        legal: { privacyPolicy: SECRET_TEXT, terms: null, other: null },
        exampleOutputs: [{ name: SECRET_TEXT, mimeType: "text/plain", url: SECRET_TEXT }],
        pricing: { type: "Free", amounts: [] },
        paymentSources: [{ resource: SECRET_TEXT }],
        verifications: [{ type: SECRET_TEXT }],
      }),
    },
  ]);
}

const ONE_OF_EACH = {
  name: 1,
  metadata: 1,
  auditDetails: 2,
  webhooks: 1,
  storedAnswers: 1,
  x402Resources: 1,
  failedRegistrations: 1,
};

beforeEach(emptyTables);

describe("POST /erasure 200", () => {
  it("removes all personal data of the key, and that of no other key", async () => {
    await insertKey({ id: "ada" });
    await insertKey({ id: "bob" });
    await insertPersonalData("ada");
    const { status, data } = await erase("ada");
    expect(status).toBe(200);
    expect(countsOf(data)).toEqual(ONE_OF_EACH);
    expect(data?.isComplete).toBe(true);
    expect(await readDatabase()).not.toContain(SECRET_TEXT);

    await insertPersonalData("bob");
    const before = await readDatabase();
    expect(countsOf((await erase("ada")).data)).toEqual({});
    // The audit entry of the second erasure, and its time.
    expect((await readDatabase()).split(SECRET_TEXT)).toHaveLength(
      before.split(SECRET_TEXT).length,
    );
  });

  it("revokes the key within the same batch, and hides it", async () => {
    const token = await insertKey({ id: "ada" });
    expect((await erase("ada")).status).toBe(200);
    const answer = await app.request("/api/v1/api-key-status", { headers: { token } }, env);
    expect(answer.status).toBe(401);
    const listed = (await (await call("/api/v1/api-key")).json()) as {
      data: { ApiKeys: { id: string }[] };
    };
    expect(listed.data.ApiKeys.map(({ id }) => id)).toEqual(["env-admin"]);
  });

  it("keeps ids, amounts, charges and audit entries, and raises the revision of changed records", async () => {
    await insertKey({ id: "ada" });
    await insertPersonalData("ada");
    await erase("ada");
    const escrow = await readRow(
      `SELECT escrow.requested_by_id, funds, charge, revision, credits FROM escrow
       JOIN escrow_request ON record_id = id`,
    );
    expect(escrow).toEqual({
      ...{ funds: '[{"unit":"","amount":"5000000"}]', charge: "held" },
      ...{ requested_by_id: "ada", revision: 4, credits: 1 },
    });
    const { results } = await env.DB.prepare(
      "SELECT api_key_id AS by, action, target, detail FROM audit ORDER BY action",
    ).all();
    expect(results).toEqual([
      { by: "env-admin", action: "api-key.erase", target: "ada", detail: null },
      { by: "boss", action: "api-key.update", target: "ada", detail: null },
      { by: "ada", action: "thing.change", target: "x", detail: null },
    ]);
  });

  it("answers what stays and why, and when events and backups end", async () => {
    await insertKey({ id: "ada" });
    const before = Date.now();
    const { data } = await erase("ada");
    const bases = data?.Stays.map(({ basis }) => basis);
    for (const basis of ["Law", "Accounting", "Chain", "Operation", "Temporary"])
      expect(bases).toContain(basis);
    const days = data?.Stays.filter(({ until }) => until !== null).map(({ until }) =>
      Math.round((Date.parse(until ?? "") - before) / DAY_MS),
    );
    expect(days).toEqual([7, 30]);
  });

  it("shows a failed registration without its metadata afterwards", async () => {
    await insertKey({ id: "ada" });
    await insertPersonalData("ada");
    await erase("ada");
    const answer = await call("/api/v1/registry?network=Preprod");
    const body = (await answer.json()) as { data: { Assets: object[] } };
    expect(problemsOf("GET", "/api/v1/registry", answer.status, body)).toEqual([]);
    expect(body.data.Assets).toEqual([expect.objectContaining({ name: "", Tags: [] })]);
  });

  it("reads no table from end to end", async () => {
    await insertKey({ id: "ada" });
    const asked = new Set<string>();
    const d1 = wrapD1(env.DB, (call, run) => {
      for (const sql of call.sql) asked.add(sql);
      return run();
    });
    await erase("ada", { using: { ...env, DB: d1 } as Env });
    expect(asked.size).toBeGreaterThan(10);
    expect(await growingReads(asked)).toEqual([]);
  });

  it("erases a key that was deleted before", async () => {
    await insertKey({ id: "ada" });
    await insertPersonalData("ada");
    await call("/api/v1/api-key", { method: "DELETE", body: JSON.stringify({ id: "ada" }) });
    expect(countsOf((await erase("ada")).data)).toEqual(ONE_OF_EACH);
  });

  it("counts each row once for concurrent requests", async () => {
    await insertKey({ id: "ada" });
    await insertPersonalData("ada");
    const answers = await Promise.all([erase("ada"), erase("ada"), erase("ada")]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const total = (what: string) =>
      answers.reduce(
        (sum, { data }) => sum + (data?.Erased.find((one) => one.what === what)?.count ?? 0),
        0,
      );
    for (const [what, count] of Object.entries(ONE_OF_EACH)) expect(total(what)).toBe(count);
  });

  it("erases once when the answer of the database is lost, and counts nothing then", async () => {
    await insertKey({ id: "ada" });
    await insertPersonalData("ada");
    // The first call reads what is open, the second is the batch.
    const { d1 } = failingD1(env.DB, "D1_ERROR: Network connection lost.", "after", (n) => n === 2);
    const { status, data } = await erase("ada", { using: { ...env, DB: d1 } as Env });
    expect([status, data?.isComplete]).toEqual([200, false]);
    expect(new Set(data?.Erased.map(({ count }) => count))).toEqual(new Set([null]));
    expect(await readDatabase()).not.toContain(SECRET_TEXT);
    expect(await readRow("SELECT count(*) AS n FROM audit WHERE action = 'api-key.erase'")).toEqual(
      { n: 1 },
    );
  });

  it("leaves everything as it is when the batch fails", async () => {
    await insertKey({ id: "ada" });
    await insertPersonalData("ada");
    const before = await readDatabase();
    const d1 = wrapD1(env.DB, async (call, run) => {
      if (call.kind === "batch") throw new Error("D1_ERROR: Network connection lost.");
      return run();
    });
    expect((await erase("ada", { using: { ...env, DB: d1 } as Env })).status).toBe(503);
    expect(await readDatabase()).toBe(before);
  });
});

describe("the cron", () => {
  it("erases the rest of a long history, and ends the job some minutes later", async () => {
    await insertKey({ id: "ada" });
    const entries = MAX_ERASED_ROWS + 10;
    await env.DB.prepare(
      `INSERT INTO audit (id, at, api_key_id, request_id, action, target, detail)
       SELECT 'a' || value, 1, 'ada', 'request', 'thing.change', 'x', '{}'
       FROM json_each(?)`,
    )
      .bind(JSON.stringify(Array.from({ length: entries }, (_, i) => i)))
      .run();
    const { data } = await erase("ada");
    expect([data?.isComplete, countsOf(data)]).toEqual([false, { auditDetails: MAX_ERASED_ROWS }]);

    const countJobs = () => readRow("SELECT count(*) AS n FROM job WHERE name GLOB 'erasure:*'");
    const now = Date.now();
    await continueErasures(env as Env, now, now + 60_000);
    expect(await readRow("SELECT count(*) AS n FROM audit WHERE detail IS NOT NULL")).toEqual({
      n: 0,
    });
    expect(await countJobs()).toEqual({ n: 1 });
    await continueErasures(env as Env, now + 10 * 60_000, now + 60_000);
    expect(await countJobs()).toEqual({ n: 0 });
  });

  it("erases what a request of the key wrote after the erasure", async () => {
    await insertKey({ id: "ada" });
    await erase("ada");
    await insertPersonalData("ada");
    await continueErasures(env as Env, Date.now(), Date.now() + 60_000);
    expect(await readDatabase()).not.toContain(SECRET_TEXT);
  });
});

describe("POST /erasure 409", () => {
  const escrow = (values: object) =>
    insertRows("escrow", [
      {
        ...{ id: "escrow", side: "purchase", network: "Preprod", source_id: "source" },
        ...{ requested_by_id: "ada", requested_action: "None", ...values },
      },
    ]);
  const payment = (values: object) =>
    insertRows("x402_payment_attempt", [{ id: "attempt", api_key_id: "ada", ...values }]);

  it.each<[string, () => Promise<void>, string]>([
    ["a quote that can be locked", () => escrow({ on_chain_state: null }), "1 unfinished"],
    ["locked funds", () => escrow({ on_chain_state: "FundsLocked" }), "1 unfinished"],
    ["a pending step", () => escrow({ on_chain_state: "Withdrawn", intent: "{}" }), "1 unfinished"],
    [
      "a transaction that may still land",
      () => escrow({ expired_at: 1, requested_action: "FundsLockingInitiated" }),
      "1 unfinished",
    ],
    ["a held charge", () => escrow({ expired_at: 1, charge: "held" }), "1 held"],
    [
      "an x402 settlement",
      () => payment({ direction: "InboundSettle", status: "Verified" }),
      "1 open x402",
    ],
    [
      "an x402 payment",
      () => payment({ direction: "OutboundPayment", status: "Settled", watched_until: 5 }),
      "1 open x402",
    ],
  ])("refuses while the key has %s, and changes nothing", async (_, insert, message) => {
    await insertKey({ id: "ada" });
    await insertPersonalData("ada");
    await insert();
    const before = await readDatabase();
    const { status, error } = await erase("ada");
    expect([status, error?.code]).toEqual([409, "wrong_state"]);
    expect(error?.message).toContain(message);
    expect(await readDatabase()).toBe(before);
  });

  it.each<[string, () => Promise<void>]>([
    ["an expired quote", () => escrow({ expired_at: 1 })],
    ["an invalid lock", () => escrow({ expired_at: 1, on_chain_state: "FundsOrDatumInvalid" })],
    ["a refund", () => escrow({ on_chain_state: "RefundWithdrawn", charge: "held" })],
    ["a returned charge", () => escrow({ expired_at: 1, charge: "returned" })],
    ["a failed x402 payment", () => payment({ direction: "InboundSettle", status: "Failed" })],
    ["another key's escrow", () => escrow({ on_chain_state: null, requested_by_id: "bob" })],
  ])("does not refuse for %s", async (_, insert) => {
    await insertKey({ id: "ada" });
    await insert();
    expect((await erase("ada")).status).toBe(200);
  });

  it("refuses an escrow that begins after the request has looked", async () => {
    await insertKey({ id: "ada" });
    await insertPersonalData("ada");
    let before = "";
    const d1 = wrapD1(env.DB, async (call, run) => {
      if (call.kind === "batch" && before === "") {
        await escrow({ on_chain_state: null });
        before = await readDatabase();
      }
      return run();
    });
    const { status } = await erase("ada", { using: { ...env, DB: d1 } as Env });
    expect(status).toBe(409);
    expect(await readDatabase()).toBe(before);
  });

  it("refuses the last active Admin key, and the key of the environment", async () => {
    const token = await insertKey({ id: "boss", permission: "Admin" });
    const { ADMIN_KEY: _, ...withoutAdmin } = env;
    const using = withoutAdmin as Env;
    expect((await erase("boss", { token, using })).status).toBe(409);
    expect((await erase("env-admin")).status).toBe(409);
    await insertKey({ id: "second", permission: "Admin" });
    expect((await erase("boss", { token, using })).status).toBe(200);
  });
});

describe("POST /erasure", () => {
  it("is 404 for an unknown key, and 400 for an unknown field", async () => {
    expect((await erase("nobody")).status).toBe(404);
    const body = JSON.stringify({ apiKeyId: "nobody", dryRun: true });
    const answer = await call("/api/v1/erasure", { method: "POST", body });
    expect(answer.status).toBe(400);
  });

  it("shows the record without its metadata afterwards", async () => {
    await insertKey({ id: "ada" });
    const writer = await Writer.create(env.DB);
    const record = makeRecord("payment", { requestedById: "ada" });
    await writer.change([record]);
    await insertRows("escrow_request", [
      { record_id: record.id, requested_by_id: "ada", metadata: SECRET_TEXT },
    ]);
    await env.DB.prepare("UPDATE escrow SET on_chain_state = 'Withdrawn'").run();
    const list = () => call("/api/v1/payment?network=Preprod");
    const first = await list();
    expect(await first.text()).toContain(SECRET_TEXT);
    expect((await erase("ada")).status).toBe(200);
    const diff = await call("/api/v1/payment/diff?network=Preprod", {
      headers: { "if-none-match": first.headers.get("etag") ?? "" },
    });
    expect([diff.status, (await diff.text()).includes(SECRET_TEXT)]).toEqual([200, false]);
  });
});
