import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newId } from "../../../src/db/id.ts";
import { dispatchEvents } from "../../../src/webhooks/delivery/dispatch-events.ts";
import { call, emptyTables } from "../../support/app.ts";
import { countingD1, serialD1, wrapD1 } from "../../support/d1.ts";
import { runs } from "../../support/effort.ts";
import { insertRows } from "../../support/insert-rows.ts";
import { insertKey } from "../../support/keys.ts";
import { happen, WebhookService } from "../../support/webhooks/receivers.ts";
import { Fuse, steppedService } from "../../support/webhooks/steps.ts";

const KINDS = ["PURCHASE_ON_ERROR", "X402_PAYMENT_SETTLED"] as const;
const [KIND] = KINDS;
const NETWORKS = ["Preprod", "Mainnet"];
const SOURCES = ["source-a", "source-b", null];
const KEYS = ["key-admin", "key-any", "key-bound", "key-preprod"];
const WALLETS = ["wallet-a", "wallet-b", "wallet-c"];

/**
 * Of an event with one delivery. D1 counts rows of tables and indexes, of JSON arrays and subqueries, and those
 * that a statement returns.
 */
const MAX_ROWS_READ = 17;

let service: WebhookService;

beforeEach(async () => {
  await emptyTables();
  service = new WebhookService();
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

interface Endpoint {
  id: string;
  created_by_id: string;
  source_id: string | null;
  events: string;
  is_active: number;
}

interface Event {
  id: string;
  kind: string;
  network: string;
  source_id: string | null;
  owner_id: string | null;
  wallet_ids: string | null;
}

const endpointRow = (fields: Partial<Endpoint> & { id: string }) => ({
  created_by_id: "env-admin",
  target_hash: fields.id,
  events: JSON.stringify([KIND]),
  is_active: 1,
  ...fields,
});

async function deliveries(): Promise<string[]> {
  const { results } = await env.DB.prepare(
    "SELECT event_id || ' ' || endpoint_id AS one FROM webhook_delivery",
  ).all<{ one: string }>();
  return results.map(({ one }) => one).sort();
}

/** Writes events that follow the last. */
async function insertEvents(events: readonly Omit<Event, "id">[]): Promise<Event[]> {
  const rows = events.map((event) => ({ ...event, id: newId(Date.now()) }));
  const last = await env.DB.prepare("SELECT ifnull(max(seq), 0) AS n FROM event").first<number>(
    "n",
  );
  await insertRows(
    "event",
    rows.map((row, i) => ({ ...row, seq: (last ?? 0) + i + 1, created_at: Date.now() })),
  );
  return rows;
}

const PLAIN = { kind: KIND, network: "Preprod", owner_id: null, wallet_ids: null };

describe("with 1,000 endpoints, of which each event matches one", () => {
  const cases = [
    ["source", (i: number) => ({ source_id: `source-${i}` })],
    ["key", (i: number) => ({ created_by_id: `key-${i}` })],
    ["wallet", (i: number) => ({ created_by_id: `bound-${i}` })],
  ] as const;

  it.each(cases)("a fan-out by %s reads few rows, in one call", async (by, fieldsOf) => {
    const key = { status: "Active", permission: "User", can_pay: 1, network_limit: '["Preprod"]' };
    const numbers = Array.from({ length: 1_000 }, (_, i) => i);
    for (const [name, limitOf] of [
      ["key", () => null],
      ["bound", (i: number) => `["wallet-${i}"]`],
    ] as const)
      await insertRows(
        "api_key",
        numbers.map((i) => ({
          ...key,
          id: `${name}-${i}`,
          token_hash: `${name}-${i}`,
          wallet_limit: limitOf(i),
        })),
      );
    await insertRows(
      "webhook_endpoint",
      numbers.map((i) => endpointRow({ id: `endpoint-${i}`, ...fieldsOf(i) })),
    );
    await insertEvents(
      numbers.slice(0, 15).map((i) => ({
        ...PLAIN,
        source_id: by === "source" ? `source-${i}` : "other",
        owner_id: by === "key" ? `key-${i}` : null,
        wallet_ids: by === "wallet" ? `["wallet-${i}"]` : null,
      })),
    );
    const { d1, rowsRead } = countingD1(env.DB);
    const serial = serialD1(d1);
    await dispatchEvents({ ...service.env, DB: serial.d1 }, "test");
    expect(await deliveries()).toHaveLength(15);
    expect(serial.callsInSeries()).toBe(1);
    expect(rowsRead() / 15).toBeLessThanOrEqual(MAX_ROWS_READ);
  });
});

describe("dispatchers that run in parallel", () => {
  it("fan out each event once, and leave none", async () => {
    await service.create("/parallel", { Events: [KIND] });
    await happen(Array(100).fill(KIND));
    await Promise.all([service.wake(), service.wake(), service.wake()]);
    expect(await deliveries()).toHaveLength(100);
    const { n } = (await env.DB.prepare(
      "SELECT max(seq) - (SELECT seq FROM event_cursor) AS n FROM event",
    ).first<{ n: number }>()) ?? { n: -1 };
    expect(n).toBe(0);
  });
});

describe("events that the database refuses to fan out", () => {
  it("are set aside with the reason, and hold up no other", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    await insertKey({ id: "key-bound", canPay: true, walletLimit: ["wallet-a"] });
    await insertRows("webhook_endpoint", [endpointRow({ id: "one" })]);
    const events = await insertEvents(
      Array.from({ length: 60 }, (_, i) => ({
        ...PLAIN,
        source_id: null,
        wallet_ids: i === 7 || i === 43 ? "{corrupt" : '["wallet-a"]',
      })),
    );
    await Promise.all([service.wake(), service.wake()]);
    while (service.wakes > 0) {
      service.wakes = 0;
      await service.wake();
    }
    const good = events.filter((_, i) => i !== 7 && i !== 43);
    expect(await deliveries()).toEqual(good.map(({ id }) => `${id} one`).sort());
    const { results } = await env.DB.prepare(
      "SELECT seq, dispatch_error AS reason FROM event WHERE dispatch_error IS NOT NULL ORDER BY seq",
    ).all();
    const reason = expect.stringContaining("malformed JSON");
    expect(results).toEqual([
      { seq: 8, reason },
      { seq: 44, reason },
    ]);
    const { data } = (await (await call("/api/v1/health")).json()) as { data: object };
    expect(data).toMatchObject({
      status: "degraded",
      reasons: [
        { kind: "EVENTS_SET_ASIDE", count: 2, text: expect.stringContaining("malformed JSON") },
      ],
    });
    const metrics = await (await call("/api/v1/metrics")).text();
    expect(metrics).toContain("agent_payment_events_set_aside 2\n");
  });

  it("stay in their place while the database itself fails", async () => {
    await insertRows("webhook_endpoint", [endpointRow({ id: "one" })]);
    await insertEvents([{ ...PLAIN, source_id: null }]);
    const DB = wrapD1(env.DB, async () => {
      throw new Error("D1_ERROR: no such table: webhook_subscription: SQLITE_ERROR");
    });
    await expect(dispatchEvents({ ...service.env, DB }, "test")).rejects.toThrow("no such table");
    await service.wake();
    expect(await deliveries()).toHaveLength(1);
  });
});

const endpointFields = fc.record({
  created_by_id: fc.constantFrom("env-admin", ...KEYS),
  source_id: fc.constantFrom(...SOURCES),
  events: fc.subarray([...KINDS]).map((kinds) => JSON.stringify(kinds)),
  is_active: fc.constantFrom(1, 1, 1, 0),
});
const eventFields = fc.record({
  kind: fc.constantFrom(...KINDS),
  network: fc.constantFrom(...NETWORKS),
  source_id: fc.constantFrom(...SOURCES),
  owner_id: fc.constantFrom(null, null, ...KEYS),
  wallet_ids: fc.option(fc.subarray(WALLETS).map((ids) => JSON.stringify(ids))),
});
const keyFields = fc.record({
  permission: fc.constantFrom("User", "User", "Admin"),
  status: fc.constantFrom("Active", "Active", "Revoked"),
  can_pay: fc.constantFrom(1, 1, 0),
  network_limit: fc.subarray(NETWORKS).map((names) => JSON.stringify(names)),
  wallet_limit: fc.option(fc.subarray(WALLETS).map((ids) => JSON.stringify(ids))),
});
type Key = typeof keyFields extends fc.Arbitrary<infer T> ? T : never;

const endpointNumber = fc.nat({ max: 5 });
const step = fc.oneof(
  fc.record({ put: endpointNumber, fields: endpointFields }),
  fc.record({ softDelete: endpointNumber }),
  fc.record({ purge: endpointNumber }),
  fc.record({ key: fc.constantFrom(...KEYS), fields: keyFields }),
  fc.record({
    events: fc.array(eventFields, { minLength: 1, maxLength: 30 }),
    crash: fc.option(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom("before", "after"))),
  }),
);

/** Whether an endpoint may receive an event, as docs/webhooks.md says it. */
function mayReceive(endpoint: Endpoint, key: Key | undefined, event: Event): boolean {
  if (!endpoint.is_active || !JSON.parse(endpoint.events).includes(event.kind)) return false;
  if (endpoint.source_id !== null && endpoint.source_id !== event.source_id) return false;
  if (endpoint.created_by_id === "env-admin") return true;
  if (key?.status !== "Active") return false;
  if (key.permission === "Admin") return true;
  if (!key.can_pay || !JSON.parse(key.network_limit).includes(event.network)) return false;
  if (event.owner_id !== null) return event.owner_id === endpoint.created_by_id;
  if (key.wallet_limit === null) return true;
  const wallets: string[] = JSON.parse(event.wallet_ids ?? "[]");
  const limit: string[] = JSON.parse(key.wallet_limit);
  return wallets.length > 0 && wallets.every((id) => limit.includes(id));
}

async function update(table: string, id: string, fields: object): Promise<void> {
  const columns = Object.keys(fields).map((name) => `${name} = ?`);
  await env.DB.prepare(`UPDATE ${table} SET ${columns.join(", ")} WHERE id = ?`)
    .bind(...Object.values(fields), id)
    .run();
}

describe("whatever endpoints and keys change, and wherever a dispatcher dies", () => {
  it("an event has a delivery for each endpoint that may receive it, and no other", async () => {
    const property = async (steps: (typeof step extends fc.Arbitrary<infer T> ? T : never)[]) => {
      await emptyTables();
      const fuse = new Fuse();
      const mortal = steppedService(fuse.step);
      const endpoints = new Map<string, Endpoint>();
      const keys = new Map<string, Key>();
      for (const id of KEYS) {
        await insertKey({ id, canPay: true });
        const fields = { permission: "User", status: "Active", can_pay: 1 } as const;
        const key = { ...fields, network_limit: '["Preprod"]', wallet_limit: null };
        await update("api_key", id, key);
        keys.set(id, key);
      }
      const expected: string[] = [];
      for (const one of steps) {
        if ("put" in one) {
          const endpoint = { id: `endpoint-${one.put}`, ...one.fields };
          if (endpoints.has(endpoint.id)) await update("webhook_endpoint", endpoint.id, one.fields);
          else await insertRows("webhook_endpoint", [endpointRow(endpoint)]);
          endpoints.set(endpoint.id, endpoint);
          await update("webhook_endpoint", endpoint.id, { deleted_at: null });
        } else if ("softDelete" in one) {
          const id = `endpoint-${one.softDelete}`;
          await update("webhook_endpoint", id, { deleted_at: 1, is_active: 0 });
          const endpoint = endpoints.get(id);
          if (endpoint) endpoint.is_active = 0;
        } else if ("purge" in one) {
          const id = `endpoint-${one.purge}`;
          await env.DB.prepare("DELETE FROM webhook_endpoint WHERE id = ?").bind(id).run();
          endpoints.delete(id);
        } else if ("key" in one) {
          await update("api_key", one.key, one.fields);
          keys.set(one.key, one.fields);
        } else {
          const events = await insertEvents(one.events);
          for (const event of events)
            for (const endpoint of endpoints.values())
              if (mayReceive(endpoint, keys.get(endpoint.created_by_id), event))
                expected.push(`${event.id} ${endpoint.id}`);
          if (one.crash) {
            fuse.light(one.crash[0], one.crash[1] as "before" | "after");
            await Promise.allSettled([mortal.wake(), mortal.wake()]);
            fuse.putOut();
          }
          await Promise.all([service.wake(), service.wake()]);
        }
      }
      expect(await deliveries()).toEqual(expected.sort());
    };
    for (const level of ["warn", "error"] as const)
      vi.spyOn(console, level).mockImplementation(() => {});
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), property),
      runs(10, 60),
    );
  });
});
