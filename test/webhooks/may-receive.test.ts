import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { type EventKind, TENANT_EVENT_KINDS } from "../../src/events/event-kinds.ts";
import { emptyTables } from "../support/app.ts";
import { sampled } from "../support/effort.ts";
import { insertKey } from "../support/keys.ts";
import { insertSource } from "../support/sources/sources.ts";
import { arrivals, freshPath, happen, WebhookService } from "../support/webhooks/receivers.ts";

const EVM = "eip155:8453";
const isEvm = (kind: EventKind) => kind.startsWith("X402_");
const KINDS = TENANT_EVENT_KINDS.map((kind) => [kind] as const);

let service: WebhookService;

beforeEach(async () => {
  await emptyTables();
  service = new WebhookService();
  await insertSource("source-a", "Preprod");
  await insertSource("source-b", "Preprod");
});

/** Where events of a kind come from: a source on a network, or for x402 a chain without one. */
const origin = (kind: EventKind) =>
  isEvm(kind) ? { network: EVM, sourceId: null } : { network: "Preprod", sourceId: "source-a" };

/** An endpoint of a new key with these rights, and what arrives there. */
async function endpointOf(key: Parameters<typeof insertKey>[0], fields: object = {}) {
  const path = freshPath();
  const token = await insertKey({
    canPay: true,
    networkLimit: ["Preprod", "Mainnet", EVM],
    ...key,
  });
  const { id } = await service.create(path, fields, token);
  return { id, arrived: async () => (await arrivals(path)).length };
}

describe.each(sampled(4, KINDS))("%s", (kind) => {
  it("reaches who subscribed to it, and nobody else", async () => {
    const subscribed = await endpointOf({}, { Events: [kind] });
    const others = await endpointOf(
      {},
      { Events: TENANT_EVENT_KINDS.filter((one) => one !== kind) },
    );
    await happen([kind], origin(kind));
    await service.settle();
    expect([await subscribed.arrived(), await others.arrived()]).toEqual([1, 0]);
  });

  it("reaches an endpoint for a payment source only when it is that source's", async () => {
    const ofA = await endpointOf({}, { paymentSourceId: "source-a" });
    const ofB = await endpointOf({}, { paymentSourceId: "source-b" });
    await happen([kind], origin(kind));
    await service.settle();
    expect([await ofA.arrived(), await ofB.arrived()]).toEqual([isEvm(kind) ? 0 : 1, 0]);
  });

  it("reaches a key only on a network that it may use, an Admin everywhere", async () => {
    const { network } = origin(kind);
    const other = network === "Preprod" ? "Mainnet" : "Preprod";
    const own = await endpointOf({ networkLimit: [network] });
    const foreign = await endpointOf({ networkLimit: [other] });
    const admin = await endpointOf({ permission: "Admin", networkLimit: [] });
    await happen([kind], origin(kind));
    await service.settle();
    expect([await own.arrived(), await foreign.arrived(), await admin.arrived()]).toEqual([
      1, 0, 1,
    ]);
  });

  it("of one key reaches that key and Admins, and no other key", async () => {
    const own = await endpointOf({ id: "key-own" });
    const other = await endpointOf({ id: "key-other" });
    const admin = await endpointOf({ permission: "Admin" });
    await happen([kind], { ...origin(kind), ownerId: "key-own" });
    await service.settle();
    expect([await own.arrived(), await other.arrived(), await admin.arrived()]).toEqual([1, 0, 1]);
  });

  it.each([
    ["was revoked", "status = 'Revoked'"],
    ["lost +PAY", "can_pay = 0"],
    ["lost the network", "network_limit = '[]'"],
  ])(
    "reaches nobody whose key %s, neither before it is fanned out nor after",
    async (_, change) => {
      const endpoint = await endpointOf({ id: "key-a" });
      const lose = () => env.DB.prepare(`UPDATE api_key SET ${change} WHERE id = 'key-a'`).run();
      const was = await env.DB.prepare(
        "SELECT status, can_pay, network_limit FROM api_key WHERE id = 'key-a'",
      ).first<{ status: string; can_pay: number; network_limit: string }>();
      await lose();
      await happen([kind], origin(kind));
      await service.settle();
      expect(await service.deliveries(endpoint.id)).toEqual([]);

      await env.DB.prepare("UPDATE api_key SET status = ?, can_pay = ?, network_limit = ?")
        .bind(was?.status, was?.can_pay, was?.network_limit)
        .run();
      await happen([kind], origin(kind));
      await service.wake();
      await lose();
      await service.drain();
      expect(await service.deliveries(endpoint.id)).toMatchObject([
        { status: "Cancelled", error: "the webhook may no longer receive this event" },
      ]);
      expect(await endpoint.arrived()).toBe(0);
    },
  );
});

describe("the key of the environment", () => {
  it("gets nothing any more once the secret is gone", async () => {
    const path = freshPath();
    await service.create(path);
    const { ADMIN_KEY: _, ...withoutKey } = service.env;
    const without = new WebhookService();
    Object.assign(without, { env: withoutKey });
    await happen(["PAYMENT_ON_ERROR"], origin("PAYMENT_ON_ERROR"));
    await without.settle();
    expect(await arrivals(path)).toEqual([]);
  });
});

describe("an event kind that is dropped by PATCH", () => {
  it("is not sent any more, also not what is open", async () => {
    const path = freshPath();
    const { id: webhookId } = await service.create(path);
    await happen(["PAYMENT_ON_ERROR"], origin("PAYMENT_ON_ERROR"));
    await service.wake();
    await service.ask("PATCH", "", { webhookId, Events: ["X402_PAYMENT_FAILED"] });
    await service.drain();
    expect(await arrivals(path)).toEqual([]);
  });
});
