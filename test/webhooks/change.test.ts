import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { EVENT_KINDS } from "../../src/webhooks/kinds.ts";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { publicUrl } from "../support/names.ts";
import { audited, freshPath, happen, ISO_TIME, WebhookService } from "../support/webhooks.ts";

let service: WebhookService;
let url: string;
let token: string;

beforeEach(async () => {
  await emptyTables();
  service = new WebhookService();
  url = await publicUrl();
  token = await insertKey({ id: "key-a", canPay: true });
});

const post = (fields: object = {}, options = {}) =>
  service.ask("POST", "", { url, Events: ["PAYMENT_ON_ERROR"], ...fields }, options);

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
    expect(data).toEqual({ ...record, name: "after", Events: EVENT_KINDS, updatedAt: ISO_TIME });
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
    const { data } = await post({ url: `${url}/b` }, { token });
    const change = { webhookId: data.id, url };
    expect(await service.ask("PATCH", "", change, { token })).toMatchObject({ status: 409 });
  });
});

describe("DELETE /webhooks", () => {
  it("answers with what was deleted, whose secrets are gone and whose URL is free again", async () => {
    const { data } = await post({ name: "mine" }, { token });
    expect(await service.ask("DELETE", "", { webhookId: data.id }, { token })).toMatchObject({
      status: 200,
      data: { id: data.id, url, name: "mine", deletedAt: ISO_TIME },
    });
    const row = await env.DB.prepare("SELECT url, secret FROM webhook_endpoint").first();
    expect(row).toEqual({ url: "", secret: "" });
    expect((await service.ask("GET", "")).data.Webhooks).toEqual([]);
    expect((await post({}, { token })).status).toBe(200);
  });
});
