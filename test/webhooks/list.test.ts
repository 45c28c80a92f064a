import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { publicUrl } from "../support/names.ts";
import { insertSource } from "../support/sources.ts";
import { ISO_TIME, WebhookService } from "../support/webhooks.ts";

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

describe("GET /webhooks", () => {
  it("shows a key its own, newest first, and an Admin all of them, with who created them", async () => {
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
