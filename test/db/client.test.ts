import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import {
  classifyError,
  DatabaseFullError,
  type DatabaseOptions,
  DatabaseUnavailableError,
  isDatabaseFault,
  openDb,
  statement,
  violates,
} from "../../src/db/client.ts";
import { failingD1, OVERLOAD_ERRORS, RETRYABLE_ERRORS, wrapD1 } from "../support/d1.ts";
import { FULL_ERRORS } from "../support/full-d1.ts";

/** A database whose first `times` calls fail with a text, before or after they were applied. */
function failing(
  text: string,
  when: "before" | "after",
  times: number,
  options: DatabaseOptions = {},
) {
  const { d1, calls } = failingD1(env.DB, text, when, (n) => n <= times);
  return { database: openDb({ DB: d1 }, undefined, options), calls };
}

beforeAll(async () => {
  await env.DB.exec("CREATE TABLE note (id TEXT PRIMARY KEY, version INTEGER NOT NULL)");
});

describe.each(["before", "after"] as const)("an error %s the statement applied", (when) => {
  it.each(RETRYABLE_ERRORS)("repeats a read: %s", async (text) => {
    const { database, calls } = failing(text, when, 2);
    expect(await database.all("SELECT 7 AS n")).toEqual([{ n: 7 }]);
    expect(calls()).toBe(3);
  });

  it.each(RETRYABLE_ERRORS)("leaves an idempotent batch applied once: %s", async (text) => {
    const id = crypto.randomUUID();
    const { database } = failing(text, when, 2, { writes: "idempotent" });
    await database.batch([
      statement("INSERT INTO note VALUES (?, 1) ON CONFLICT (id) DO NOTHING", id),
    ]);
    expect(await database.all("SELECT version FROM note WHERE id = ?", id)).toEqual([
      { version: 1 },
    ]);
  });

  it.each(RETRYABLE_ERRORS)(
    "never repeats a write that is not declared idempotent: %s",
    async (text) => {
      const { database, calls } = failing(text, when, 1);
      const write = database.batch([
        statement("INSERT INTO note VALUES (?, 1)", crypto.randomUUID()),
      ]);
      await expect(write).rejects.toThrow(DatabaseUnavailableError);
      expect(calls()).toBe(1);
    },
  );

  it.each(OVERLOAD_ERRORS)("does not add load: %s", async (text) => {
    const { database, calls } = failing(text, when, 1, { writes: "idempotent" });
    await expect(database.all("SELECT 1")).rejects.toThrow(DatabaseUnavailableError);
    expect(calls()).toBe(1);
  });
});

it("a mistake in a statement is thrown as it is, at once", async () => {
  const { database, calls } = failing("", "before", 0);
  await expect(database.all("SELECT 1 FROM nowhere")).rejects.toThrow(/no such table/);
  expect(calls()).toBe(1);
});

it.each(FULL_ERRORS)("a write that finds no room is not repeated: %s", async (text) => {
  const { database, calls } = failing(text, "before", 9, { writes: "idempotent" });
  const write = database.batch([statement("INSERT INTO note VALUES (?, 1)", crypto.randomUUID())]);
  const error: unknown = await write.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DatabaseFullError);
  expect(isDatabaseFault(error)).toBe(true);
  expect(calls()).toBe(1);
});

it("a database that never answers is unavailable by the deadline", async () => {
  const hung = wrapD1(env.DB, () => new Promise(() => {}));
  const read = openDb({ DB: hung }, undefined, { deadline: Date.now() + 300 }).all("SELECT 1");
  await expect(read).rejects.toThrow(DatabaseUnavailableError);
});

it("a batch is all or nothing, and a violated guard is recognised by its column", async () => {
  const database = openDb(env);
  const id = crypto.randomUUID();
  await database.batch([statement("INSERT INTO note VALUES (?, 1)", id)]);
  const stale = database
    .batch([
      statement("INSERT INTO note VALUES (?, 1)", `${id}-second`),
      statement("UPDATE note SET version = iif(version = 5, 6, NULL) WHERE id = ?", id),
    ])
    .catch((error: unknown) => error);
  const error = await stale;
  expect(violates(error, "note.version")).toBe(true);
  expect(violates(error, "note.id")).toBe(false);
  expect(classifyError(error)).toBe("refused");
  expect(await database.all("SELECT * FROM note WHERE id = ?", `${id}-second`)).toEqual([]);

  const repeated = await database
    .batch([statement("INSERT INTO note VALUES (?, 1)", id)])
    .catch((thrown: unknown) => thrown);
  expect(violates(repeated, "note.id")).toBe(true);
});
