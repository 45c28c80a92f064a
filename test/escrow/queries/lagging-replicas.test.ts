import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { EscrowRecord } from "../../../src/escrow/model/escrow-record.ts";
import { app, emptyTables } from "../../support/app.ts";
import { runs } from "../../support/effort.ts";
import { ReplicatedD1 } from "../../support/replicas.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";

const ADMIN = env.ADMIN_KEY ?? "";

interface Item {
  id: string;
  resultHash: string;
  onChainStateOrResultLastChangedAt: string;
}

/** A client that polls a diff by the rules, with the tag of the last answer to the same URL. */
class Poller {
  readonly seen = new Map<string, string>();
  readonly #tags = new Map<string, string>();
  readonly #bindings: object;
  readonly #limit: number;
  #position = "";
  /** Null: the client sends none. */
  bookmark: string | null;

  constructor(bindings: object, limit: number, bookmark: string | null) {
    this.#bindings = bindings;
    this.#limit = limit;
    this.bookmark = bookmark;
  }

  /** @returns whether there was news, and the items of the answer */
  async poll(): Promise<{ isNews: boolean; items: Item[] }> {
    const url = `/api/v1/payment/diff/onchain-state-or-result?network=Preprod&limit=${this.#limit}${this.#position}`;
    const tag = this.#tags.get(url);
    const headers = {
      token: ADMIN,
      ...(tag !== undefined && { "if-none-match": tag }),
      ...(this.bookmark !== null && { "x-d1-bookmark": this.bookmark }),
    };
    const answer = await app.request(url, { headers }, this.#bindings);
    if (this.bookmark !== null) this.bookmark = answer.headers.get("x-d1-bookmark");
    this.#tags.set(url, answer.headers.get("etag") ?? "");
    if (answer.status === 304) return { isNews: false, items: [] };
    expect(answer.status).toBe(200);
    const { data } = (await answer.json()) as { data: { Payments: Item[] } };
    for (const { id, resultHash } of data.Payments) this.seen.set(id, resultHash);
    const last = data.Payments.at(-1);
    const before = this.#position;
    if (last)
      this.#position = `&cursorId=${last.id}&lastUpdate=${last.onChainStateOrResultLastChangedAt}`;
    return { isNews: this.#position !== before, items: data.Payments };
  }
}

const write = fc.record({
  do: fc.constant("write" as const),
  picks: fc.array(fc.nat(9), { minLength: 1, maxLength: 4 }),
});
const step = fc.oneof(
  write,
  fc.record({ do: fc.constant("tip" as const) }),
  fc.record({ do: fc.constant("poll" as const), lag: fc.nat(5) }),
  // A write of the client itself, and a poll with the bookmark of the answer.
  fc.record({ do: fc.constant("own" as const), lag: fc.nat(5) }),
);

it("A poller of lagging replicas is late at most, and with its bookmark never behind itself", async () => {
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 4, maxLength: 24 }),
    fc.integer({ min: 1, max: 5 }),
    async (steps, limit) => {
      await emptyTables();
      const writer = await Writer.create(env.DB);
      const replicated = await ReplicatedD1.create();
      const bindings = { ...env, DB: replicated.d1 };
      const records: EscrowRecord[] = Array.from({ length: 10 }, () => makeRecord("payment"));
      /** Every result that a record had, oldest first. */
      const history = new Map<string, string[]>(records.map(({ id }) => [id, []]));
      const results = () =>
        [...history].flatMap(([id, all]) => (all.length > 0 ? [[id, all.at(-1)]] : []));
      const plain = new Poller(bindings, limit, null);
      const bound = new Poller(bindings, limit, "0-0");
      /** Of what the second poller has seen, how old it is. */
      const reached = new Map<string, number>();

      const poll = async (poller: Poller) => {
        const { isNews, items } = await poller.poll();
        for (const { id, resultHash } of items) {
          const age = history.get(id)?.indexOf(resultHash) ?? -1;
          expect(age, "is a result that the record had").toBeGreaterThanOrEqual(0);
          if (poller !== bound) continue;
          expect(age, "is no older than before").toBeGreaterThanOrEqual(reached.get(id) ?? 0);
          reached.set(id, age);
        }
        return isNews;
      };
      const catchUp = async (poller: Poller) => {
        while (await poll(poller));
        expect(Object.fromEntries(poller.seen)).toEqual(Object.fromEntries(results()));
      };

      for (const one of steps) {
        if ("lag" in one) replicated.lag = one.lag;
        if (one.do === "write") {
          const picked = [...new Set(one.picks)].flatMap((pick) => records[pick] ?? []);
          for (const [id, result] of await writer.change(picked)) history.get(id)?.push(result);
          await replicated.commit();
        } else if (one.do === "tip") {
          await env.DB.prepare(
            `INSERT INTO chain_tip (network, height) VALUES ('Preprod', 1000)
             ON CONFLICT (network) DO UPDATE SET height = height + 1`,
          ).run();
          await replicated.commit();
        } else if (one.do === "own") {
          const init = { method: "POST", headers: { token: ADMIN }, body: "{}" };
          const answer = await app.request("/api/v1/api-key", init, bindings);
          expect(answer.status).toBe(200);
          bound.bookmark = answer.headers.get("x-d1-bookmark");
          await catchUp(bound);
        } else for (const poller of [plain, bound]) await poll(poller);
      }
      replicated.lag = 0;
      for (const poller of [plain, bound]) await catchUp(poller);
    },
  );
  await fc.assert(property, runs(10, 300));
});
