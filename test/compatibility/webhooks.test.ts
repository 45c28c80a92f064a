/** Webhooks as clients of the payment service change them, who know eleven kinds of events. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { publicUrl } from "../support/names.ts";
import { type ExternalApp, startApp } from "./external-app.ts";

const KNOWN = ["PAYMENT_ON_ERROR", "WALLET_LOW_BALANCE"];
const OWN = ["SOURCE_STUCK", "PAYMENT_DEADLINE_NEAR"];

let external: ExternalApp;
let webhookId: string;

beforeAll(async () => {
  external = await startApp("cardano");
});
beforeEach(async () => {
  await emptyTables();
  const created = await send("POST", {
    url: await publicUrl(),
    Events: [...KNOWN, ...OWN],
  });
  expect(created).toMatchObject({ Events: KNOWN, OtherEvents: OWN });
  webhookId = created.id;
});

const send = async (method: string, body?: object) => {
  const options = body && { body };
  const { status, data } = await external.request(method, "/api/v1/webhooks", options);
  expect(status).toBe(200);
  return data;
};
const change = (body: object) => send("PATCH", { webhookId, ...body });

describe("PATCH /webhooks", () => {
  it("keeps the kinds that the client does not know", async () => {
    const [first = ""] = KNOWN;
    expect(await change({ Events: [first] })).toMatchObject({ Events: [first], OtherEvents: OWN });
    expect(await change({ name: "Renamed" })).toMatchObject({ Events: [first], OtherEvents: OWN });
    expect((await send("GET")).Webhooks).toMatchObject([{ Events: [first], OtherEvents: OWN }]);
  });

  it("replaces these kinds where the request names some, in either field", async () => {
    const [, near = ""] = OWN;
    expect(await change({ Events: [...KNOWN, near] })).toMatchObject({ OtherEvents: [near] });
    expect(await change({ OtherEvents: OWN })).toMatchObject({ Events: KNOWN, OtherEvents: OWN });
    expect(await change({ OtherEvents: [] })).toMatchObject({ Events: KNOWN, OtherEvents: [] });
  });
});
