import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb, statement } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";
import { call, emptyTables } from "../support/app.ts";

const DAY_MS = 24 * 60 * 60_000;
const START = Date.parse("2026-01-01");

interface Entry {
  id: string;
  at: string;
  apiKeyId: string;
  action: string;
  detail: object | null;
}

/** One entry a day, by two keys in turn, every third another action. */
async function insertEntries(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, day) => newId(START + day * DAY_MS));
  await openDb(env).batch(
    ids.map((id, day) =>
      statement(
        `INSERT INTO audit (id, at, api_key_id, request_id, action, target, detail)
         VALUES (?, ?, ?, 'request', ?, 'target', ?)`,
        id,
        START + day * DAY_MS,
        day % 2 ? "key-odd" : "key-even",
        day % 3 ? "thing.update" : "thing.create",
        day % 2 ? '{"changed":["note"]}' : null,
      ),
    ),
  );
  return ids;
}

async function list(query: string): Promise<Entry[]> {
  const answer = await call(`/api/v1/audit?${query}`);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { data: { AuditEntries: Entry[] } }).data.AuditEntries;
}

const days = (entries: Entry[]) =>
  entries.map(({ at }) => (Date.parse(at) - START) / DAY_MS).join(" ");

beforeEach(emptyTables);

describe("GET /audit 200", () => {
  it("pages newest first, after the last id seen", async () => {
    const ids = await insertEntries(5);
    expect(await list("limit=2")).toEqual([
      expect.objectContaining({ id: ids[4], detail: null, apiKeyId: "key-even" }),
      expect.objectContaining({ id: ids[3], detail: { changed: ["note"] } }),
    ]);
    expect(days(await list(`limit=2&cursorId=${ids[3]}`))).toBe("2 1");
    expect(days(await list(`limit=2&cursorId=${ids[0]}`))).toBe("");
  });

  it.each([
    ["apiKeyId=key-odd", "5 3 1"],
    ["action=thing.create", "3 0"],
    ["apiKeyId=key-odd&action=thing.create", "3"],
    ["after=2026-01-03", "5 4 3 2"],
    ["before=2026-01-03", "1 0"],
    ["after=2026-01-02&before=2026-01-05", "3 2 1"],
    ["after=2026-01-02T00:00:00.001Z&before=2026-01-03T00:00:00.001Z", "2"],
    ["after=1900-01-01&apiKeyId=nobody", ""],
  ])("finds by %s", async (query, found) => {
    await insertEntries(6);
    expect(days(await list(query))).toBe(found);
  });

  it("shows what was just done, and by whom", async () => {
    const made = await call("/api/v1/api-key", { method: "POST", body: '{"canPay":true}' });
    const [entry, ...rest] = await list("");
    expect(rest).toEqual([]);
    expect(entry).toMatchObject({
      apiKeyId: "env-admin",
      requestId: made.headers.get("x-request-id"),
      action: "api-key.create",
      detail: { canPay: true },
    });
  });
});
