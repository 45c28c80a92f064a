import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import { moveFinalRecords } from "../../src/archive/move-records.ts";
import type { EscrowRecord } from "../../src/escrow/model/escrow-record.ts";
import { countReturned, toCountedEscrow } from "../../src/escrow/store/archived-counts.ts";
import { MOVED_ESCROWS } from "../../src/escrow/store/archived-escrows.ts";
import { app, emptyTables } from "../support/app.ts";
import { ARCHIVE_TABLES, ARCHIVES, emptyArchives, makeFinal } from "../support/archives.ts";
import { wrapD1 } from "../support/d1.ts";
import { runs } from "../support/effort.ts";
import { ReplicatedD1 } from "../support/replicas.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";

const ADMIN = env.ADMIN_KEY ?? "";
const RECORDS = 10;

interface Item {
  id: string;
  resultHash: string;
  onChainStateOrResultLastChangedAt: string;
}

const pick = fc.array(fc.nat(RECORDS - 1), { minLength: 1, maxLength: 4 });
const plainChange = fc.oneof(
  fc.record({ do: fc.constant("write" as const), picks: pick }),
  fc.record({ do: fc.constant("end" as const), picks: pick }),
  fc.record({ do: fc.constant("return" as const), picks: pick }),
  // Another run of the mover.
  fc.constant({ do: "move" as const, full: 0, stopsAt: 0, during: null }),
);
const change = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("write" as const), picks: pick }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("end" as const), picks: pick }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("move" as const),
      /** How many archives are full. */
      full: fc.nat(1),
      /** The call at which the mover stops; 0: none. */
      stopsAt: fc.nat(9),
      /** What happens before a call of the mover. */
      during: fc.option(fc.tuple(fc.integer({ min: 2, max: 9 }), plainChange)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("return" as const), picks: pick }) },
);
const lag = fc.nat(4);
const step = fc.oneof(
  change,
  fc.record({
    do: fc.constant("poll" as const),
    lags: fc.tuple(lag, lag, lag),
    /** What happens before a call of the poll. */
    during: fc.option(fc.tuple(fc.integer({ min: 2, max: 6 }), change)),
  }),
  fc.record({
    do: fc.constant("walk" as const),
    lags: fc.tuple(lag, lag, lag),
    during: fc.option(fc.tuple(fc.integer({ min: 2, max: 12 }), change)),
  }),
);
type PlainChange = typeof plainChange extends fc.Arbitrary<infer T> ? T : never;
type Change = PlainChange | (typeof change extends fc.Arbitrary<infer T> ? T : never);

/** A service with archives, all of whose databases have replicas that lag. */
class World {
  readonly records: EscrowRecord[] = Array.from({ length: RECORDS }, () => makeRecord("payment"));
  /** Every result that a record had, oldest first. */
  readonly history = new Map<string, string[]>(this.records.map(({ id }) => [id, []]));
  readonly writer: Writer;
  readonly databases: readonly [ReplicatedD1, ReplicatedD1, ReplicatedD1];

  private constructor(writer: Writer, databases: World["databases"]) {
    this.writer = writer;
    this.databases = databases;
  }

  static async create(): Promise<World> {
    await emptyTables();
    await emptyArchives();
    const standIn = env.TEST_ARCHIVE_3;
    const tables = ARCHIVE_TABLES;
    return new World(await Writer.create(env.DB), [
      await ReplicatedD1.create(),
      await ReplicatedD1.create({ primary: env.TEST_ARCHIVE_1, standIn, tables }),
      await ReplicatedD1.create({ primary: env.TEST_ARCHIVE_2, standIn, tables }),
    ]);
  }

  get bindings() {
    const [db, first, second] = this.databases;
    return { ...env, DB: db.d1, ARCHIVE_1: first.d1, ARCHIVE_2: second.d1 };
  }

  /** The same, with a change before a call of the database or an archive. */
  bindingsWith(during: [number, Change] | null) {
    const { bindings } = this;
    let calls = 0;
    const wrap = (d1: D1Database) =>
      wrapD1(d1, async (_, run) => {
        if (during && ++calls === during[0]) await this.apply(during[1]);
        return run();
      });
    const { DB, ARCHIVE_1, ARCHIVE_2 } = bindings;
    return { ...bindings, DB: wrap(DB), ARCHIVE_1: wrap(ARCHIVE_1), ARCHIVE_2: wrap(ARCHIVE_2) };
  }

  async apply(one: Change): Promise<void> {
    if (one.do === "move") await this.#move(one);
    else {
      const picked = [...new Set(one.picks)].flatMap((i) => this.records[i] ?? []);
      for (const record of picked) await this.#bringBack(record);
      if (one.do !== "return") {
        const state = one.do === "end" ? "Withdrawn" : "ResultSubmitted";
        const results = await this.writer.change(picked, Date.now(), state);
        for (const [id, result] of results) this.history.get(id)?.push(result);
        await makeFinal();
      }
    }
    await this.databases[0].commit();
  }

  async #move({ full, stopsAt, during }: Extract<Change, { do: "move" }>): Promise<void> {
    let calls = 0;
    const { DB, ARCHIVE_1, ARCHIVE_2 } = this.bindings;
    const wrap = (d1: D1Database, isFull = false) =>
      wrapD1(d1, async (_, run) => {
        if (++calls === stopsAt) throw new Error("the process was stopped");
        if (calls === during?.[0]) await this.apply(during[1]);
        const result = await run();
        if (isFull) for (const { meta } of result as D1Result[]) meta.size_after = 1e12;
        return result;
      });
    const bindings = {
      ...env,
      DB: wrap(DB),
      ARCHIVE_1: wrap(ARCHIVE_1, full > 0),
      ARCHIVE_2: wrap(ARCHIVE_2),
      ARCHIVE_AFTER_MINUTES: "0",
    };
    const now = Date.now();
    await moveFinalRecords(bindings, [MOVED_ESCROWS], now + 1_000, now + 60_000).catch((error) => {
      if (stopsAt === 0) throw error;
    });
    if (stopsAt > 0 || during) return;
    const left = await env.DB.prepare(
      "SELECT count(*) AS n FROM escrow WHERE on_chain_state = 'Withdrawn'",
    ).first<number>("n");
    expect(left, "what is final has moved").toBe(0);
  }

  /** As the fold does when a transaction would change an archived record. */
  async #bringBack(record: EscrowRecord): Promise<void> {
    const place = await env.DB.prepare("SELECT archive FROM escrow_identity WHERE id = ?")
      .bind(record.id)
      .first<{ archive: number | null }>();
    if (!place?.archive) return;
    const archive = place.archive === 1 ? ARCHIVES.ARCHIVE_1 : ARCHIVES.ARCHIVE_2;
    const inserts: D1PreparedStatement[] = [];
    for (const table of ["escrow", "escrow_transaction", "escrow_action", "escrow_request"]) {
      const key = table === "escrow" ? "id" : "record_id";
      const { results } = await archive
        .prepare(`SELECT * FROM ${table} WHERE ${key} = ?`)
        .bind(record.id)
        .all();
      for (const row of results) {
        const values = Object.values(row).map((value) =>
          Array.isArray(value) ? new Uint8Array(value) : value,
        );
        inserts.push(
          env.DB.prepare(
            `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${values.map(() => "?")})`,
          ).bind(...values),
        );
      }
    }
    const state = { ...record.state, onChainState: "Withdrawn" as const };
    await env.DB.batch([
      ...inserts,
      env.DB.prepare("UPDATE escrow_identity SET archive = NULL WHERE id = ?").bind(record.id),
      ...countReturned(place.archive, [toCountedEscrow({ ...record, state })]).map(
        ({ sql, params }) => env.DB.prepare(sql).bind(...params),
      ),
    ]);
  }

  async ask(path: string, bindings: object): Promise<Item[]> {
    const answer = await app.request(`/api/v1${path}`, { headers: { token: ADMIN } }, bindings);
    expect(answer.status, await answer.clone().text()).toBe(200);
    const { data } = (await answer.json()) as { data: { Payments: Item[] } };
    for (const { id, resultHash } of data.Payments)
      expect(this.history.get(id), "is a result that the record had").toContain(resultHash);
    return data.Payments;
  }

  setLags(lags: readonly number[]): void {
    for (const [i, database] of this.databases.entries()) database.lag = lags[i] ?? 0;
  }
}

it("Pages show what one database shows, whatever moves, stops, returns and lags meanwhile", async () => {
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 6, maxLength: 24 }),
    fc.integer({ min: 1, max: 5 }),
    async (steps, limit) => {
      const world = await World.create();
      const seen = new Map<string, string>();
      let position = "";
      const poll = async (bindings: object) => {
        const path = `/payment/diff/onchain-state-or-result?network=Preprod&limit=${limit}${position}`;
        const items = await world.ask(path, bindings);
        for (const { id, resultHash } of items) {
          const all = world.history.get(id) ?? [];
          expect(all.indexOf(resultHash), "is no older than before").toBeGreaterThanOrEqual(
            all.indexOf(seen.get(id) ?? ""),
          );
          seen.set(id, resultHash);
        }
        const last = items.at(-1);
        const before = position;
        if (last)
          position = `&cursorId=${last.id}&lastUpdate=${last.onChainStateOrResultLastChangedAt}`;
        return position !== before;
      };
      /** All pages of the list. */
      const walk = async (bindings: object) => {
        const ids: string[] = [];
        for (let cursor = ""; ; ) {
          const items = await world.ask(
            `/payment?network=Preprod&limit=${limit}${cursor}`,
            bindings,
          );
          ids.push(...items.map(({ id }) => id));
          if (items.length < limit) return ids;
          cursor = `&cursorId=${ids.at(-1)}`;
        }
      };
      const stored = () => [...world.history].filter(([, all]) => all.length > 0).map(([id]) => id);

      for (const one of steps) {
        if (one.do === "poll") {
          world.setLags(one.lags);
          await poll(world.bindingsWith(one.during));
        } else if (one.do === "walk") {
          world.setLags([0, one.lags[1], one.lags[2]]);
          const before = stored();
          const ids = await walk(world.bindingsWith(one.during));
          expect(new Set(ids).size, "no record twice").toBe(ids.length);
          expect(ids).toEqual(ids.toSorted().reverse());
          expect(ids).toEqual(expect.arrayContaining(before));
        } else await world.apply(one);
      }
      world.setLags([0, 0, 0]);
      while (await poll(world.bindings));
      const last = [...world.history].flatMap(([id, all]) =>
        all.length > 0 ? [[id, all.at(-1)]] : [],
      );
      expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(last));
      expect(await walk(world.bindings)).toEqual(stored().toSorted().reverse());
      const headers = { token: ADMIN };
      const count = await app.request(
        "/api/v1/payment/count?network=Preprod&days=1",
        { headers },
        world.bindings,
      );
      const { data } = (await count.json()) as {
        data: { total: number; byDay: { total: number }[] };
      };
      expect(data).toMatchObject({ total: last.length, byDay: [{ total: last.length }] });
      const body = JSON.stringify({
        network: "Preprod",
        blockchainIdentifiers: world.records.map((one) => one.blockchainIdentifier),
      });
      const resolved = await app.request(
        "/api/v1/payment/resolve-blockchain-identifier",
        { method: "POST", headers: { ...headers, "content-type": "application/json" }, body },
        world.bindings,
      );
      const found = (await resolved.json()) as { data: { Payments: Item[] } };
      expect(found.data.Payments.map(({ id, resultHash }) => [id, resultHash])).toEqual(
        world.records.flatMap(({ id }) => {
          const result = world.history.get(id)?.at(-1);
          return result === undefined ? [] : [[id, result]];
        }),
      );
    },
  );
  await fc.assert(property, runs(10, 300));
});

it("A page has no record that is newer than the database that it began with", async () => {
  const world = await World.create();
  const path = "/payment/diff/onchain-state-or-result?network=Preprod&limit=10";
  const move = { do: "move", full: 0, stopsAt: 0, during: null } as const;
  await world.apply({ do: "write", picks: [1] });
  await world.apply({ do: "end", picks: [0] });
  await world.apply(move);
  world.setLags([0, 0, 0]);
  const [first] = await world.ask(path, world.bindings);
  // Another record changes first. Then the archived one returns, changes and moves again.
  await world.apply({ do: "write", picks: [1] });
  await world.apply({ do: "end", picks: [0] });
  await world.apply(move);
  for (let lag = 0; lag < 12; lag++) {
    const seen = new Map<string, string>();
    let last = first;
    for (const behind of [lag, 0, 0]) {
      world.setLags([behind, 0, 0]);
      const from = `&cursorId=${last?.id}&lastUpdate=${last?.onChainStateOrResultLastChangedAt}`;
      const items = await world.ask(`${path}${from}`, world.bindings);
      for (const { id, resultHash } of items) seen.set(id, resultHash);
      last = items.at(-1) ?? last;
    }
    for (const { id } of world.records.slice(0, 2))
      expect(seen.get(id), `behind by ${lag} commits`).toBe(world.history.get(id)?.at(-1));
  }
});
