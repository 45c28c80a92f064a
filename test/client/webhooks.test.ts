import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { verifyWebhook } from "../../client/index.ts";
import { createSignatureHeaders, generateSecret } from "../../src/webhooks/endpoints/signature.ts";

const NOW = Date.UTC(2026, 10, 22);
const BODY = '{"id":"e1","type":"PAYMENT_ON_ERROR","data":{"totalBuyerCardanoFees":1,"name":"é"}}';

describe("verifyWebhook", () => {
  it("reads what the service signs, as text or bytes, with any of the secrets of a rotation", async () => {
    const [old, next] = [generateSecret(), generateSecret()];
    const headers = createSignatureHeaders([old, next], "e1", NOW, BODY);
    const event = {
      id: "e1",
      type: "PAYMENT_ON_ERROR",
      data: { totalBuyerChainFees: 1, name: "é" },
    };
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    for (const secret of [old, next, [generateSecret(), next]])
      expect(await verifyWebhook({ body: BODY, headers }, secret, { now: NOW })).toEqual(event);
    const body = new TextEncoder().encode(BODY);
    expect(await verifyWebhook({ body, headers: upper }, old, { now: NOW })).toEqual(event);
    expect(await verifyWebhook({ body, headers: new Headers(headers) }, old, { now: NOW })).toEqual(
      event,
    );
  });

  it("reads what others sign by the standard", async () => {
    const secret = generateSecret();
    const at = new Date();
    const headers = {
      "webhook-id": "e1",
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign("e1", at, BODY),
    };
    expect(await verifyWebhook({ body: BODY, headers }, secret)).toMatchObject({ id: "e1" });
  });

  it.each([
    ["another body", { body: `${BODY} ` }, {}, "no signature"],
    ["another secret", {}, { secret: generateSecret() }, "no signature"],
    ["another id", { "webhook-id": "e2" }, {}, "no signature"],
    ["no signature of version 1", { "webhook-signature": "v1a,AAAA v1, v1,*" }, {}, "no signature"],
    ["no header", { "webhook-signature": undefined }, {}, "missing"],
    ["a time that is none", { "webhook-timestamp": "1e3" }, {}, "not of now"],
    ["an old delivery", {}, { now: NOW + 301_000 }, "not of now"],
    ["one of the future", {}, { now: NOW - 301_000 }, "not of now"],
    ["a secret that is none", {}, { secret: "whsec_*" }, "the secret"],
  ])("refuses %s", async (_, change, options, message) => {
    const { body = BODY, ...changed } = change as { body?: string };
    const { secret = SECRET, now = NOW } = options as { secret?: string; now?: number };
    const headers = { ...createSignatureHeaders([SECRET], "e1", NOW, BODY), ...changed };
    await expect(verifyWebhook({ body, headers }, secret, { now })).rejects.toThrow(message);
  });
});

const SECRET = generateSecret();
