import fc from "fast-check";
import { expect, it } from "vitest";
import { moveFinalRecords } from "../../../src/archive/move-records.ts";
import { ArchiveBehindError } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import type { AppContext } from "../../../src/http/context.ts";
import { MOVED_ATTEMPTS } from "../../../src/x402/attempts/archived-attempts.ts";
import {
  countAttempts,
  countSettlements,
  findAttempt,
  listAttempts,
  listSettlements,
} from "../../../src/x402/attempts/list-attempts.ts";
import type { AttemptFilter } from "../../../src/x402/attempts/schemas.ts";
import { sumAttempts } from "../../../src/x402/attempts/sum-attempts.ts";
import {
  type Disturbance,
  Disturbed,
  disturbed,
  fill,
  type PlainMove,
  plainMove,
  UNDISTURBED,
} from "../../archive/story/archive-story.ts";
import { wrapD1 } from "../../support/d1.ts";
import { runs } from "../../support/effort.ts";
import { ReplicatedSqlite } from "./replicated-sqlite.ts";

const MIGRATIONS = { hot: "migrations", archive: "migrations-archive" };
const hot = new ReplicatedSqlite(MIGRATIONS.hot);
const first = new ReplicatedSqlite(MIGRATIONS.archive);
const second = new ReplicatedSqlite(MIGRATIONS.archive);
/** The database of a service that has no other. */
const alone = new ReplicatedSqlite(MIGRATIONS.hot);
const BINDINGS = { DB: hot.d1, ARCHIVE_1: first.d1, ARCHIVE_2: second.d1 };
const ALONE = { DB: alone.d1 };
/** Several portions in a story. */
const KIND = { ...MOVED_ATTEMPTS, portionRecords: 2 };
const BEGINS = Date.UTC(2026, 0, 1);
const STEP_MS = 7 * 60 * 60_000;
/** More commits than a move makes in an archive. */
const MAX_LAG = 6;
const TYPES = ["Settled", "Failed", "Verified", "Replayed", "paid"] as const;

/** A new attempt, or the outcome of an open one. */
type Write =
  | { do: "add"; type: (typeof TYPES)[number] }
  | { do: "end"; pick: number; isSettled: boolean };
/** Another run of the mover, which may stop too. */
type InnerMove = PlainMove & Disturbance<never>;
type Move = PlainMove & Disturbance<InnerMove | Write>;
/** An archive becomes what it was so many commits ago. */
type SetBack = { do: "set back"; archive: number; commits: number };
/** The database becomes what it was after an earlier write. */
type Restore = { do: "restore"; writes: number };
/** A person puts the archives forward that are behind. */
type PutForward = { do: "put forward" };
type Read = {
  do: "read";
  list: number;
  limit: number;
  /** Commits that replicas of the archives are behind. */
  lags: [number, number];
  during: { at: number; change: Move | Write | SetBack } | null;
};
type Step = Write | Move | InnerMove | SetBack | Restore | PutForward;

const write: fc.Arbitrary<Write> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("add"), type: fc.constantFrom(...TYPES) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("end"), pick: fc.nat(9), isSettled: fc.boolean() }),
  },
);
const innerMove: fc.Arbitrary<InnerMove> = fc
  .tuple(plainMove, fc.nat(9))
  .map(([one, stopsAt]) => ({ ...one, stopsAt, during: null }));
const move: fc.Arbitrary<Move> = disturbed(plainMove, fc.oneof(innerMove, write));
const setBack: fc.Arbitrary<SetBack> = fc.record({
  do: fc.constant("set back"),
  archive: fc.nat(1),
  commits: fc.integer({ min: 1, max: MAX_LAG }),
});
const restore: fc.Arbitrary<Restore> = fc.record({
  do: fc.constant("restore"),
  writes: fc.integer({ min: 1, max: 4 }),
});
const putForward: fc.Arbitrary<PutForward> = fc.constant({ do: "put forward" });
const lag = fc.oneof(fc.constant(0), fc.nat(MAX_LAG));
const read: fc.Arbitrary<Read> = fc.record({
  do: fc.constant("read"),
  list: fc.nat(99),
  limit: fc.integer({ min: 1, max: 4 }),
  lags: fc.tuple(lag, lag),
  during: fc.option(
    fc.record({ at: fc.integer({ min: 1, max: 4 }), change: fc.oneof(move, write, setBack) }),
  ),
});

const FILTERS: readonly AttemptFilter[] = [
  {},
  { status: "Settled" },
  { status: "Replayed" },
  { side: "buy" },
  { createdFrom: BEGINS + 4 * STEP_MS, createdTo: BEGINS + 12 * STEP_MS },
];

/** A request of an administrator. */
const toContext = (env: object): AppContext =>
  ({
    env,
    var: {
      caller: { permission: "Admin", networkLimit: null },
      deadline: Date.now() + 60_000,
    },
  }) as unknown as AppContext;

type Reading = (c: AppContext, limit: number, cursorId?: string) => Promise<unknown>;

const LISTS: readonly Reading[] = [
  ...FILTERS.map(
    (filter): Reading =>
      (c, take, cursorId) =>
        listAttempts(c, { ...filter, take, cursorId }),
  ),
  (c, limit, cursorId) => listSettlements(c, { limit, cursorId }),
  (c, limit, cursorId) => listSettlements(c, { success: true, limit, cursorId }),
];
const SUMS: readonly Reading[] = [
  ...FILTERS.map(
    (filter): Reading =>
      (c) =>
        countAttempts(c, filter),
  ),
  (c) => countSettlements(c, {}),
  (c) =>
    sumAttempts(
      c,
      { createdFrom: BEGINS, createdTo: BEGINS + 100 * STEP_MS, timeZone: "Europe/Berlin" },
      BEGINS,
    ),
];

const ARCHIVES = [first, second];

/** A service with archives beside one without. */
class World {
  #ids: string[] = [];
  #open: string[] = [];
  /** After each write, the commits of the database and of the one without archives. */
  #writes = [{ hot: 0, alone: 0 }];
  /** Of each archive that was set back: its commits before. */
  readonly #forward = new Map<ReplicatedSqlite, number>();
  /** Reads that failed since an archive was behind. */
  refused = 0;

  constructor() {
    for (const one of [hot, first, second, alone]) one.empty();
  }

  async apply(change: Step): Promise<void> {
    if (change.do === "move") return this.#move(change);
    if (change.do === "set back") return this.#setBack(change);
    if (change.do === "restore") return this.#restore(change);
    if (change.do === "put forward") return this.#putForward();
    const statements = change.do === "add" ? this.#add(change.type) : this.#end(change);
    for (const { d1 } of [hot, alone])
      await d1.batch(statements.map(({ sql, params }) => d1.prepare(sql).bind(...params)));
    this.#writes.push({ hot: hot.commits, alone: alone.commits });
  }

  #setBack({ archive: index, commits }: SetBack): void {
    const archive = ARCHIVES[index] as ReplicatedSqlite;
    if (!isBehind(archive)) this.#forward.set(archive, archive.commits);
    archive.setBack(commits);
  }

  #restore({ writes }: Restore): void {
    this.#writes = this.#writes.slice(0, Math.max(this.#writes.length - writes, 1));
    const last = this.#writes.at(-1);
    hot.restore(last?.hot ?? 0);
    alone.restore(last?.alone ?? 0);
    const rows = alone.all<{ id: string; status: string }>(
      "SELECT id, status FROM x402_payment_attempt ORDER BY id",
    );
    this.#ids = rows.map(({ id }) => id);
    this.#open = rows.flatMap(({ id, status }) => (status === "Verified" ? [id] : []));
  }

  #putForward(): void {
    for (const archive of ARCHIVES.filter(isBehind))
      archive.restore(this.#forward.get(archive) ?? 0);
  }

  #add(type: (typeof TYPES)[number]) {
    const at = BEGINS + this.#ids.length * STEP_MS;
    const id = newId(at);
    const original = this.#ids[Math.floor(this.#ids.length / 2)] ?? null;
    const isPaid = type === "paid";
    const status = isPaid ? "Settled" : type;
    this.#ids.push(id);
    if (status === "Verified") this.#open.push(id);
    const insert = {
      sql: `INSERT INTO x402_payment_attempt (id, direction, status, caip2_id, asset, amount, pay_to,
          payment_payload_hash, replay_of, charged, revision, created_at, updated_at)
        VALUES (?1, ?2, ?3, 'eip155:1', '0xa', '1000', '0xb', ?1, ?4, 0, 0, ?5, ?5)`,
      params: [
        ...[id, isPaid ? "OutboundPayment" : "InboundSettle", status],
        ...[status === "Replayed" ? original : null, at],
      ],
    };
    return [insert, ...(status === "Settled" ? [this.#settle(id, at)] : [])];
  }

  #settle(id: string, at: number) {
    return {
      sql: `INSERT INTO x402_settlement (id, attempt_id, api_key_id, success, tx_hash, amount, payer, created_at)
        VALUES (?, ?, '', 1, '0xc', '1000', '0xd', ?)`,
      params: [newId(at), id, at],
    };
  }

  #end({ pick, isSettled }: { pick: number; isSettled: boolean }) {
    const [id] = this.#open.splice(pick % Math.max(this.#open.length, 1), 1);
    if (id === undefined) return [{ sql: "UPDATE job SET subject = ''", params: [] }];
    const at = BEGINS + this.#ids.length * STEP_MS;
    const update = {
      sql: "UPDATE x402_payment_attempt SET status = ?, updated_at = ?, revision = 1 WHERE id = ?",
      params: [isSettled ? "Settled" : "Failed", at, id],
    };
    return [update, ...(isSettled ? [this.#settle(id, at)] : [])];
  }

  async #move({ isFirstFull, ...disturbance }: Move): Promise<void> {
    const story = new Disturbed<InnerMove | Write>(disturbance, (change) => this.apply(change));
    const { ARCHIVE_1, ...others } = story.wrap(BINDINGS);
    if (!ARCHIVE_1) throw new Error("the first archive is bound");
    const bindings = {
      ...{ ...others, ARCHIVE_1: isFirstFull ? fill(ARCHIVE_1) : ARCHIVE_1 },
      ARCHIVE_AFTER_MINUTES: "0",
    };
    try {
      await moveFinalRecords(bindings as never, [KIND], Date.now() * 2, Date.now() + 60_000);
    } catch (error) {
      if (!story.isStopped) throw error;
    }
  }

  async read({ list, limit, lags, during }: Read): Promise<void> {
    for (const [i, archive] of ARCHIVES.entries()) archive.lag = lags[i] ?? 0;
    const readings = [...LISTS, ...SUMS];
    const reading = readings[list % readings.length] as Reading;
    const cursorId = list % 3 === 0 ? undefined : this.#ids[Math.floor(this.#ids.length / 2)];
    const before = await reading(toContext(ALONE), limit, cursorId);
    try {
      const answer = await reading(toContext(this.#bindingsWith(during)), limit, cursorId);
      const now = await reading(toContext(ALONE), limit, cursorId);
      expect([before, now]).toContainEqual(answer);
    } catch (error) {
      // A replica may show an archive as it was before it was put forward.
      const mayBeBehind = ARCHIVES.some(
        (one) => isBehind(one) || (one.lag > 0 && this.#forward.has(one)),
      );
      if (!(error instanceof ArchiveBehindError && mayBeBehind)) throw error;
      this.refused++;
    }
  }

  #bindingsWith(during: Read["during"]) {
    let calls = 0;
    const wrap = (d1: D1Database) =>
      wrapD1(d1, async (_, run) => {
        if (++calls === during?.at) await this.apply(during.change);
        return run();
      });
    const { DB, ARCHIVE_1, ARCHIVE_2 } = BINDINGS;
    return { DB: wrap(DB), ARCHIVE_1: wrap(ARCHIVE_1), ARCHIVE_2: wrap(ARCHIVE_2) };
  }

  async checkEnd(): Promise<void> {
    for (const archive of ARCHIVES) archive.lag = 0;
    this.#putForward();
    const [own, expected] = [toContext(BINDINGS), toContext(ALONE)];
    for (const reading of SUMS) expect(await reading(own, 0)).toEqual(await reading(expected, 0));
    for (const reading of LISTS) {
      for (let after: string | undefined; ; ) {
        const page = (await reading(own, 2, after)) as { id: string }[];
        expect(page).toEqual(await reading(expected, 2, after));
        after = page.at(-1)?.id;
        if (after === undefined) break;
      }
    }
    for (const id of this.#ids)
      expect((await findAttempt(own, id)).record.status).toBe(
        (await findAttempt(expected, id)).record.status,
      );
  }
}

/** Whether the database has moved more to an archive than the archive has. */
function isBehind(archive: ReplicatedSqlite): boolean {
  const [moved] = hot.all<{ operation: number }>(
    "SELECT total(operation) AS operation FROM archive_range WHERE kind = 'x402' AND archive = ?",
    ARCHIVES.indexOf(archive) + 1,
  );
  const [copied] = archive.all<{ operation: number }>(
    "SELECT total(operation) AS operation FROM archive_operation WHERE kind = 'x402'",
  );
  return (moved?.operation ?? 0) > (copied?.operation ?? 0);
}

const step: fc.Arbitrary<Step | Read> = fc.oneof(
  { weight: 9, arbitrary: write },
  { weight: 3, arbitrary: move },
  { weight: 3, arbitrary: read },
  { weight: 1, arbitrary: setBack },
  { weight: 1, arbitrary: restore },
  { weight: 1, arbitrary: putForward },
);
const CALM = { limit: 4, lags: [0, 0], during: null } satisfies Partial<Read>;
/** An archive is set back, and put forward. */
const BEHIND: (Step | Read)[] = [
  { do: "add", type: "Settled" },
  { do: "move", isFirstFull: false, ...UNDISTURBED },
  { do: "set back", archive: 0, commits: 1 },
  { do: "read", list: 0, ...CALM },
  { do: "add", type: "Settled" },
  { do: "move", isFirstFull: false, ...UNDISTURBED },
  { do: "put forward" },
  { do: "read", list: 0, ...CALM },
];

it("Reads of payments show what one database shows, whatever moves, stops, lags and is set back", async () => {
  const totals = { moved: 0, refused: 0 };
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 10, maxLength: 40, size: "max" }),
    async (steps) => {
      const world = new World();
      for (const one of steps) await (one.do === "read" ? world.read(one) : world.apply(one));
      await world.checkEnd();
      await world.apply({ do: "move", isFirstFull: false, ...UNDISTURBED });
      await world.checkEnd();
      totals.moved += first.all("SELECT 1 FROM x402_payment_attempt").length;
      totals.refused += world.refused;
    },
  );
  await fc.assert(property, { ...runs(20, 5000), examples: [[BEHIND]] });
  expect(Math.min(totals.moved, totals.refused)).toBeGreaterThan(0);
});
