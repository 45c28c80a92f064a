import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, test } from "vitest";
import { insertKey } from "../support/keys.ts";
import { insertSource } from "../support/sources/sources.ts";
import {
  audited,
  freshPath,
  ISO_TIME,
  stored,
  WebhookService,
} from "../support/webhooks/receivers.ts";
import { openWebhookFixture, type WebhookFixture } from "./webhook-fixture.ts";

let fixture: WebhookFixture;

beforeEach(async () => {
  fixture = await openWebhookFixture();
});

describe("POST /webhooks 200", () => {
  it("creates an endpoint, for everything that was not said", async () => {
    const { url, token, post } = fixture;
    const { status, data } = await post(
      { Events: ["PAYMENT_ON_ERROR", "PAYMENT_ON_ERROR"] },
      { token },
    );
    expect(status).toBe(200);
    expect(data).toEqual({
      id: expect.stringMatching(/^[0-9a-z]{26}$/),
      url,
      name: "",
      format: "EXTENDED",
      Events: ["PAYMENT_ON_ERROR"],
      isActive: true,
      createdAt: ISO_TIME,
      updatedAt: ISO_TIME,
      paymentSourceId: null,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    expect(await audited()).toEqual([{ action: "webhook.create", target: data.id, key: "key-a" }]);
  });

  it("stores neither URL nor secret nor token in clear, also under an Idempotency-Key", async () => {
    const { service, url, token, post } = fixture;
    const fields = { authToken: "token-of-receiver" };
    const options = { token, headers: { "idempotency-key": "once" } };
    const first = await post(fields, options);
    expect(await post(fields, options)).toEqual(first);
    const text = await stored();
    for (const secret of [url, first.data.secret, fields.authToken])
      expect(text).not.toContain(secret);
    const { data } = await service.ask("GET", "");
    expect(data.Webhooks).toHaveLength(1);
  });

  it("creates one for a payment source, in any format", async () => {
    const { post } = fixture;
    const sourceId = await insertSource("source-a", "Preprod");
    for (const format of ["CHAT", "GOOGLE_CHAT", "DISCORD", "EXTENDED"])
      expect(await post({ format, paymentSourceId: sourceId, name: "mine" })).toMatchObject({
        status: 200,
        data: { format, paymentSourceId: sourceId, name: "mine" },
      });
  });
});

describe("POST /webhooks is refused with", () => {
  /** In development the refusal names the option that allows the origin. */
  const notAllowed = (origin: string) =>
    `url: must have a public host name, or an origin of LOOPBACK_ORIGINS: npm start -- --origins=${origin}`;

  it.each([
    ["receiver.dev", "url: must be a URL"],
    ["http://receiver.dev/", "url: must be an https URL"],
    ["ftp://receiver.dev/", "url: must be an https URL"],
    ["https://user:pass@receiver.dev/", "url: must not hold a user or a password"],
    ["https://receiver.dev:8443/", "url: must use the default port"],
    ["https://93.184.215.14/", "url: must have a public host name"],
    ["https://127.0.0.1/", notAllowed("https://127.0.0.1")],
    ["https://2130706433/", notAllowed("https://127.0.0.1")],
    ["https://0x7f000001/", notAllowed("https://127.0.0.1")],
    ["https://0177.0.0.1/", notAllowed("https://127.0.0.1")],
    ["https://127.1/", notAllowed("https://127.0.0.1")],
    ["https://[::1]/", notAllowed("https://[::1]")],
    ["https://[::ffff:10.0.0.1]/", "url: must have a public host name"],
    ["https://localhost/", notAllowed("https://localhost")],
    ["http://localhost:9005/", notAllowed("http://localhost:9005")],
    ["https://localhost./", "url: must have a public host name"],
    ["https://printer.local/", "url: must have a public host name"],
    ["https://metadata.google.internal/", "url: must have a public host name"],
  ])("400 for %s, also by PATCH", async (target, message) => {
    const { service, post } = fixture;
    expect(await post({ url: target })).toMatchObject({ status: 400, message });
    const { data } = await post();
    expect(await service.ask("PATCH", "", { webhookId: data.id, url: target })).toMatchObject({
      status: 400,
      message,
    });
  });

  it("404 for a payment source that does not exist, or that the key does not reach", async () => {
    const { token, post } = fixture;
    const paymentSourceId = await insertSource("source-a", "Preprod");
    const unknown = {
      status: 404,
      message: "paymentSourceId: there is no such payment source",
    };
    expect(await post({ paymentSourceId: "source-b" }, { token })).toMatchObject(unknown);
    for (const limit of [{ networkLimit: ["Mainnet"] }, { walletLimit: ["wallet-b"] }]) {
      const bound = await insertKey({ canPay: true, ...limit });
      expect(await post({ paymentSourceId }, { token: bound })).toMatchObject(unknown);
    }
    expect(await audited()).toEqual([]);
  });

  it("409 for a second one for the same, which another key may have", async () => {
    const { token, otherToken, post } = fixture;
    await post({}, { token });
    const before = await stored();
    expect(await post({ name: "again" }, { token })).toMatchObject({
      status: 409,
      message: expect.stringMatching(/^url: the API key already has a webhook/),
    });
    expect(await stored()).toBe(before);
    expect((await post({ format: "CHAT" }, { token })).status).toBe(200);
    expect((await post({}, { token: otherToken })).status).toBe(200);
  });

  test("409 for the twenty-first webhook of an API key, until one is deleted", async () => {
    const { service, token, otherToken } = fixture;
    const urls = Array.from({ length: 21 }, () => `${env.RECEIVER_URL}${freshPath()}`);
    const create = (url?: string, by = token) =>
      service.ask("POST", "", { url, Events: ["PAYMENT_ON_ERROR"] }, { token: by });
    const created = [];
    for (const url of urls.slice(0, 20)) created.push(await create(url));
    expect(new Set(created.map(({ status }) => status))).toEqual(new Set([200]));
    const before = await stored();
    expect(await create(urls[20])).toMatchObject({
      status: 409,
      message: "url: an API key has at most 20 webhooks; delete one first",
    });
    expect(await stored()).toBe(before);
    expect((await create(urls[20], otherToken)).status).toBe(200);
    await service.ask("DELETE", "", { webhookId: created[0]?.data.id }, { token });
    expect((await create(urls[20])).status).toBe(200);
  });

  test("409 for all parallel creations beyond the number that the variable allows", async () => {
    const { token } = fixture;
    const service = new WebhookService({ WEBHOOK_ENDPOINTS_PER_KEY: "3" });
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => {
        const url = `${env.RECEIVER_URL}${freshPath()}`;
        return service.ask("POST", "", { url, Events: ["PAYMENT_ON_ERROR"] }, { token });
      }),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(3).fill(200), ...Array(9).fill(409)]);
  });

  test("409 for the repeat of a creation whose webhook was deleted", async () => {
    const { service, token, post } = fixture;
    const options = { token, headers: { "idempotency-key": "once" } };
    const { data } = await post({}, options);
    await service.ask("DELETE", "", { webhookId: data.id }, { token });
    const repeated = await post({}, options);
    expect(repeated).toMatchObject({
      status: 409,
      message: expect.stringMatching(/^Idempotency-Key: the webhook of this request was deleted/),
    });
    expect(JSON.stringify(repeated)).not.toContain(data.secret);
    expect((await post({}, { ...options, headers: {} })).status).toBe(200);
  });
});
