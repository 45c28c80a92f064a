import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { freshPath, happen, stored } from "../support/webhooks/receivers.ts";
import { openScene, type Scene } from "./scene.ts";

let scene: Scene;

beforeEach(async () => {
  scene = await openScene();
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
      const { service, token, otherToken, post } = scene;
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
    const { service, token, otherToken } = scene;
    const { id: webhookId } = await service.create(freshPath(), {}, token);
    await happen(["PAYMENT_ON_ERROR"]);
    await service.settle();
    const log = async (as: string) =>
      (await service.ask("GET", "/deliveries", { webhookId }, { token: as })).data.Deliveries;
    expect(await log(token)).toHaveLength(1);
    expect(await log(otherToken)).toEqual([]);
  });
});
