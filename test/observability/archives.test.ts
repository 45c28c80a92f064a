/** Archives that wait for a person, as callers, operators and Admins' receivers see them. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { moveFinalRecords } from "../../src/archive/move-records.ts";
import type { Env } from "../../src/env.ts";
import { MOVED_ESCROWS } from "../../src/escrow/store/archived-escrows.ts";
import { checkService } from "../../src/observability/check-service.ts";
import { app, emptyTables } from "../support/app.ts";
import { ARCHIVES, emptyArchives, makeFinal, NO_ARCHIVES } from "../support/archives.ts";
import { wrapD1 } from "../support/d1.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";
import { holdEventsToTheDocument } from "../support/webhooks/declared.ts";
import { arrivals, freshPath, WebhookService } from "../support/webhooks/receivers.ts";

const MINUTE = 60_000;
const { ARCHIVE_1, ARCHIVE_2 } = ARCHIVES;

let service: WebhookService;
let path: string;

holdEventsToTheDocument([
  "ARCHIVE_NEEDED",
  "ARCHIVE_BEHIND",
  "ARCHIVE_UNBOUND",
  "ARCHIVE_UNMIGRATED",
]);
beforeEach(async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  await emptyTables();
  await emptyArchives();
  service = new WebhookService();
  path = freshPath();
  await service.create(path);
  const writer = await Writer.create(env.DB);
  await writer.change([makeRecord("payment")], Date.now(), "Withdrawn");
  await makeFinal();
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** The service with archives. */
const bind = (archives: Partial<Env>): Env => ({ ...service.env, ...archives });

async function move(of: Env): Promise<void> {
  const now = Date.now();
  const bindings = { ...of, ARCHIVE_AFTER_MINUTES: "0" };
  await moveFinalRecords(bindings, [MOVED_ESCROWS], now + 1_000, now + MINUTE);
}

/** The cron's check, and all deliveries that it causes. @returns the events of archives that Admins received */
async function check(of: Env) {
  await checkService(of, "test", Date.now());
  await service.settle();
  const all = await arrivals(path);
  return all
    .map(({ body }) => JSON.parse(body) as { type: string; data: { binding: string } })
    .filter(({ type }) => type.startsWith("ARCHIVE_"))
    .map(({ type, data }) => [type, data.binding]);
}

async function ask(of: Env, at: string): Promise<Response> {
  return app.request(`/api/v1${at}`, { headers: { token: env.ADMIN_KEY ?? "" } }, of);
}

async function reasons(of: Env): Promise<unknown> {
  const answer = await ask(of, "/health");
  return ((await answer.json()) as { data: { reasons: unknown } }).data.reasons;
}

/** The archive, which D1 says is full. */
const full = (archive: D1Database) =>
  wrapD1(archive, async (_, run) => {
    const result = await run();
    for (const { meta } of result as D1Result[]) meta.size_after = 9e9;
    return result;
  });

const failing = (archive: D1Database) =>
  wrapD1(archive, () => Promise.reject(new Error("D1_ERROR: the archive does not answer")));

it("ARCHIVE_NEEDED names the next archive while all are full, once, and a full one before it is none", async () => {
  expect(await check(bind({ ARCHIVE_1: full(ARCHIVE_1), ARCHIVE_2 }))).toEqual([]);
  const needed = bind({ ARCHIVE_1: full(ARCHIVE_1) });
  await check(needed);
  const reported = [["ARCHIVE_NEEDED", "ARCHIVE_2"]];
  expect(await check(needed)).toEqual(reported);
  const reason = {
    kind: "ARCHIVE_NEEDED",
    count: 1,
    text: "All archives are full: bind ARCHIVE_2.",
  };
  expect(await reasons(needed)).toEqual([reason]);
  const metrics = await (await ask(needed, "/metrics")).text();
  expect(metrics).toMatch(/^agent_payment_incidents\{kind="ARCHIVE_NEEDED"\} 1$/m);
  expect(metrics).toMatch(/^agent_payment_database_bytes\{database="ARCHIVE_1"\} 9000000000$/m);

  // An archive that does not answer ends nothing.
  expect(await check(bind({ ARCHIVE_1: failing(ARCHIVE_1) }))).toEqual(reported);
  expect(await reasons(needed)).toEqual([reason]);
  await check(bind({ ARCHIVE_1: full(ARCHIVE_1), ARCHIVE_2 }));
  expect(await reasons(needed)).toEqual([]);
});

it("ARCHIVE_UNBOUND names an archive with escrows that is not bound, before the cron knows", async () => {
  const bound = bind({ ARCHIVE_1 });
  const unbound = bind(NO_ARCHIVES);
  await move(bound);
  expect(await check(bound)).toEqual([]);
  expect(await reasons(unbound)).toEqual([
    { kind: "ARCHIVE_UNBOUND", count: 1, text: "Bind again: ARCHIVE_1." },
  ]);
  expect((await ask(unbound, "/payment?network=Preprod")).status).toBe(503);
  expect(await check(unbound)).toEqual([["ARCHIVE_UNBOUND", "ARCHIVE_1"]]);
  expect(await reasons(bound)).toEqual([]);
  expect((await ask(bound, "/payment?network=Preprod")).status).toBe(200);
});

it("ARCHIVE_BEHIND names an archive that was set back, until it is put forward", async () => {
  const bound = bind({ ARCHIVE_1, ARCHIVE_2 });
  await move(bound);
  expect(await check(bound)).toEqual([]);
  const saved = await ARCHIVE_1.prepare("SELECT * FROM archive_operation").first<{
    operation: number;
  }>();
  await ARCHIVE_1.prepare("UPDATE archive_operation SET operation = operation - 1").run();
  expect(await check(bound)).toEqual([["ARCHIVE_BEHIND", "ARCHIVE_1"]]);
  expect(await reasons(bound)).toEqual([
    { kind: "ARCHIVE_BEHIND", count: 1, text: "Put forward again: ARCHIVE_1." },
  ]);
  await ARCHIVE_1.prepare("UPDATE archive_operation SET operation = ?")
    .bind(saved?.operation)
    .run();
  await check(bound);
  expect(await reasons(bound)).toEqual([]);
});

it.each([
  [
    "a table",
    "ALTER TABLE escrow_request RENAME TO escrow_note",
    "ALTER TABLE escrow_note RENAME TO escrow_request",
  ],
  [
    "a column",
    "ALTER TABLE escrow RENAME COLUMN charge TO price",
    "ALTER TABLE escrow RENAME COLUMN price TO charge",
  ],
])(
  "ARCHIVE_UNMIGRATED names an archive that lacks %s, until it is migrated",
  async (_, unmigrate, migrate) => {
    const bound = bind({ ARCHIVE_1, ARCHIVE_2 });
    await ARCHIVE_2.prepare(unmigrate).run();
    expect(await check(bound)).toEqual([["ARCHIVE_UNMIGRATED", "ARCHIVE_2"]]);
    expect(await reasons(bound)).toEqual([
      { kind: "ARCHIVE_UNMIGRATED", count: 1, text: "Run migrate:remote for ARCHIVE_2." },
    ]);
    // Others go on.
    await move(bound);
    expect((await ask(bound, "/payment?network=Preprod")).status).toBe(200);
    await ARCHIVE_2.prepare(migrate).run();
    await check(bound);
    expect(await reasons(bound)).toEqual([]);
  },
);
