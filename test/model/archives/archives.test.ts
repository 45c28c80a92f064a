import fc from "fast-check";
import { expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { unpackHexSql } from "../../../src/db/hex-column.ts";
import { countRecords } from "../../../src/escrow/queries/count-records.ts";
import {
  ArchiveStory,
  type Change,
  change,
  FINAL_AFTER_BLOCKS,
  makeRecords,
  UNDISTURBED,
} from "../../archive/story/archive-story.ts";
import { wrapD1 } from "../../support/d1.ts";
import { runs } from "../../support/effort.ts";
import {
  type Bindings,
  type Item,
  type Place,
  READINGS,
  type Reading,
  readPage,
  stampOf,
} from "./client.ts";
import { ReplicatedSqlite } from "./replicated-sqlite.ts";

const MIGRATIONS = { hot: "migrations", archive: "migrations-archive" };
const hot = new ReplicatedSqlite(MIGRATIONS.hot);
const first = new ReplicatedSqlite(MIGRATIONS.archive);
const second = new ReplicatedSqlite(MIGRATIONS.archive);
/** The database of a service that has no other, and follows the same chain. */
const alone = new ReplicatedSqlite(MIGRATIONS.hot);
const DATABASES = [hot, first, second, alone];
const BINDINGS = { DB: hot.d1, ARCHIVE_1: first.d1, ARCHIVE_2: second.d1 };
const ALONE = { DB: alone.d1 };
/** More commits than a record takes from its archive back to it. */
const MAX_LAG = 12;
const STATE_SQL = `SELECT concat_ws(' ', id, changed_at, ${unpackHexSql("result_hash")}) AS state FROM escrow`;

/** Commits that a replica is behind. */
const lag = fc.oneof(fc.constant(0), fc.nat(4), fc.nat(MAX_LAG));
const page = fc.record({
  do: fc.constant("page" as const),
  client: fc.nat(READINGS.length - 1),
  lags: fc.tuple(lag, lag, lag),
  /** Whether the client sends the bookmark of its last page. */
  hasBookmark: fc.boolean(),
  /** What happens before a call of the page. */
  during: fc.option(fc.record({ at: fc.integer({ min: 1, max: 6 }), change })),
});
type Page = typeof page extends fc.Arbitrary<infer T> ? T : never;

/** A client that goes on where its last page ended. */
interface Client {
  reading: Reading;
  after: Place;
  bookmark: string | null;
  /** The last change of each record that the client has seen. */
  readonly seen: Map<string, number>;
}

/** A service with archives beside one without, and their clients. */
class World {
  readonly #story: ArchiveStory;
  readonly #beside: ArchiveStory;
  readonly #limit: number;
  readonly #clients: readonly Client[] = READINGS.map((reading) => ({
    ...{ reading, after: null, bookmark: null },
    seen: new Map(),
  }));
  /** Each that a record had after a commit, as `STATE_SQL` has it. */
  readonly #states: ReadonlySet<string>;

  private constructor(
    story: ArchiveStory,
    beside: ArchiveStory,
    { limit, states }: { limit: number; states: ReadonlySet<string> },
  ) {
    this.#story = story;
    this.#beside = beside;
    this.#limit = limit;
    this.#states = states;
  }

  static async begin(limit: number): Promise<World> {
    for (const one of DATABASES) one.empty();
    const states = new Set<string>();
    const DB = wrapD1(alone.d1, async (_, run) => {
      const result = await run();
      for (const one of alone.all<{ state: string }>(STATE_SQL)) states.add(one.state);
      return result;
    });
    const story = await ArchiveStory.begin(BINDINGS, makeRecords());
    return new World(story, await story.beginBeside({ DB }), { limit, states });
  }

  async apply(change: Change): Promise<void> {
    await this.#story.apply(change, async (disturbance) => {
      const now = Date.now();
      await this.#story.follow(now, disturbance);
      await this.#beside.follow(now, UNDISTURBED);
    });
  }

  /** Reads the next page of a client. */
  async read({ client: index, lags, hasBookmark, during }: Page): Promise<void> {
    const client = this.#clients[index];
    if (!client) return;
    const { reading, after } = client;
    for (const [i, database] of [hot, first, second].entries()) database.lag = lags[i] ?? 0;
    const options = { limit: this.#limit, after };
    const before = await readPage(ALONE, reading, options);
    const bookmark = hasBookmark ? client.bookmark : null;
    const page = await readPage(this.#bindingsWith(during), reading, { ...options, bookmark });
    const { items } = page;
    if (lags[0] === 0) {
      const { items: now } = await readPage(ALONE, reading, options);
      expect([before.items, now]).toContainEqual(items);
    }
    for (const one of items) {
      const at = stampOf(one, "changed_at");
      const state = [one.id, at, one.resultHash].filter((part) => part !== null).join(" ");
      expect(this.#states.has(state), `${state} is a state that the record had`).toBe(true);
      const last = client.seen.get(one.id) ?? 0;
      if (bookmark !== null) expect(at, "is no older than before").toBeGreaterThanOrEqual(last);
      client.seen.set(one.id, Math.max(at, last));
    }
    // Bookmarks sort by what they have.
    client.bookmark = [client.bookmark ?? "", page.bookmark ?? ""].toSorted().at(-1) || null;
    const isOver = !("stamp" in reading) && items.length < this.#limit;
    client.after = isOver ? null : (items.at(-1) ?? after);
  }

  #bindingsWith(during: Page["during"]): Bindings {
    let calls = 0;
    const wrap = (d1: D1Database) =>
      wrapD1(d1, async (_, run) => {
        if (during && ++calls === during.at) await this.apply(during.change);
        return run();
      });
    const { DB, ARCHIVE_1, ARCHIVE_2 } = BINDINGS;
    return { DB: wrap(DB), ARCHIVE_1: wrap(ARCHIVE_1), ARCHIVE_2: wrap(ARCHIVE_2) };
  }

  /** Clients that go on, or begin anew, come to what one database shows. */
  async checkEnd(): Promise<void> {
    for (const one of DATABASES) one.lag = 0;
    for (const client of this.#clients) {
      if ("stamp" in client.reading) await this.#checkPoller(client);
      await this.#checkWalk(client.reading);
    }
    for (const side of ["payment", "purchase"] as const) {
      const query = { network: "Preprod" } as const;
      const [counts, expected] = await Promise.all(
        [BINDINGS, ALONE].map((env) =>
          countRecords(openDb(env, "Preprod"), side, { ...query, env } as never),
        ),
      );
      expect(counts).toEqual(expected);
    }
  }

  async #checkPoller(client: Client): Promise<void> {
    const { reading, seen } = client;
    if (!("stamp" in reading)) return;
    const last = new Map<string, Item>();
    for (let isAtEnd = false; !isAtEnd; ) {
      const { items } = await readPage(BINDINGS, reading, {
        limit: this.#limit,
        after: client.after,
      });
      for (const one of items) last.set(one.id, one);
      const next = items.at(-1) ?? client.after;
      isAtEnd =
        next?.id === client.after?.id && stampAt(next, reading) === stampAt(client.after, reading);
      client.after = next;
    }
    for (const [id, item] of last) seen.set(id, stampOf(item, "changed_at"));
    const { items } = await readPage(ALONE, reading, { limit: 100, after: null });
    for (const item of items)
      expect(seen.get(item.id), "has the last change").toBeGreaterThanOrEqual(
        stampOf(item, reading.stamp),
      );
  }

  /** From the beginning: from 1970 on, or from the newest on. */
  async #checkWalk(reading: Reading): Promise<void> {
    const ids: string[] = [];
    let after: Place = null;
    for (let isOver = false; !isOver; ) {
      const options: Parameters<typeof readPage>[2] = { limit: this.#limit, after };
      const { items } = await readPage(BINDINGS, reading, options);
      expect(items).toEqual((await readPage(ALONE, reading, options)).items);
      const known = options.after?.id;
      ids.push(...items.flatMap(({ id }) => (id === known ? [] : [id])));
      after = items.at(-1) ?? null;
      isOver = items.length < this.#limit || after?.id === known;
    }
    expect(new Set(ids).size, "has no record twice").toBe(ids.length);
    const { items: all } = await readPage(ALONE, reading, { limit: 100, after: null });
    expect(ids).toEqual(all.map(({ id }) => id));
  }
}

const stampAt = (item: Place, reading: Reading) =>
  item && "stamp" in reading ? stampOf(item, reading.stamp) : null;

const CALM = { lags: [0, 0, 0] as [number, number, number], hasBookmark: false };
/** A page reads an older copy of a record, and the record moves to the copy's archive before the page looks it up. */
const OLDER_COPY: (Change | Page)[] = [
  { do: "step", picks: [6, 0], isEnd: true, ...UNDISTURBED },
  { do: "grow", blocks: FINAL_AFTER_BLOCKS, ...UNDISTURBED },
  { do: "move", isFirstFull: false, ...UNDISTURBED },
  { do: "step", picks: [3, 6], isEnd: true, ...UNDISTURBED },
  { do: "grow", blocks: FINAL_AFTER_BLOCKS, ...UNDISTURBED },
  {
    ...{ do: "page", client: 2, ...CALM },
    during: { at: 3, change: { do: "move", isFirstFull: false, ...UNDISTURBED } },
  },
];

/** A record returns, changes and moves again, as a page sees that begins so many commits before. */
const newerCopy = (commits: number): (Change | Page)[] => {
  const change: Change[] = [
    { do: "step", picks: [1], isEnd: false, ...UNDISTURBED },
    { do: "step", picks: [0], isEnd: true, ...UNDISTURBED },
    { do: "grow", blocks: FINAL_AFTER_BLOCKS, ...UNDISTURBED },
    { do: "move", isFirstFull: false, ...UNDISTURBED },
  ];
  const poll: Page = { do: "page", client: 0, ...CALM, during: null };
  return [...change, poll, ...change, { ...poll, lags: [commits, 0, 0] }, poll, poll];
};

it("Pages show what one database shows, whatever moves, stops, returns and lags meanwhile", async () => {
  const totals = { moved: 0, returned: 0 };
  const property = fc.asyncProperty(
    fc.array(fc.oneof(change, page), { minLength: 10, maxLength: 40, size: "max" }),
    fc.integer({ min: 1, max: 5 }),
    async (steps, limit) => {
      const world = await World.begin(limit);
      for (const one of steps) await (one.do === "page" ? world.read(one) : world.apply(one));
      await world.checkEnd();
      const [range] = hot.all<{ operations: number; returned: number }>(
        "SELECT total(operation) AS operations, total(returned) AS returned FROM archive_range",
      );
      totals.moved += range?.operations ?? 0;
      totals.returned += range?.returned ?? 0;
    },
  );
  const examples: [(Change | Page)[], number][] = [[OLDER_COPY, 1]];
  for (let commits = 1; commits <= MAX_LAG; commits++) examples.push([newerCopy(commits), 5]);
  await fc.assert(property, { ...runs(10 + examples.length, 5000 + examples.length), examples });
  expect(Math.min(totals.moved, totals.returned)).toBeGreaterThan(0);
});
