import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { publicUrl } from "../support/names.ts";
import { freshPath, happen, stored, WebhookService } from "../support/webhooks.ts";

let service: WebhookService;
let url: string;
let token: string;
let otherToken: string;

beforeEach(async () => {
  await emptyTables();
  service = new WebhookService();
  url = await publicUrl();
  token = await insertKey({ id: "key-a", canPay: true });
  otherToken = await insertKey({ id: "key-b", canPay: true });
});

const post = (fields: object = {}, options = {}) =>
  service.ask("POST", "", { url, Events: ["PAYMENT_ON_ERROR"], ...fields }, options);

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
