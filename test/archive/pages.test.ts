import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import { unpackHexSql } from "../../src/db/hex-column.ts";
import { app, emptyTables } from "../support/app.ts";
import { ARCHIVE_TABLES, emptyArchives } from "../support/archives.ts";
import { wrapD1 } from "../support/d1.ts";
import { runs } from "../support/effort.ts";
import { insertKey } from "../support/keys.ts";
import { ReplicatedD1 } from "../support/replicas.ts";
import {
  ArchiveStory,
  type Change,
  change,
  FINAL_AFTER_BLOCKS,
  makeRecords,
  UNDISTURBED,
  WALLETS,
} from "./story/archive-story.ts";

const ADMIN = env.ADMIN_KEY ?? "";
const RECORDS = makeRecords();
const PAYMENTS = RECORDS.filter(({ side }) => side === "payment");
const OF_WALLET = PAYMENTS.filter(({ wallet }) => wallet?.id === WALLETS[0]);

interface Item {
  id: string;
  resultHash: string | null;
  onChainStateOrResultLastChangedAt: string;
}

/** What a payment was from a change on. */
interface State {
  stamp: number;
  result: string | null;
}

const stateOf = (item: Item): State => ({
  stamp: Date.parse(item.onChainStateOrResultLastChangedAt),
  result: item.resultHash,
});

const lag = fc.nat(4);
const lags = fc.tuple(lag, lag, lag);
/** What happens before a call of a read. */
const during = (calls: number) =>
  fc.option(fc.record({ at: fc.integer({ min: 2, max: calls }), change }));
type During = { at: number; change: Change } | null;
const step = fc.oneof(
  { weight: 2, arbitrary: change },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("poll" as const), lags, during: during(6) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("walk" as const),
      lags,
      isOfWallet: fc.boolean(),
      during: during(12),
    }),
  },
);

/** A service with archives, all of whose databases have replicas that lag. */
class World {
  readonly #story: ArchiveStory;
  readonly #databases: readonly ReplicatedD1[];
  readonly #bindings: { DB: D1Database; ARCHIVE_1: D1Database; ARCHIVE_2: D1Database };
  /** Every state that a payment had, oldest first. */
  readonly history: ReadonlyMap<string, State[]>;
  /** A key that is bound to a wallet. */
  readonly #key: string;

  private constructor(world: {
    story: ArchiveStory;
    databases: readonly ReplicatedD1[];
    bindings: { DB: D1Database; ARCHIVE_1: D1Database; ARCHIVE_2: D1Database };
    history: ReadonlyMap<string, State[]>;
    key: string;
  }) {
    this.#story = world.story;
    this.#databases = world.databases;
    this.#bindings = world.bindings;
    this.history = world.history;
    this.#key = world.key;
  }

  static async begin(): Promise<World> {
    await emptyTables();
    await emptyArchives();
    const key = await insertKey({ walletLimit: [WALLETS[0]], canPay: true });
    const standIn = env.TEST_ARCHIVE_3;
    const hot = await ReplicatedD1.create();
    const [first, second] = await Promise.all(
      [env.ARCHIVE_1, env.TEST_ARCHIVE_2].map((primary) =>
        ReplicatedD1.create({ primary, standIn, tables: ARCHIVE_TABLES }),
      ),
    );
    if (!first || !second) throw new Error("there are too few archives");
    const history = new Map<string, State[]>();
    const DB = wrapD1(hot.d1, async ({ kind }, run) => {
      const result = await run();
      if (kind === "batch") await addStates(history);
      return result;
    });
    const bindings = { DB, ARCHIVE_1: first.d1, ARCHIVE_2: second.d1 };
    const story = await ArchiveStory.begin(bindings, RECORDS);
    return new World({ story, databases: [hot, first, second], bindings, history, key });
  }

  get bindings() {
    return { ...env, ...this.#bindings };
  }

  /** The same, with a change before a call of the database or an archive. */
  bindingsWith(during: During) {
    let calls = 0;
    const wrap = (d1: D1Database) =>
      wrapD1(d1, async (_, run) => {
        if (during && ++calls === during.at) await this.apply(during.change);
        return run();
      });
    const { DB, ARCHIVE_1, ARCHIVE_2 } = this.#bindings;
    return { ...env, DB: wrap(DB), ARCHIVE_1: wrap(ARCHIVE_1), ARCHIVE_2: wrap(ARCHIVE_2) };
  }

  apply(one: Change): Promise<void> {
    return this.#story.apply(one, (disturbance) => this.#story.follow(Date.now(), disturbance));
  }

  async ask(path: string, bindings: object, isOfWallet = false): Promise<Item[]> {
    const headers = { token: isOfWallet ? this.#key : ADMIN };
    const answer = await app.request(`/api/v1${path}`, { headers }, bindings);
    expect(answer.status, await answer.clone().text()).toBe(200);
    const { data } = (await answer.json()) as { data: { Payments: Item[] } };
    for (const item of data.Payments)
      expect(this.history.get(item.id), "is a state that the payment had").toContainEqual(
        stateOf(item),
      );
    return data.Payments;
  }

  setLags(lags: readonly number[]): void {
    for (const [i, database] of this.#databases.entries()) database.lag = lags[i] ?? 0;
  }

  /** Ids of the payments that are stored, the newest first. */
  listStored(isOfWallet = false): string[] {
    return (isOfWallet ? OF_WALLET : PAYMENTS)
      .flatMap(({ id }) => (this.history.has(id) ? [id] : []))
      .toSorted()
      .reverse();
  }
}

/** Each commit of a payment's change leaves the payment in the database. */
async function addStates(history: Map<string, State[]>): Promise<void> {
  const { results } = await env.DB.prepare(
    `SELECT id, chain_changed_at AS stamp, ${unpackHexSql("result_hash")} AS result
     FROM escrow WHERE side = 'payment'`,
  ).all<State & { id: string }>();
  for (const { id, ...state } of results) {
    const known = history.get(id) ?? [];
    if (known.at(-1)?.stamp !== state.stamp) history.set(id, [...known, state]);
  }
}

/** Follows the diff from 1970 on. */
class Poller {
  readonly #world: World;
  readonly #limit: number;
  readonly seen = new Map<string, State>();
  #position = "";

  constructor(world: World, limit: number) {
    this.#world = world;
    this.#limit = limit;
  }

  /** @returns whether there was something new */
  async poll(bindings: object): Promise<boolean> {
    const items = await this.#world.ask(
      `/payment/diff/onchain-state-or-result?network=Preprod&limit=${this.#limit}${this.#position}`,
      bindings,
    );
    for (const item of items) {
      const state = stateOf(item);
      const before = this.seen.get(item.id)?.stamp ?? 0;
      expect(state.stamp, "is no older than before").toBeGreaterThanOrEqual(before);
      this.seen.set(item.id, state);
    }
    const last = items.at(-1);
    const before = this.#position;
    if (last)
      this.#position = `&cursorId=${last.id}&lastUpdate=${last.onChainStateOrResultLastChangedAt}`;
    return this.#position !== before;
  }
}

it("Pages show what one database shows, whatever moves, stops, returns and lags meanwhile", async () => {
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 6, maxLength: 24 }),
    fc.integer({ min: 1, max: 5 }),
    async (steps, limit) => {
      const world = await World.begin();
      const poller = new Poller(world, limit);
      /** Ids of all pages of the list. */
      const walk = async (bindings: object, isOfWallet: boolean) => {
        const ids: string[] = [];
        for (let cursor = ""; ; ) {
          const path = `/payment?network=Preprod&limit=${limit}${cursor}`;
          const items = await world.ask(path, bindings, isOfWallet);
          ids.push(...items.map(({ id }) => id));
          if (items.length < limit) return ids;
          cursor = `&cursorId=${ids.at(-1)}`;
        }
      };

      for (const one of steps) {
        if (one.do === "poll") {
          world.setLags(one.lags);
          await poller.poll(world.bindingsWith(one.during));
        } else if (one.do === "walk") {
          const [, first, second] = one.lags;
          world.setLags([0, first, second]);
          const before = world.listStored(one.isOfWallet);
          const ids = await walk(world.bindingsWith(one.during), one.isOfWallet);
          expect(new Set(ids).size, "no record twice").toBe(ids.length);
          expect(ids).toEqual(ids.toSorted().reverse());
          expect(ids).toEqual(expect.arrayContaining(before));
        } else await world.apply(one);
      }
      world.setLags([0, 0, 0]);
      while (await poller.poll(world.bindings));
      const last = [...world.history].flatMap(([id, all]) => all.slice(-1).map((one) => [id, one]));
      expect(Object.fromEntries(poller.seen)).toEqual(Object.fromEntries(last));
      for (const isOfWallet of [false, true])
        expect(await walk(world.bindings, isOfWallet)).toEqual(world.listStored(isOfWallet));
      await expectFound(world);
    },
  );
  await fc.assert(property, runs(10, 300));
});

/** Counts and look-ups find what is stored. */
async function expectFound(world: World): Promise<void> {
  const headers = { token: ADMIN, "content-type": "application/json" };
  const { bindings, history } = world;
  const count = await app.request(
    "/api/v1/payment/count?network=Preprod&days=2",
    { headers },
    bindings,
  );
  const { data } = (await count.json()) as { data: { total: number; byDay: { total: number }[] } };
  expect(data.total).toBe(history.size);
  expect(data.byDay.reduce((sum, { total }) => sum + total, 0)).toBe(history.size);
  const blockchainIdentifiers = PAYMENTS.map((one) => one.blockchainIdentifier);
  const body = JSON.stringify({ network: "Preprod", blockchainIdentifiers });
  const resolved = await app.request(
    "/api/v1/payment/resolve-blockchain-identifier",
    { method: "POST", headers, body },
    bindings,
  );
  const found = (await resolved.json()) as { data: { Payments: Item[] } };
  expect(found.data.Payments.map((item) => [item.id, stateOf(item)])).toEqual(
    PAYMENTS.flatMap(
      ({ id }) =>
        history
          .get(id)
          ?.slice(-1)
          .map((state) => [id, state]) ?? [],
    ),
  );
}

it("A page has no record that is newer than the database that it began with", async () => {
  const world = await World.begin();
  const path = "/payment/diff/onchain-state-or-result?network=Preprod&limit=10";
  const apply = async (...changes: Parameters<World["apply"]>[0][]) => {
    for (const one of changes) await world.apply(one);
  };
  const step = (pick: number, isEnd: boolean): Change => ({
    ...{ do: "step", picks: [pick], isEnd },
    ...UNDISTURBED,
  });
  const move: Change[] = [
    { do: "grow", blocks: FINAL_AFTER_BLOCKS, ...UNDISTURBED },
    { do: "move", isFirstFull: false, ...UNDISTURBED },
  ];
  await apply(step(1, false), step(0, true), ...move);
  world.setLags([0, 0, 0]);
  const [first] = await world.ask(path, world.bindings);
  // Another record changes first. Then the archived one returns, changes and moves again.
  await apply(step(1, false), step(0, true), ...move);
  for (let lag = 0; lag < 24; lag++) {
    const seen = new Map<string, State>();
    let last = first;
    for (const behind of [lag, 0, 0]) {
      world.setLags([behind, 0, 0]);
      const from = `&cursorId=${last?.id}&lastUpdate=${last?.onChainStateOrResultLastChangedAt}`;
      const items = await world.ask(`${path}${from}`, world.bindings);
      for (const item of items) seen.set(item.id, stateOf(item));
      last = items.at(-1) ?? last;
    }
    for (const { id } of PAYMENTS.slice(0, 2))
      expect(seen.get(id), `behind by ${lag} commits`).toEqual(world.history.get(id)?.at(-1));
  }
});
