import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import {
  createClient,
  type Feed,
  follow,
  inboxFeed,
  paymentFeed,
  purchaseFeed,
  registryFeed,
} from "../../client/index.ts";
import { emptyTables } from "../support/app.ts";
import { service } from "../support/client.ts";
import { runs } from "../support/effort.ts";
import { EntryWriter, registered } from "../support/registry/entries.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";

beforeEach(emptyTables);

const { client } = service();

type Shown = { id: string; resultHash: string };

describe("follow", () => {
  it("loses nothing, whatever changes between pages and wherever it is started again", async () => {
    const step = fc.record({
      change: fc.uniqueArray(fc.nat(5), { maxLength: 6 }),
      read: fc.nat(8),
      limit: fc.integer({ min: 1, max: 3 }),
      side: fc.constantFrom("purchase", "payment"),
    });
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 8 }),
      async (steps) => {
        await emptyTables();
        const writer = await Writer.create(env.DB);
        const sides = { purchase: purchaseFeed, payment: paymentFeed };
        const records = Object.keys(sides).flatMap((side) =>
          Array.from({ length: 6 }, () => makeRecord(side as keyof typeof sides)),
        );
        const kept: Record<string, string> = {};
        const seen = new Map<string, string>();
        const read = async (side: keyof typeof sides, limit: number, most: number) => {
          const from = kept[side];
          const feed: Feed<Shown> = sides[side](client, "Preprod", { limit });
          for await (const change of follow(feed, { from, once: true })) {
            seen.set(change.item.id, change.item.resultHash);
            kept[side] = change.position;
            if (--most < 0) break;
          }
        };
        const expected = new Map<string, string>();
        for (const { change, read: most, limit, side } of steps) {
          const changed = records.filter((_, i) => change.includes(i % 6));
          if (changed.length > 0)
            for (const [id, hash] of await writer.change(changed)) expected.set(id, hash);
          await read(side as keyof typeof sides, limit, most);
        }
        for (const side of ["purchase", "payment"] as const) await read(side, 2, 100);
        expect(seen).toEqual(expected);
      },
    );
    await fc.assert(property, runs(4, 60));
  });

  it("follows the registry too, waits at the end, and asks there on the condition of a change", async () => {
    const writer = await EntryWriter.create();
    await writer.write({ a: registered("a"), b: registered("b") });
    const { client, sent } = service();
    const given = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      const options = { everyMs: 1, signal: given.signal };
      for await (const { item } of follow(registryFeed(client, "Preprod"), options)) {
        seen.push(item.name);
        if (seen.length === 3) given.abort(new Error("enough"));
      }
    })().catch((error: unknown) => error);
    await expect.poll(() => seen).toEqual(["a", "b"]);
    await expect.poll(() => sent.at(-1)?.headers.has("if-none-match")).toBe(true);
    await writer.write({ c: registered("c") });
    expect(await following).toMatchObject({ message: "enough" });
    expect(seen).toEqual(["a", "b", "c"]);
    for await (const _ of follow(inboxFeed(client, "Preprod"), { once: true })) expect.fail();
  });

  it("waits out failures of the service, and ends with what waiting does not mend", async () => {
    const answers = [503, 401];
    const client = createClient({
      baseUrl: "http://service.test",
      attempts: 1,
      fetch: async () => Response.json({ status: "error" }, { status: answers.shift() ?? 200 }),
    });
    const errors: unknown[] = [];
    const options = { everyMs: 1, onError: (error: unknown) => errors.push(error) };
    const feed = purchaseFeed(client, "Preprod");
    await expect(follow(feed, options).next()).rejects.toMatchObject({ status: 401 });
    expect(errors).toMatchObject([{ status: 503 }]);
    await expect(follow(feed, { from: "yesterday" }).next()).rejects.toThrow("no position");
  });
});
