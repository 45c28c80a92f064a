import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EVENT_KINDS } from "../../src/webhooks/kinds.ts";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { insertSource } from "../support/sources.ts";
import { freshPath, happen, WebhookService } from "../support/webhooks.ts";

const URL_A = "https://receiver.dev/a";
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

let service: WebhookService;
/** Addresses of every host name, as the resolver of these tests tells them. */
let addresses: string[];
let token: string;
let otherToken: string;

const realFetch = globalThis.fetch;

beforeEach(async () => {
  await emptyTables();
  service = new WebhookService({ DNS_OVER_HTTPS_URL: "https://resolver.dev/dns-query" });
  addresses = ["93.184.215.14"];
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.host !== "resolver.dev") return realFetch(input, init);
    const isV4 = url.searchParams.get("type") === "A";
    const own = addresses.filter((address) => address.includes(":") !== isV4);
    return Response.json({
      Status: 0,
      Answer: own.map((data) => ({ type: isV4 ? 1 : 28, data })),
    });
  });
  token = await insertKey({ id: "key-a", canPay: true });
  otherToken = await insertKey({ id: "key-b", canPay: true });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

const post = (fields: object = {}, options = {}) =>
  service.ask("POST", "", { url: URL_A, Events: ["PAYMENT_ON_ERROR"], ...fields }, options);

async function audited(): Promise<unknown[]> {
  const { results } = await env.DB.prepare(
    "SELECT action, target, api_key_id AS key FROM audit ORDER BY id",
  ).all();
  return results;
}

/** All that these endpoints write, as text. */
async function stored(): Promise<string> {
  const tables = ["webhook_endpoint", "webhook_delivery", "audit", "idempotency"];
  const rows = await Promise.all(
    tables.map((table) => env.DB.prepare(`SELECT * FROM ${table}`).all()),
  );
  return JSON.stringify(rows.map(({ results }) => results));
}

describe("POST /webhooks 200", () => {
  it("creates an endpoint, for everything that was not said", async () => {
    const { status, data } = await post(
      { Events: ["PAYMENT_ON_ERROR", "PAYMENT_ON_ERROR"] },
      { token },
    );
    expect(status).toBe(200);
    expect(data).toEqual({
      id: expect.stringMatching(/^[0-9a-z]{26}$/),
      url: URL_A,
      name: "",
      format: "EXTENDED",
      Events: ["PAYMENT_ON_ERROR"],
      isActive: true,
      createdAt: TIME,
      updatedAt: TIME,
      paymentSourceId: null,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    expect(await audited()).toEqual([{ action: "webhook.create", target: data.id, key: "key-a" }]);
  });

  it("stores neither URL nor secret nor token in clear, also under an Idempotency-Key", async () => {
    const fields = { authToken: "token-of-receiver" };
    const options = { token, headers: { "idempotency-key": "once" } };
    const first = await post(fields, options);
    expect(await post(fields, options)).toEqual(first);
    const text = await stored();
    for (const secret of [URL_A, first.data.secret, fields.authToken])
      expect(text).not.toContain(secret);
    const { data } = await service.ask("GET", "");
    expect(data.Webhooks).toHaveLength(1);
  });

  it("creates one for a payment source, in any format", async () => {
    const sourceId = await insertSource("source-a", "Preprod");
    for (const format of ["CHAT", "GOOGLE_CHAT", "DISCORD", "EXTENDED"])
      expect(await post({ format, paymentSourceId: sourceId, name: "mine" })).toMatchObject({
        status: 200,
        data: { format, paymentSourceId: sourceId, name: "mine" },
      });
  });
});

describe("POST /webhooks is refused with", () => {
  it.each([
    ["receiver.dev", "url: must be a URL"],
    ["http://receiver.dev/", "url: must be an https URL"],
    ["ftp://receiver.dev/", "url: must be an https URL"],
    ["https://user:pass@receiver.dev/", "url: must not hold a user or a password"],
    ["https://receiver.dev:8443/", "url: must use the default port"],
    ["https://93.184.215.14/", "url: must have a public host name"],
    ["https://127.0.0.1/", "url: must have a public host name"],
    ["https://2130706433/", "url: must have a public host name"],
    ["https://0x7f000001/", "url: must have a public host name"],
    ["https://0177.0.0.1/", "url: must have a public host name"],
    ["https://127.1/", "url: must have a public host name"],
    ["https://[::1]/", "url: must have a public host name"],
    ["https://[::ffff:10.0.0.1]/", "url: must have a public host name"],
    ["https://localhost/", "url: must have a public host name"],
    ["https://localhost./", "url: must have a public host name"],
    ["https://printer.local/", "url: must have a public host name"],
    ["https://metadata.google.internal/", "url: must have a public host name"],
  ])("400 for %s, also by PATCH", async (url, message) => {
    expect(await post({ url })).toMatchObject({ status: 400, message });
    const { data } = await post();
    expect(await service.ask("PATCH", "", { webhookId: data.id, url })).toMatchObject({
      status: 400,
      message,
    });
  });

  it.each([
    [["10.0.0.1"]],
    [["93.184.215.14", "192.168.1.1"]],
    [["100.64.0.1"]],
    [["169.254.169.254"]],
    [["0.0.0.0"]],
    [["192.0.0.8"]],
    [["240.0.0.1"]],
    [["::1"]],
    [["fd00::1"]],
    [["::ffff:127.0.0.1"]],
    [["64:ff9b::a00:1"]],
    [["2002:a00:1::"]],
  ])("400 when the name resolves to %j, also by PATCH", async (resolved) => {
    const { data } = await post();
    addresses = resolved;
    const message = "url: must resolve to public addresses only";
    const url = "https://other.dev/";
    expect(await post({ url })).toMatchObject({ status: 400, message });
    expect(await service.ask("PATCH", "", { webhookId: data.id, url })).toMatchObject({
      status: 400,
      message,
    });
    addresses = [];
    expect(await post({ url })).toMatchObject({ message: "url: the host name has no address" });
  });

  it("403 for a payment source on a network that the key lacks, 404 for none", async () => {
    const paymentSourceId = await insertSource("source-a", "Preprod");
    const mainnetOnly = await insertKey({ canPay: true, networkLimit: ["Mainnet"] });
    expect(await post({ paymentSourceId }, { token: mainnetOnly })).toMatchObject({ status: 403 });
    expect(await post({ paymentSourceId: "source-b" })).toMatchObject({
      status: 404,
      message: "paymentSourceId: there is no such payment source",
    });
    expect(await audited()).toEqual([]);
  });

  it("409 for a second one for the same, which another key may have", async () => {
    await post({}, { token });
    const before = await stored();
    expect(await post({ name: "again" }, { token })).toMatchObject({
      status: 409,
      message: expect.stringMatching(/^url: is a webhook of this API key already/),
    });
    expect(await stored()).toBe(before);
    expect((await post({ format: "CHAT" }, { token })).status).toBe(200);
    expect((await post({}, { token: otherToken })).status).toBe(200);
  });
});

describe("GET /webhooks", () => {
  it("shows a key its own, newest first, and an Admin all of them, with who created them", async () => {
    const made: string[] = [];
    for (const [i, owner] of [token, token, otherToken].entries())
      made.unshift((await post({ url: `${URL_A}/${i}` }, { token: owner })).data.id);
    const { data: own } = await service.ask("GET", "", {}, { token });
    expect(own.Webhooks.map(({ id }: { id: string }) => id)).toEqual(made.slice(1));
    expect(own.Webhooks[0]).toEqual({
      id: made[1],
      url: `${URL_A}/1`,
      name: "",
      format: "EXTENDED",
      Events: ["PAYMENT_ON_ERROR"],
      isActive: true,
      createdAt: TIME,
      updatedAt: TIME,
      paymentSourceId: null,
      failureCount: 0,
      lastSuccessAt: null,
      disabledAt: null,
      disabledReason: null,
      CreatedBy: { apiKeyId: "key-a", apiKeyToken: `*****${token.slice(-4)}` },
    });
    const { data: first } = await service.ask("GET", "", { limit: "2" });
    const { data: second } = await service.ask("GET", "", { limit: "2", cursorId: made[1] ?? "" });
    const listed = [...first.Webhooks, ...second.Webhooks].map(({ id }: { id: string }) => id);
    expect(listed).toEqual(made);
  });

  it("filters by payment source, and says nothing of a creator that is gone", async () => {
    const paymentSourceId = await insertSource("source-a", "Preprod");
    const { data } = await post({ paymentSourceId }, { token });
    await post({}, { token });
    await env.DB.prepare("DELETE FROM api_key WHERE id = 'key-a'").run();
    const { data: listed } = await service.ask("GET", "", { paymentSourceId });
    expect(listed.Webhooks).toMatchObject([{ id: data.id, CreatedBy: null }]);
    expect((await service.ask("GET", "", { paymentSourceId: "other" })).data.Webhooks).toEqual([]);
  });
});

describe("PATCH /webhooks", () => {
  it("changes what it names, and keeps the rest", async () => {
    const { data: created } = await post({ name: "before", format: "CHAT" }, { token });
    const { secret: _, ...record } = created;
    const { data, status } = await service.ask(
      "PATCH",
      "",
      { webhookId: created.id, name: "after", Events: [...EVENT_KINDS] },
      { token },
    );
    expect(status).toBe(200);
    expect(data).toEqual({ ...record, name: "after", Events: EVENT_KINDS, updatedAt: TIME });
    expect(await audited()).toContainEqual({
      action: "webhook.update",
      target: created.id,
      key: "key-a",
    });
  });

  it("pauses and goes on, cancelling what was open", async () => {
    const { id: webhookId } = await service.create(freshPath());
    await happen(["PAYMENT_ON_ERROR"]);
    await service.wake();
    await service.ask("PATCH", "", { webhookId, isActive: false });
    expect(await service.deliveries(webhookId)).toMatchObject([{ status: "Cancelled" }]);
    const { data } = await service.ask("PATCH", "", { webhookId, isActive: true });
    expect(data.isActive).toBe(true);
  });

  it("answers 409 when it would make two of one", async () => {
    await post({}, { token });
    const { data } = await post({ url: "https://receiver.dev/b" }, { token });
    const change = { webhookId: data.id, url: URL_A };
    expect(await service.ask("PATCH", "", change, { token })).toMatchObject({ status: 409 });
  });
});

describe("DELETE /webhooks", () => {
  it("answers with what was deleted, whose secrets are gone and whose URL is free again", async () => {
    const { data } = await post({ name: "mine" }, { token });
    expect(await service.ask("DELETE", "", { webhookId: data.id }, { token })).toMatchObject({
      status: 200,
      data: { id: data.id, url: URL_A, name: "mine", deletedAt: TIME },
    });
    const row = await env.DB.prepare("SELECT url, secret FROM webhook_endpoint").first();
    expect(row).toEqual({ url: "", secret: "" });
    expect((await service.ask("GET", "")).data.Webhooks).toEqual([]);
    expect((await post({}, { token })).status).toBe(200);
  });
});

describe("POST /webhooks/rotate-secret", () => {
  it("gives a new secret once per Idempotency-Key, and 409 while two overlap", async () => {
    const { data } = await post({}, { token });
    const rotate = (fields = {}, headers = {}) =>
      service.ask("POST", "/rotate-secret", { webhookId: data.id, ...fields }, { token, headers });
    const first = await rotate({}, { "idempotency-key": "once" });
    expect(first.data).toEqual({
      webhookId: data.id,
      secret: expect.stringMatching(/^whsec_/),
      previousSecretValidUntil: TIME,
    });
    expect(first.data.secret).not.toBe(data.secret);
    expect(await rotate({}, { "idempotency-key": "once" })).toEqual(first);
    expect(await rotate()).toMatchObject({ status: 409 });
    expect(await rotate({ force: true, overlapSeconds: 0 })).toMatchObject({
      status: 200,
      data: { previousSecretValidUntil: null },
    });
  });
});

describe("the delivery log", () => {
  it("pages newest first, and filters by status, kind and time", async () => {
    const { id: webhookId } = await service.create(freshPath());
    const made: string[] = [];
    for (const kind of ["PAYMENT_ON_ERROR", "X402_PAYMENT_FAILED", "PAYMENT_ON_ERROR"] as const)
      made.unshift(...(await happen([kind])));
    await service.settle();
    const log = async (filter: object) =>
      (await service.deliveries(webhookId, filter)).map(({ id }: { id: string }) => id);
    const sorted = [...made].sort().reverse();
    expect(await log({})).toEqual(sorted);
    expect(await log({ limit: "1", cursorId: sorted[0] })).toEqual(sorted.slice(1, 2));
    expect(await log({ event: "X402_PAYMENT_FAILED" })).toEqual([made[1]]);
    expect(await log({ status: "Success" })).toHaveLength(3);
    expect(await log({ status: "Failed" })).toEqual([]);
    const later = new Date(Date.now() + 60_000).toISOString();
    expect(await log({ since: later })).toEqual([]);
    expect(await log({ until: later })).toHaveLength(3);
  });

  it("is replayed by id, by kind and by time; 404 for an unknown id, 409 for an open one", async () => {
    const { id: webhookId } = await service.create(freshPath());
    const [first] = await happen(["PAYMENT_ON_ERROR", "X402_PAYMENT_FAILED"]);
    await service.settle();
    const replay = (fields: object) =>
      service.ask("POST", "/deliveries/replay", { webhookId, ...fields });
    expect(await replay({ id: first })).toMatchObject({ status: 200, data: { replayed: 1 } });
    expect(await replay({ id: first })).toMatchObject({ status: 409 });
    expect(await replay({ id: "unknown" })).toMatchObject({ status: 404 });
    expect(await replay({})).toMatchObject({ data: { replayed: 0 } });
    await service.drain();
    const span = { status: "Success", since: "2020-01-01", event: "X402_PAYMENT_FAILED" };
    expect(await replay(span)).toMatchObject({ data: { replayed: 1 } });
    expect(await audited()).toContainEqual({
      action: "webhook.replay",
      target: webhookId,
      key: "env-admin",
    });
  });
});

describe("a webhook of another key", () => {
  it.each([
    ["PATCH", "", { name: "mine now" }],
    ["DELETE", "", {}],
    ["POST", "/test", {}],
    ["POST", "/rotate-secret", {}],
    ["POST", "/deliveries/replay", {}],
  ])(
    "answers 403 to %s /webhooks%s, an unknown one 404, an Admin may",
    async (method, path, fields) => {
      const { data } = await post({}, { token });
      const before = await stored();
      const ask = (webhookId: string, as: string) =>
        service.ask(method, path, { webhookId, ...fields }, { token: as });
      expect(await ask(data.id, otherToken)).toMatchObject({
        status: 403,
        message: "webhookId: is the webhook of another API key",
      });
      expect(await ask("unknown", token)).toMatchObject({ status: 404 });
      expect(await stored()).toBe(before);
      if (path !== "/test") expect((await ask(data.id, env.ADMIN_KEY ?? "")).status).toBe(200);
    },
  );

  it("has no deliveries to show", async () => {
    const { id: webhookId } = await service.create(freshPath(), {}, token);
    await happen(["PAYMENT_ON_ERROR"]);
    await service.settle();
    const log = async (as: string) =>
      (await service.ask("GET", "/deliveries", { webhookId }, { token: as })).data.Deliveries;
    expect(await log(token)).toHaveLength(1);
    expect(await log(otherToken)).toEqual([]);
  });
});

describe("a receiver whose name moves to a private address after it was checked", () => {
  it("is not sent anything, and the delivery says why", async () => {
    const { data } = await post({}, { token });
    addresses = ["10.0.0.1"];
    const sent: string[] = [];
    const guarded = globalThis.fetch;
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
      sent.push(new URL(input instanceof Request ? input.url : input).host);
      return guarded(input, init);
    });
    await happen(["PAYMENT_ON_ERROR"]);
    await service.settle();
    expect(new Set(sent)).toEqual(new Set(["resolver.dev"]));
    expect(await service.deliveries(data.id)).toMatchObject([
      { status: "Retrying", responseStatus: null, error: "must resolve to public addresses only" },
    ]);
    expect(await service.ask("POST", "/test", { webhookId: data.id })).toMatchObject({
      data: { success: false, errorMessage: "must resolve to public addresses only" },
    });
  });
});
