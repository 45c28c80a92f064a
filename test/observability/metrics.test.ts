import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import guide from "../../docs/monitoring.md?raw";
import alerts from "../../examples/prometheus-alerts.yml?raw";
import { newId } from "../../src/db/id.ts";
import { seal } from "../../src/db/sealed.ts";
import { renderOpenMetrics } from "../../src/observability/open-metrics.ts";
import { findBudgetObject } from "../../src/sources/provider.ts";
import { toProviderKeyEncryptionContext } from "../../src/sources/source-row.ts";
import { app, emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { insertRows } from "../support/insert-rows.ts";
import { insertFollowed } from "../support/sources/sources.ts";

const MINUTE = 60_000;
const CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8";

async function metrics(DB = env.DB): Promise<string> {
  const headers = { token: env.ADMIN_KEY ?? "" };
  const answer = await app.request("/api/v1/metrics", { headers }, { ...env, DB });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, CONTENT_TYPE]);
  return answer.text();
}

/** The value of a figure, which has these labels and maybe others. */
function figure(text: string, name: string, labels: Record<string, string> = {}): number | null {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = text
    .split("\n")
    .find((one) => new RegExp(`^${name}[{ ]`).test(one) && wanted.every((it) => one.includes(it)));
  return line === undefined ? null : Number(line.slice(line.lastIndexOf(" ")));
}

beforeEach(emptyTables);

describe("GET /metrics", () => {
  it("is text of OpenMetrics: families with a type, a help and figures, and an end", async () => {
    await insertFollowed("a");
    const text = await metrics();
    const lines = text.split("\n");
    expect(lines.slice(-2)).toEqual(["# EOF", ""]);
    const families = lines.flatMap(
      (line) => /^# TYPE (\S+) (gauge|counter)$/.exec(line)?.[1] ?? [],
    );
    expect(families.length).toBeGreaterThan(10);
    expect(new Set(families).size).toBe(families.length);
    const listed = (name: string) => guide.includes(`\`${name.replace("agent_payment_", "")}`);
    expect(families.filter((name) => !listed(name))).toEqual([]);
    const alerted = alerts.match(/agent_payment_\w+/g) ?? [];
    expect(alerted.length).toBeGreaterThan(5);
    expect(alerted.filter((name) => !families.includes(name))).toEqual([]);
    for (const family of families)
      expect(lines.filter((line) => line.startsWith(`# HELP ${family} `))).toHaveLength(1);
    const figures = lines.slice(0, -2).filter((line) => !line.startsWith("# "));
    const form = /^agent_payment_[a-z_]+(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? \d+(\.\d+)?$/;
    expect(figures.filter((line) => !form.test(line))).toEqual([]);
  });

  it("tells of the sync, what waits, what is under way, and of the records", async () => {
    const now = Date.now();
    const network = "Preprod";
    await insertFollowed("a", network, now - 2 * MINUTE);
    const task = { network, feature: "transfer", due_at: now, requested_at: now - MINUTE };
    await insertRows("wallet_task", [
      { ...task, subject_id: "t1" },
      { ...task, subject_id: "t2", requested_at: now - 3 * MINUTE },
      { ...task, subject_id: "t3", reason_code: "provider" },
      { ...task, subject_id: "t4", reason_code: "funds", attempts: 2 },
      { ...task, subject_id: "t5", due_at: null },
      { ...task, subject_id: "r1", feature: "registration" },
    ]);
    await insertRows("registration", [
      { id: "r1", network, kind: "Agent", state: "DeregistrationRequested", due_at: now },
      { id: "r2", network, kind: "Agent", state: "RegistrationConfirmed" },
      { id: "r3", network, kind: "Agent", state: "RegistrationFailed" },
    ]);
    await insertRows("wallet_transaction", [
      { hash: "aa", network, phase: "Sent", due_at: now, created_at: now - MINUTE },
      { hash: "bb", network, phase: "Final" },
    ]);
    const record = { network, side: "payment" };
    await insertRows("escrow", [
      { ...record, id: "e1", on_chain_state: "FundsLocked", identifier_hash: "1" },
      { ...record, id: "e2", on_chain_state: "FundsLocked", identifier_hash: "2" },
      {
        ...record,
        id: "e3",
        side: "purchase",
        identifier_hash: "3",
        due_at: now - MINUTE,
        error: '{"type":"InsufficientFunds"}',
        requested_action: "WaitingForExternalAction",
        error_type: "InsufficientFunds",
      },
      {
        ...record,
        id: "e4",
        side: "purchase",
        identifier_hash: "4",
        wallet_removed: 1,
        requested_action: "WaitingForManualAction",
        error_type: "Unknown",
      },
    ]);
    await insertRows("registry_entry", [{ id: "g1", network, status: "Online" }]);
    const text = await metrics();
    const of = (name: string, labels = {}) => figure(text, `agent_payment_${name}`, labels);
    const lag = of("sync_lag_seconds", { kind: "payment", source: "a" }) ?? 0;
    expect(lag).toBeGreaterThanOrEqual(120);
    expect(lag).toBeLessThan(240);
    const transfers = (reason: string) => of("tasks_waiting", { feature: "transfer", reason });
    expect(["turn", "provider", "funds", "failing"].map(transfers)).toEqual([2, 1, 1, null]);
    const oldest = { feature: "transfer", reason: "turn" };
    expect(of("tasks_oldest_seconds", oldest)).toBeGreaterThanOrEqual(180);
    expect(of("tasks_waiting", { feature: "registration" })).toBe(1);
    expect(of("tasks_waiting", { feature: "escrow" })).toBe(1);
    expect(of("transactions_under_way", { phase: "Sent" })).toBe(1);
    expect(of("transactions_under_way", { phase: "Final" })).toBeNull();
    expect(of("records", { ...record, state: "FundsLocked" })).toBe(2);
    expect(of("records", { network, side: "purchase", state: "" })).toBe(2);
    expect(of("records", { network: "Mainnet", side: "payment", state: "FundsLocked" })).toBe(0);
    expect(of("records_with_error", { network, type: "InsufficientFunds" })).toBe(1);
    expect(of("records_with_error", { network, type: "Unknown" })).toBe(1);
    expect(of("agents", { network, state: "Online" })).toBe(1);
    expect(of("registrations_failed", { network, kind: "Agent" })).toBe(1);
    expect(of("registrations_failed", { network, kind: "InboxAgent" })).toBeNull();
  });

  it("tells of deliveries and settlements", async () => {
    const now = Date.now();
    await insertRows("event", [
      { seq: 1, id: newId(now) },
      { seq: 2, id: newId(now) },
    ]);
    await env.DB.prepare(
      "INSERT INTO event_cursor (id, seq) SELECT 1, max(seq) - 1 FROM event",
    ).run();
    await insertRows("webhook_endpoint", [
      { id: "on", is_active: 1 },
      { id: "off", disabled_at: now, target_hash: "off" },
    ]);
    const delivery = { endpoint_id: "on", kind: "PAYMENT_ON_ERROR" };
    await insertRows("webhook_delivery", [
      { ...delivery, event_id: newId(now), status: "Pending", due_at: now - MINUTE },
      { ...delivery, event_id: newId(now), status: "Retrying", due_at: now + MINUTE },
      { ...delivery, event_id: newId(now), status: "Success" },
      { ...delivery, event_id: newId(now - 120 * MINUTE), status: "Success" },
    ]);
    await insertRows("x402_payment_attempt", [
      { id: newId(now), direction: "InboundSettle", status: "Verified", updated_at: now - MINUTE },
    ]);
    await insertRows("x402_settlement", [
      { id: newId(now), attempt_id: "1", success: 1 },
      { id: newId(now), attempt_id: "2" },
      { id: newId(now - 120 * MINUTE), attempt_id: "3", success: 1 },
    ]);
    const text = await metrics();
    const of = (name: string, labels = {}) => figure(text, `agent_payment_${name}`, labels);
    expect(of("events_undispatched")).toBe(1);
    expect([of("webhooks", { state: "active" }), of("webhooks", { state: "disabled" })]).toEqual([
      1, 1,
    ]);
    expect([
      of("deliveries_open", { due: "now" }),
      of("deliveries_open", { due: "later" }),
    ]).toEqual([1, 1]);
    expect(of("deliveries_oldest_due_seconds")).toBeGreaterThanOrEqual(60);
    expect(of("deliveries_last_hour", { status: "Success" })).toBe(1);
    expect([of("settlements_open"), of("settlements_last_hour", { success: "true" })]).toEqual([
      1, 1,
    ]);
  });

  it("tells of the provider's calls by class, of each key once, and never the key", async () => {
    const key = `preprod-${crypto.randomUUID()}`;
    for (const id of ["a", "b"]) {
      await insertFollowed(id);
      await env.DB.prepare("UPDATE payment_source SET rpc_provider_api_key = ? WHERE id = ?")
        .bind(await seal(env, toProviderKeyEncryptionContext(id), key), id)
        .run();
    }
    const budget = await findBudgetObject(env, "Preprod", key);
    await budget.lease(3, "sync");
    await budget.lease(2, "wallet");
    const text = await metrics();
    const calls = (by: string) =>
      figure(text, "agent_payment_provider_calls_total", { network: "Preprod", class: by });
    expect([calls("sync"), calls("wallet"), calls("read")]).toEqual([3, 2, null]);
    expect(text).not.toContain(key);

    const left = async (sourceId: string) => {
      const headers = { token: env.ADMIN_KEY ?? "" };
      const path = `/api/v1/provider-budget?sourceId=${sourceId}`;
      const answer = await app.request(path, { headers }, env);
      expect(await answer.clone().text()).not.toContain(key);
      return (await answer.json()) as { data: { Classes: { class: string }[] } };
    };
    const { data } = await left("b");
    expect(data).toMatchObject({ sourceId: "b", usedToday: 5, stoppedUntil: null });
    const [ofDeadlines] = data.Classes;
    expect(ofDeadlines).toMatchObject({ class: "deadline", usedToday: 0, availableAt: null });
    expect(data.Classes).toContainEqual(expect.objectContaining({ class: "sync", usedToday: 3 }));
    const until = Date.now() + 60 * MINUTE;
    await budget.refuse(until);
    const stopped = { usedToday: 5, stoppedUntil: new Date(until).toISOString() };
    expect((await left("a")).data).toMatchObject({
      ...stopped,
      Classes: data.Classes.map((one) => ({
        class: one.class,
        availableNow: 0,
        availableAt: stopped.stoppedUntil,
      })),
    });
    await env.DB.prepare("UPDATE payment_source SET rpc_provider_api_key = 'k0:lost'").run();
    expect(await left("a")).toMatchObject({ error: { code: "wrong_state", field: "sourceId" } });
    expect(await left("c")).toMatchObject({ error: { code: "not_found" } });
  });

  it("reads large tables along their indexes", async () => {
    await insertFollowed("a");
    const asked = new Set<string>();
    const DB = wrapD1(env.DB, async ({ sql }, run) => {
      for (const one of sql) asked.add(one);
      return run();
    });
    await metrics(DB);
    const large =
      /^SCAN (escrow|transfer|registration|registry_entry|wallet_transaction|webhook_delivery|d|event|x402_\w+)\b(?! USING)/;
    const scans: string[] = [];
    for (const sql of asked) {
      const numbered = Math.max(0, ...[...sql.matchAll(/\?(\d+)/g)].map(([, n]) => Number(n)));
      const count = numbered || (sql.match(/\?/g) ?? []).length;
      const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .bind(...Array(count).fill(null))
        .all<{ detail: string }>();
      scans.push(...results.flatMap(({ detail }) => (large.test(detail) ? [detail] : [])));
    }
    expect(asked.size).toBeGreaterThan(15);
    expect(scans).toEqual([]);
  });
});

describe("renderOpenMetrics", () => {
  it("escapes what labels hold, and names counters and units as the format asks", () => {
    const samples = [{ labels: { of: 'a"b\\c\nd' }, value: 1.5 }];
    expect(
      renderOpenMetrics([
        { name: "calls", type: "counter", help: "Calls.", samples },
        { name: "age_seconds", help: "Age.", samples: [] },
      ]),
    ).toBe(
      [
        "# TYPE agent_payment_calls counter",
        "# HELP agent_payment_calls Calls.",
        'agent_payment_calls_total{of="a\\"b\\\\c\\nd"} 1.5',
        "# TYPE agent_payment_age_seconds gauge",
        "# UNIT agent_payment_age_seconds seconds",
        "# HELP agent_payment_age_seconds Age.",
        "# EOF",
        "",
      ].join("\n"),
    );
  });
});
