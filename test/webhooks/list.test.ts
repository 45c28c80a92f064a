import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { insertSource } from "../support/sources/sources.ts";
import { ISO_TIME } from "../support/webhooks/receivers.ts";
import { openWebhookFixture, type WebhookFixture } from "./webhook-fixture.ts";

let fixture: WebhookFixture;

beforeEach(async () => {
  fixture = await openWebhookFixture();
});

describe("GET /webhooks", () => {
  it("shows a key its own, newest first, and an Admin all of them, with who created them", async () => {
    const { service, url, token, otherToken, post } = fixture;
    const made: string[] = [];
    for (const [i, owner] of [token, token, otherToken].entries())
      made.unshift((await post({ url: `${url}/${i}` }, { token: owner })).data.id);
    const { data: own } = await service.ask("GET", "", {}, { token });
    expect(own.Webhooks.map(({ id }: { id: string }) => id)).toEqual(made.slice(1));
    expect(own.Webhooks[0]).toEqual({
      id: made[1],
      url: `${url}/1`,
      name: "",
      format: "EXTENDED",
      Events: ["PAYMENT_ON_ERROR"],
      isActive: true,
      createdAt: ISO_TIME,
      updatedAt: ISO_TIME,
      paymentSourceId: null,
      failureCount: 0,
      lastSuccessAt: null,
      disabledAt: null,
      disabledReason: null,
      pausedUntil: null,
      CreatedBy: { apiKeyId: "key-a", apiKeyToken: `*****${token.slice(-4)}` },
    });
    const { data: first } = await service.ask("GET", "", { limit: "2" });
    const { data: second } = await service.ask("GET", "", { limit: "2", cursorId: made[1] ?? "" });
    const listed = [...first.Webhooks, ...second.Webhooks].map(({ id }: { id: string }) => id);
    expect(listed).toEqual(made);
  });

  it("filters by payment source, and says nothing of a creator that is gone", async () => {
    const { service, token, post } = fixture;
    const paymentSourceId = await insertSource("source-a", "Preprod");
    const { data } = await post({ paymentSourceId }, { token });
    await post({}, { token });
    await env.DB.prepare("DELETE FROM api_key WHERE id = 'key-a'").run();
    const { data: listed } = await service.ask("GET", "", { paymentSourceId });
    expect(listed.Webhooks).toMatchObject([{ id: data.id, CreatedBy: null }]);
    expect((await service.ask("GET", "", { paymentSourceId: "other" })).data.Webhooks).toEqual([]);
  });

  it("shows all of them when the URL of one does not open any more", async () => {
    const { service, url, post } = fixture;
    const { id: broken } = (await post()).data;
    const { id: whole } = (await post({ url: `${url}/b` })).data;
    await env.DB.prepare("UPDATE webhook_endpoint SET url = 'v1.lost.AAAA' WHERE id = ?")
      .bind(broken)
      .run();
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const { status, data } = await service.ask("GET", "");
    expect(error).toHaveBeenCalledWith(expect.stringContaining("sealed.unopened"));
    error.mockRestore();
    expect(status).toBe(200);
    const shown = data.Webhooks.map((one: { id: string; url: string }) => [one.id, one.url]);
    expect(Object.fromEntries(shown)).toEqual({ [broken]: "", [whole]: `${url}/b` });
  });
});
