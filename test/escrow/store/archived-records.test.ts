import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { moveFinalRecords } from "../../../src/archive/move-records.ts";
import { openDb } from "../../../src/db/client.ts";
import { NO_LOCK_STATE } from "../../../src/escrow/model/escrow-record.ts";
import { IDLE_PROGRESS } from "../../../src/escrow/model/intent.ts";
import { MOVED_ESCROWS } from "../../../src/escrow/store/archived-escrows.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { loadRecords } from "../../../src/escrow/store/load-records.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { insertRequest } from "../../../src/escrow/terms/create-record.ts";
import { moveCursor, startBackfill } from "../../../src/sources/cursor.ts";
import { emptyTables } from "../../support/app.ts";
import { ARCHIVES, emptyArchives, makeFinal, readArchive } from "../../support/archives.ts";
import { TestChain } from "../../support/chain.ts";
import { wrapD1 } from "../../support/d1.ts";
import { sized, sweep } from "../../support/effort.ts";
import { lockSame, lockSigned } from "../../support/sources/backfill.ts";
import { createSource, runPass, settle } from "../../support/sources/sync.ts";

const V1 = "Web3ChainV1";
const WITH_ARCHIVES = { env: ARCHIVES };
const TABLES = ["escrow", "escrow_transaction", "escrow_action", "escrow_request", "escrow_open"];

beforeEach(async () => {
  await emptyTables();
  await emptyArchives();
});

/** Moves all that has ended to the first archive. */
async function archive(): Promise<void> {
  await makeFinal();
  const bindings = { ...env, ...ARCHIVES, ARCHIVE_AFTER_MINUTES: "0" };
  await moveFinalRecords(bindings, [MOVED_ESCROWS], Date.now() + 1_000, Date.now() + 60_000);
}

async function readHot(...more: string[]): Promise<Record<string, unknown[]>> {
  const tables = [...TABLES, ...more];
  const read = await env.DB.batch(tables.map((one) => env.DB.prepare(`SELECT * FROM ${one}`)));
  return Object.fromEntries(tables.map((table, i) => [table, read[i]?.results ?? []]));
}

const places = async () =>
  (await openDb(env).all<{ archive: number | null }>("SELECT archive FROM escrow_identity")).map(
    (row) => row.archive,
  );
const ranges = () => openDb(env).all("SELECT count, returned FROM archive_range");

/** A life that has ended, and two records of it. */
const life = (as: string) => [
  { do: "lock", as, version: V1 },
  { do: "submitResult", on: as },
  { do: "withdraw", on: as },
];

describe("a replay of the chain", () => {
  it.each(["from the beginning", "for a wallet that was added later"])(
    "%s writes no archived escrow, and makes none anew",
    async (what) => {
      const count = sized(4, 200);
      const chain = await TestChain.create();
      const source = await createSource(chain);
      await chain.act(Array.from({ length: count }, (_, i) => life(`e${i}`)).flat());
      await settle(chain, source);
      await archive();
      expect(await places()).toEqual(Array(count * 2).fill(1));
      const hot = await readHot("event", "clock", "archive_range", "archived_escrow_count");
      expect(hot.escrow).toEqual([]);
      const archived = await readArchive(env.ARCHIVE_1);

      const [wallet] = await openDb(env).all<{ role: string; vkey: string }>(
        "SELECT role, vkey FROM managed_wallet WHERE source_id = ? AND role = 'Selling' LIMIT 1",
        source,
      );
      await openDb(env).batch(
        what === "from the beginning"
          ? moveCursor(source, null)
          : [startBackfill(source, [wallet as { role: "Selling"; vkey: string }])].flat(),
      );
      const before = await openDb(env).all("SELECT version FROM source_cursor");
      await settle(chain, source, WITH_ARCHIVES);
      expect(await openDb(env).all("SELECT version FROM source_cursor")).not.toEqual(before);
      expect(await readHot("event", "clock", "archive_range", "archived_escrow_count")).toEqual(
        hot,
      );
      expect(await readArchive(env.ARCHIVE_1)).toEqual(archived);
      expect(await places()).toEqual(Array(count * 2).fill(1));
    },
  );
});

describe("a lock that comes after its quote expired and moved to an archive", () => {
  /** A lock on the chain, and an archived quote for it that nobody has seen locked. */
  async function openLateLock() {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, (name) => name.startsWith("seller"));
    await chain.act([{ do: "lock", as: "a", version: V1 }]);
    await settle(chain, source);
    const ids = "SELECT id FROM escrow WHERE ?2 = ?2";
    const [locked] = (await loadRecords(openDb(env), [], ids, 1)).records;
    if (!locked) throw new Error("there is no record");
    await env.DB.batch(
      [...TABLES, "escrow_identity", "escrow_undo", "event"].map((one) =>
        env.DB.prepare(`DELETE FROM ${one}`),
      ),
    );
    const now = Date.now();
    const nobody = { buyer: null, buyerVkey: null, collateralReturn: null };
    const record = {
      ...locked,
      ...{ terms: { ...locked.terms, ...nobody, isRequested: true as const } },
      ...{ state: NO_LOCK_STATE, output: null, revision: -1, sequence: 0 },
    };
    const changes = new ChangeSet([], now, 0);
    changes.setProgress(record, { ...IDLE_PROGRESS, expiredAt: now });
    await openDb(env).batch([
      ...writeChanges(changes, { sourceId: source, network: "Preprod" }),
      insertRequest(record, "noted"),
      ...moveCursor(source, null),
    ]);
    await archive();
    expect(await places()).toEqual([1]);
    return { chain, source };
  }

  async function expectLocked(copies: unknown, message?: string): Promise<void> {
    expect(await places(), message).toEqual([null]);
    const { escrow, escrow_request: request, escrow_transaction: steps } = await readHot();
    expect(escrow, message).toMatchObject([{ on_chain_state: "FundsLocked", revision: 1 }]);
    expect(request, message).toMatchObject([{ metadata: "noted" }]);
    expect(steps, message).toHaveLength(1);
    expect(await ranges(), message).toEqual([{ count: 0, returned: 1 }]);
    expect(await readArchive(env.ARCHIVE_1), message).toEqual(copies);
  }

  it("brings it back with all that belongs to it, and leaves the copy", async () => {
    const { chain, source } = await openLateLock();
    const copies = await readArchive(env.ARCHIVE_1);
    await settle(chain, source, WITH_ARCHIVES);
    await expectLocked(copies);
  });

  it("does so wherever the pass stops", async () => {
    const { chain, source } = await openLateLock();
    const copies = await readArchive(env.ARCHIVE_1);
    const hot = await readHot("escrow_identity", "archive_range", "archived_escrow_count");
    for (const k of sweep(7)) {
      let isOver = true;
      for (const when of ["before", "after"] as const) {
        let steps = 0;
        const step = async <T>(run: () => Promise<T>): Promise<T> => {
          const isLast = ++steps === k;
          if (isLast) isOver = false;
          if (isLast && when === "before") throw new Error("the process was stopped");
          const result = await run();
          if (isLast) throw new Error("the process was stopped");
          return result;
        };
        const dying = {
          DB: wrapD1(env.DB, (_, run) => step(run)),
          ARCHIVE_1: wrapD1(env.ARCHIVE_1, (_, run) => step(run)),
        };
        await runPass(chain, source, { env: { ...ARCHIVES, ...dying } }).catch(() => undefined);
        await settle(chain, source, WITH_ARCHIVES);
        await expectLocked(copies, `stopped ${when} step ${k}`);
        await restore(hot);
        await openDb(env).batch(moveCursor(source, null));
      }
      if (isOver) break;
    }
  });

  it("waits while the archive lacks it, and reads the chain again once it is there", async () => {
    const { chain, source } = await openLateLock();
    const copies = await readArchive(env.ARCHIVE_1);
    await env.ARCHIVE_1.prepare("UPDATE archive_operation SET operation = 0").run();
    await runPass(chain, source, WITH_ARCHIVES);
    expect(await places()).toEqual([1]);
    expect((await readHot()).escrow).toEqual([]);
    await env.ARCHIVE_1.prepare("UPDATE archive_operation SET operation = 1").run();
    await settle(chain, source, WITH_ARCHIVES);
    await expectLocked(copies);
  });

  it("is read again when the record comes back, changes and moves meanwhile", async () => {
    const { chain, source } = await openLateLock();
    let isRaced = false;
    const ARCHIVE_1 = wrapD1(env.ARCHIVE_1, async (_, run) => {
      const result = await run();
      if (isRaced) return result;
      isRaced = true;
      // As another writer would: the copy has another note, and the range knows of the return.
      await env.ARCHIVE_1.prepare("UPDATE escrow_request SET metadata = 'later'").run();
      await env.DB.prepare("UPDATE archive_range SET returned = returned + 1").run();
      return result;
    });
    await settle(chain, source, { env: { ...ARCHIVES, ARCHIVE_1 } });
    expect(await places()).toEqual([null]);
    expect((await readHot()).escrow_request).toMatchObject([{ metadata: "later" }]);
    expect(await ranges()).toEqual([{ count: 0, returned: 2 }]);
  });
});

describe("a second lock of an archived purchase", () => {
  it.each([
    ["by its own wallet brings it back, with an error for a person", "buyer-0", [1, null]],
    ["by a stranger changes nothing", "stranger", [1, 1]],
  ])("%s", async (_, buyer, expected) => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const [first] = await chain.act([lockSigned("a", "buyer-0"), ...life("a").slice(1)]);
    await settle(chain, source);
    await archive();
    await chain.act([lockSame(first, "again", buyer)]);
    await settle(chain, source, WITH_ARCHIVES);
    expect((await places()).toSorted()).toEqual(expected);
    const isBack = expected.includes(null);
    expect((await readHot()).escrow).toMatchObject(
      isBack ? [{ side: "purchase", error_type: "Unknown", on_chain_state: "Withdrawn" }] : [],
    );
  });
});

it("A write of a record that has moved meanwhile is refused", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain);
  await chain.act(life("a"));
  await settle(chain, source);
  const ids = "SELECT id FROM escrow WHERE ?2 = ?2";
  const { records } = await loadRecords(openDb(env), [], ids, 1);
  await archive();
  const changes = new ChangeSet(records, Date.now(), 0);
  for (const record of records) changes.setWalletRemoved(record, true);
  const place = { sourceId: source, network: "Preprod" as const };
  await expect(openDb(env).batch(writeChanges(changes, place))).rejects.toThrow("escrow.revision");
  expect((await readHot()).escrow).toEqual([]);
});

/** Puts the tables back to what they held. */
async function restore(rows: Record<string, unknown[]>): Promise<void> {
  await env.DB.batch(
    [...Object.keys(rows), "escrow_undo"].map((one) => env.DB.prepare(`DELETE FROM ${one}`)),
  );
  for (const [table, all] of Object.entries(rows))
    for (const row of all as Record<string, unknown>[]) {
      const names = Object.keys(row);
      await env.DB.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => "?")})`)
        .bind(...Object.values(row))
        .run();
    }
}
