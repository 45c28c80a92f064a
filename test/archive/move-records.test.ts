import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { MOVED_AUDIT } from "../../src/api-keys/archived-audit.ts";
import { moveFinalRecords } from "../../src/archive/move-records.ts";
import { openDb } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";
import type { EscrowRecord } from "../../src/escrow/model/escrow-record.ts";
import { MOVED_ESCROWS } from "../../src/escrow/store/archived-escrows.ts";
import { emptyTables } from "../support/app.ts";
import {
  ARCHIVES,
  emptyArchives,
  makeFinal,
  NO_ARCHIVES,
  readArchive,
  UNASKED_ARCHIVE,
} from "../support/archives.ts";
import { sweep } from "../support/effort.ts";
import { insertRows } from "../support/insert-rows.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";
import { stopMover } from "./stop-mover.ts";

const TABLES = ["escrow", "escrow_transaction", "escrow_action", "escrow_request"];
const MOVER = { ...env, ...ARCHIVES, ARCHIVE_AFTER_MINUTES: "0" };

const move = (bindings: Parameters<typeof moveFinalRecords>[0] = MOVER, now = Date.now() + 1_000) =>
  moveFinalRecords(bindings, [MOVED_ESCROWS], now, Date.now() + 60_000);

async function readHot(): Promise<Record<string, unknown[]>> {
  const read = await env.DB.batch(TABLES.map((table) => env.DB.prepare(`SELECT * FROM ${table}`)));
  return Object.fromEntries(TABLES.map((table, i) => [table, read[i]?.results ?? []]));
}

/** The archive's rows. Those of escrows have more, which is returned apart. */
async function readCopies() {
  const { escrow = [], ...others } = await readArchive(env.ARCHIVE_1);
  const split = (escrow as Record<string, unknown>[]).map((row) => {
    const { newest_transaction: newest, has_note: hasNote, ...own } = row;
    return { own, added: { newest, hasNote } };
  });
  const copies: Record<string, unknown[]> = { ...others, escrow: split.map(({ own }) => own) };
  return { copies, added: split.map((one) => one.added) };
}

const ranges = () => openDb(env).all("SELECT * FROM archive_range");
const places = async () =>
  (
    await openDb(env).all<{ id: string; archive: number | null }>(
      "SELECT id, archive FROM escrow_identity ORDER BY id",
    )
  ).map(({ id, archive }) => [id, archive]);

/** Records of both sides, some final, with notes and past actions. */
async function writeRecords(count: number) {
  const writer = await Writer.create(env.DB);
  const records = Array.from({ length: count }, (_, i) =>
    makeRecord(i % 2 === 0 ? "payment" : "purchase"),
  );
  await writer.change(records);
  await env.DB.batch(
    records.map(({ id }) =>
      env.DB.prepare(
        "INSERT INTO escrow_request (record_id, requested_by_id, metadata, made_at) VALUES (?, 'key-a', ?, 1)",
      ).bind(id, `a "note" of ${id} \u00e9\u2028`),
    ),
  );
  return { writer, records };
}

const end = (writer: Writer, records: EscrowRecord[]) =>
  writer.change(records, Date.now(), "Withdrawn");

beforeEach(async () => {
  await emptyTables();
  await emptyArchives();
});

describe("the mover", () => {
  it("moves final records with all that belongs to them, and no others", async () => {
    const { writer, records } = await writeRecords(6);
    const [open = [], final = []] = [records.slice(0, 3), records.slice(3)];
    await end(writer, final);
    await move();
    expect(await places()).toEqual(records.map(({ id }) => [id, null]));
    await makeFinal();
    const before = await readHot();
    await move();
    const ids = new Set(final.map(({ id }) => id));
    const isFinal = (row: unknown) => {
      const { id, record_id: owner } = row as { id: string; record_id?: string };
      return ids.has(owner ?? id);
    };
    const { copies: archived, added } = await readCopies();
    const hot = await readHot();
    for (const { newest, hasNote } of added) {
      expect(JSON.parse(newest as string).newOnChainState).toBe("Withdrawn");
      expect(hasNote).toBe(1);
    }
    for (const table of TABLES) {
      const rows = before[table] ?? [];
      expect(archived[table], table).toEqual(rows.filter(isFinal));
      expect(hot[table], table).toEqual(rows.filter((row) => !isFinal(row)));
      if (table !== "escrow_action") expect(archived[table]?.length).toBeGreaterThan(0);
    }
    expect(await places()).toEqual([
      ...open.map(({ id }) => [id, null]),
      ...final.map(({ id }) => [id, 1]),
    ]);
    expect(await ranges()).toMatchObject([
      {
        ...{ kind: "escrow", network: "Preprod", archive: 1, operation: 1, count: 3, returned: 0 },
        ...{ least_id: final[0]?.id, greatest_id: final.at(-1)?.id },
      },
    ]);
  });

  it("moves nothing without an archive, nor before its time", async () => {
    const { writer, records } = await writeRecords(2);
    await end(writer, records);
    await makeFinal();
    const before = await readHot();
    await move({ ...env, ...NO_ARCHIVES, ARCHIVE_AFTER_MINUTES: "0" });
    await move({ ...env, ARCHIVE_AFTER_MINUTES: "43200" });
    await move({ ...env, ARCHIVE_1: UNASKED_ARCHIVE });
    expect(await readHot()).toEqual(before);
  });

  it("moves what webhooks need no longer, once the database is filled by 60 percent", async () => {
    const { writer, records } = await writeRecords(2);
    await end(writer, records);
    await makeFinal();
    const bytes = (await env.DB.prepare("SELECT 1").run()).meta.size_after ?? 0;
    const later = Date.now() + 8 * 24 * 60 * 60_000;
    const at = (share: number) => ({ ...env, DATABASE_MAX_BYTES: String(bytes / share) });
    await move(at(0.59), later);
    await move(at(0.61));
    expect(await places()).toEqual(records.map(({ id }) => [id, null]));
    await move(at(0.61), later);
    expect(await places()).toEqual(records.map(({ id }) => [id, 1]));
  });

  it("moves nothing to an archive that was set back, of any kind", async () => {
    const { writer, records } = await writeRecords(2);
    await end(writer, records);
    await makeFinal();
    await move();
    await env.ARCHIVE_1.batch(
      ["escrow", "archive_operation"].map((name) => env.ARCHIVE_1.prepare(`DELETE FROM ${name}`)),
    );
    await insertRows("audit", [
      { id: newId(Date.now()), at: Date.now(), action: "api-key.create" },
    ]);
    const later = Date.now() + 8 * 24 * 60 * 60_000;
    await moveFinalRecords(MOVER, [MOVED_AUDIT], later, Date.now() + 60_000);
    expect(await openDb(env).all("SELECT action FROM audit")).toHaveLength(1);
    expect((await readArchive(env.ARCHIVE_1)).audit).toEqual([]);
  });

  it("loses nothing wherever it stops, and ends with what it would have", async () => {
    const { writer, records } = await writeRecords(5);
    await end(writer, records);
    await makeFinal();
    const before = await readHot();
    let isOver = false;
    for (const k of sweep(1)) {
      for (const when of ["before", "after"] as const) {
        const { databases, count } = stopMover(k, when);
        await move({ ...MOVER, ...databases }).catch(() => undefined);
        isOver ||= count() < k;
        const archives = await places();
        const hot = await readHot();
        const { copies: archived } = await readCopies();
        const isMoved = archives.every(([, archive]) => archive === 1);
        if (!isMoved) expect(archives.every(([, archive]) => archive === null)).toBe(true);
        for (const table of TABLES)
          expect((isMoved ? archived : hot)[table], `${table} at ${k}`).toEqual(before[table]);
        if (!isMoved) continue;
        for (const table of TABLES) expect(hot[table]).toEqual([]);
        // Begins again.
        await emptyTables();
        await emptyArchives();
        await env.DB.batch(restore(before));
      }
      if (isOver) break;
    }
  });
});

function restore(rows: Record<string, unknown[]>): D1PreparedStatement[] {
  return Object.entries(rows).flatMap(([table, all]) =>
    (all as Record<string, unknown>[]).flatMap((row) => {
      const names = Object.keys(row);
      const insert = env.DB.prepare(
        `INSERT INTO ${table} (${names}) VALUES (${names.map(() => "?")})`,
      ).bind(...Object.values(row));
      if (table !== "escrow") return [insert];
      const { identifier_hash: hash, side, source_id: source, id } = row;
      return [
        insert,
        env.DB.prepare("INSERT INTO escrow_identity VALUES (unhex(?), ?, ?, ?, NULL)").bind(
          ...[hash, side, source, id],
        ),
      ];
    }),
  );
}
