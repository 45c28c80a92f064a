import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDb, statement } from "../../src/db/client.ts";
import { resealAll } from "../../src/db/reseal.ts";
import { SealError, seal, unseal } from "../../src/db/sealed.ts";
import { SEALED_COLUMNS } from "../../src/db/sealed-columns.ts";
import { emptyTables } from "../support/app.ts";
import { type Around, wrapD1 } from "../support/d1.ts";

const key = (id: string) => `${id}:${btoa(id.padEnd(32, "*"))}`;
const OLD = { SEALING_KEYS: key("old") };
const BOTH = { SEALING_KEYS: `${key("new")},${key("old")}` };
const NEW = { SEALING_KEYS: key("new") };
const HOUR_MS = 60 * 60_000;

/** Writes a row with a sealed value in a column, whatever else the table asks for. */
async function insertSealed(
  { table, column, keyColumns: key, boundTo }: (typeof SEALED_COLUMNS)[number],
  name: string,
  using: typeof OLD,
): Promise<void> {
  const keys = key.map((one) => `${one} of ${name}`);
  const place = { table, id: keys.join(" "), column: boundTo ?? column };
  const value = await seal(using, place, `secret ${name}`);
  const columns = await openDb(env).all<{ name: string; type: string; notnull: number }>(
    `SELECT name, type, "notnull" FROM pragma_table_info('${table}')`,
  );
  const filled = columns.filter(
    (one) => one.notnull || key.includes(one.name) || one.name === column,
  );
  const values = filled.map((one) => {
    if (one.name === column) return value;
    const part = key.indexOf(one.name);
    if (part >= 0) return keys[part];
    // Also JSON, which triggers read of some columns.
    return one.type === "INTEGER" ? 1 : `["${one.name} ${name}"]`;
  });
  await openDb(env).batch([
    statement(
      `INSERT INTO ${table} (${filled.map((one) => one.name).join()})
       VALUES (${values.map(() => "?").join()})`,
      ...values,
    ),
  ]);
}

/** The values of a column, opened; an error in place of one that does not open. */
async function opened(
  { table, column, keyColumns: key, boundTo }: (typeof SEALED_COLUMNS)[number],
  using: typeof OLD,
) {
  const rows = await openDb(env).all<{ id: string; value: string }>(
    `SELECT ${key.join(" || ' ' || ")} AS id, ${column} AS value FROM ${table} ORDER BY 1`,
  );
  return Promise.all(
    rows.map(({ id, value }) =>
      unseal(using, { table, id, column: boundTo ?? column }, value).catch((error: Error) => error),
    ),
  );
}

const run = (using: typeof OLD, now = Date.now(), d1 = env.DB) =>
  resealAll({ ...using, DB: d1 }, now, Date.now() + 10_000);
const SECRETS = SEALED_COLUMNS[0] as (typeof SEALED_COLUMNS)[number];

let lines: { event: string; [field: string]: unknown }[];

beforeEach(async () => {
  await emptyTables();
  lines = [];
  for (const level of ["info", "error"] as const)
    vi.spyOn(console, level).mockImplementation((line: string) => {
      lines.push(JSON.parse(line));
    });
});
afterEach(() => vi.restoreAllMocks());

describe("after a rotation of keys", () => {
  it.each(SEALED_COLUMNS.map((column) => [`${column.table}.${column.column}`, column] as const))(
    "%s opens with the new key alone",
    async (_, column) => {
      await insertSealed(column, "a", OLD);
      await insertSealed(column, "b", BOTH);
      expect(await opened(column, NEW)).toContainEqual(expect.any(SealError));
      await run(BOTH);
      expect(await opened(column, NEW)).toEqual(["secret a", "secret b"]);
    },
  );

  it("goes on where a run was stopped, at any step", async () => {
    const names = Array.from({ length: 120 }, (_, i) => `${i}`.padStart(3, "0"));
    for (const name of names) await insertSealed(SECRETS, name, OLD);
    let steps = 0;
    for (let done = false; !done; steps++) {
      let left = 3;
      const stopping: Around = async (_, work) => {
        if (left-- === 0) throw new Error("stopped here");
        return work();
      };
      done = await run(BOTH, Date.now(), wrapD1(env.DB, stopping)).then(
        () => true,
        () => false,
      );
      if (steps > 20) break;
      const values = await opened(SECRETS, BOTH);
      expect(values).toEqual(names.map((name) => `secret ${name}`));
      if ((await opened(SECRETS, NEW)).every((value) => typeof value === "string")) break;
    }
    expect(steps).toBeGreaterThan(1);
    await run(BOTH);
    expect(await opened(SECRETS, NEW)).toEqual(names.map((name) => `secret ${name}`));
  });

  it("stops at its deadline, and says in the log how far it came", async () => {
    for (let i = 0; i < 60; i++) await insertSealed(SECRETS, `${i}`, OLD);
    await resealAll({ ...BOTH, DB: env.DB }, Date.now(), Date.now());
    expect(lines).toEqual([]);
    await run(BOTH);
    expect(lines.map(({ event, resealed }) => [event, resealed])).toEqual([
      ["reseal.progress", 50],
      ["reseal.progress", 10],
      ["reseal.done", undefined],
    ]);
    expect(JSON.stringify(lines)).not.toContain("secret ");
  });

  it("looks again after an hour for what an older isolate sealed", async () => {
    await run(BOTH);
    const now = Date.now();
    await insertSealed(SECRETS, "late", OLD);
    await run(BOTH, now + HOUR_MS / 2);
    expect(await opened(SECRETS, NEW)).toEqual([expect.any(SealError)]);
    await run(BOTH, now + HOUR_MS);
    expect(await opened(SECRETS, NEW)).toEqual(["secret late"]);
  });

  it("leaves alone what was changed meanwhile", async () => {
    await insertSealed(SECRETS, "a", OLD);
    const changing: Around = async ({ sql }, work) => {
      if (sql.some((one) => one.startsWith("UPDATE payment_source")))
        await env.DB.prepare("UPDATE payment_source SET rpc_provider_api_key = ''").run();
      return work();
    };
    await run(BOTH, Date.now(), wrapD1(env.DB, changing));
    const row = await env.DB.prepare("SELECT rpc_provider_api_key AS value FROM payment_source");
    expect(await row.first("value")).toBe("");
  });

  it("reports what does not open by the id of its key, and seals the rest", async () => {
    await insertSealed(SECRETS, "a", { SEALING_KEYS: key("lost") });
    await insertSealed(SECRETS, "b", OLD);
    await run(BOTH);
    const failures = lines.filter(({ event }) => event === "reseal.unopened");
    expect(failures).toMatchObject([{ id: "id of a", error: expect.stringContaining("key lost") }]);
    expect(await opened(SECRETS, NEW)).toEqual([expect.any(SealError), "secret b"]);
  });
});

describe("a quiet run", () => {
  it("reads one row", async () => {
    await run(NEW);
    const calls: string[] = [];
    const counting: Around = (call, work) => {
      calls.push(...call.sql);
      return work();
    };
    await run(NEW, Date.now(), wrapD1(env.DB, counting));
    expect(calls).toHaveLength(1);
  });
});

describe("a place that a rotation would not reach", () => {
  it.each([
    ["managed_wallet", "note"],
    ["webhook_endpoint", "previous_secret"],
    ["nowhere", "mnemonic"],
  ])("%s.%s takes no secret", async (table, column) => {
    await expect(seal(NEW, { table, id: "a", column }, "secret")).rejects.toThrow(
      `${table}.${column}: is not in SEALED_COLUMNS`,
    );
  });
});
