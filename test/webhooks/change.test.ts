import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { SERVICE_EVENT_KINDS, TENANT_EVENT_KINDS } from "../../src/events/event-kinds.ts";
import { audited, freshPath, happen, ISO_TIME } from "../support/webhooks/receivers.ts";
import { openWebhookFixture, overtaken, type WebhookFixture } from "./webhook-fixture.ts";

let fixture: WebhookFixture;

beforeEach(async () => {
  fixture = await openWebhookFixture();
});

/** The fields of a change, as the answer shows them. */
const changed = ({ webhookId: id, ...fields }: { webhookId: string }) => ({ id, ...fields });

describe("PATCH /webhooks", () => {
  it("changes what it names, and keeps the rest", async () => {
    const { service, token, post } = fixture;
    const { data: created } = await post({ name: "before", format: "CHAT" }, { token });
    const { secret: _, ...record } = created;
    const { data, status } = await service.ask(
      "PATCH",
      "",
      { webhookId: created.id, name: "after", Events: [...TENANT_EVENT_KINDS] },
      { token },
    );
    expect(status).toBe(200);
    expect(data).toEqual({
      ...record,
      name: "after",
      Events: TENANT_EVENT_KINDS,
      updatedAt: ISO_TIME,
    });
    expect(await audited()).toContainEqual({
      action: "webhook.update",
      target: created.id,
      key: "key-a",
    });
  });

  it("answers 403 to a key that is no Admin's and wants events of the service itself", async () => {
    const { service, token, post } = fixture;
    const { data } = await post({}, { token });
    for (const kind of SERVICE_EVENT_KINDS) {
      const refused = { status: 403, message: `Events: ${kind} is an event kind for Admins only` };
      const Events = ["PAYMENT_ON_ERROR", kind];
      expect(await post({ Events, name: kind }, { token })).toMatchObject(refused);
      const change = { webhookId: data.id, Events };
      expect(await service.ask("PATCH", "", change, { token })).toMatchObject(refused);
    }
  });

  it("pauses and goes on, cancelling what was open", async () => {
    const { service } = fixture;
    const { id: webhookId } = await service.create(freshPath());
    await happen(["PAYMENT_ON_ERROR"]);
    await service.wake();
    await service.ask("PATCH", "", { webhookId, isActive: false });
    expect(await service.deliveries(webhookId)).toMatchObject([{ status: "Cancelled" }]);
    const { data } = await service.ask("PATCH", "", { webhookId, isActive: true });
    expect(data.isActive).toBe(true);
  });

  it("answers 409 when it would make two of one", async () => {
    const { service, url, token, post } = fixture;
    await post({}, { token });
    const { data } = await post({ url: `${url}/b` }, { token });
    const change = { webhookId: data.id, url };
    expect(await service.ask("PATCH", "", change, { token })).toMatchObject({ status: 409 });
  });

  it("keeps what another change made at the same time", async () => {
    const { service, post } = fixture;
    const { id: webhookId } = (await post({ format: "CHAT" })).data;
    const other = { webhookId, format: "DISCORD", Events: ["X402_PAYMENT_FAILED"] };
    const late = overtaken(() => service.ask("PATCH", "", other));
    const { data } = await late.ask("PATCH", "", { webhookId, name: "mine" });
    expect(data).toMatchObject({ ...changed(other), name: "mine" });
    expect(await service.listed(webhookId)).toMatchObject(data);
    // What a second one is recognised by has followed, too.
    expect((await post({ format: "DISCORD" })).status).toBe(409);
    expect((await post({ format: "CHAT" })).status).toBe(200);
  });

  it("answers 404 for one that is deleted at the same time, and leaves no trace", async () => {
    const { service, post } = fixture;
    const { id: webhookId } = (await post()).data;
    const late = overtaken(async () => {
      await service.ask("DELETE", "", { webhookId });
      await service.minute();
    });
    expect(await late.ask("PATCH", "", { webhookId, name: "mine" })).toMatchObject({
      status: 404,
      message: "webhookId: there is no such webhook",
    });
    expect(await audited()).toMatchObject([
      { action: "webhook.create" },
      { action: "webhook.delete" },
    ]);
  });

  it("answers 409 when others are first each time", async () => {
    const { service, post } = fixture;
    const { id: webhookId } = (await post()).data;
    let others = 0;
    const late = overtaken(
      () => service.ask("PATCH", "", { webhookId, name: `other ${++others}` }),
      Number.POSITIVE_INFINITY,
    );
    expect(await late.ask("PATCH", "", { webhookId, name: "mine" })).toMatchObject({
      status: 409,
      message: "webhookId: another request changed the webhook. Try again.",
    });
    expect((await service.listed(webhookId)).name).toBe(`other ${others}`);
  });
});

describe("DELETE /webhooks", () => {
  it("answers with what was deleted, whose secrets are gone and whose URL is free again", async () => {
    const { service, url, token, post } = fixture;
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

  it("deletes one whose URL does not open any more, and shows none for it", async () => {
    const { service, post } = fixture;
    const { id: webhookId } = (await post()).data;
    await env.DB.prepare("UPDATE webhook_endpoint SET url = 'v1.lost.AAAA'").run();
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const answer = await service.ask("DELETE", "", { webhookId });
    expect(error).toHaveBeenCalledWith(expect.stringContaining("sealed.unopened"));
    error.mockRestore();
    expect(answer).toMatchObject({ status: 200, data: { id: webhookId, url: "" } });
    expect((await service.ask("GET", "")).data.Webhooks).toEqual([]);
  });
});
