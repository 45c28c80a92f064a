/** What a purchase takes of its key's limits, and gives back: exactly that, whatever becomes of the limits. */

import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { returnCharges } from "../../../src/escrow/purchases/charges.ts";
import { restoreCharges } from "../../../src/escrow/store/write-changes.ts";
import { emptyTables } from "../../support/app.ts";
import { runs } from "../../support/effort.ts";
import { PurchaseFixture } from "../../support/escrow/purchase-fixture.ts";
import { insertKey } from "../../support/keys.ts";

beforeEach(emptyTables);
afterEach(() => vi.useRealTimers());

/** Native minor units of each purchase. */
const PRICE = 5_000_000;
const KEY = "key";
/** How long the service may act on a key as it was. */
const CACHED_MS = 8_000;
const limitOf = (amount: number) => [{ network: "Preprod", unit: "", amount: String(amount) }];
const database = () => openDb(env, "Preprod", { writes: "idempotent" });

/** A key's limits and what it has used of them. */
interface Limits {
  /** Minor units; null: not limited. */
  spending: number | null;
  spent: number;
  isMetered: boolean;
  maxCredits: number;
  credits: number;
}

async function limitsOfKey(): Promise<Limits> {
  const [row] = await openDb(env).all<Omit<Limits, "isMetered"> & { isMetered: number }>(
    `SELECT spending_limits->>'$[0].amount' AS spending, usage_limited AS isMetered,
       max_usage_credits AS maxCredits, accumulated_usage_credits AS credits,
       coalesce((SELECT sum(spent) FROM key_spending WHERE api_key_id = api_key.id), 0) AS spent
     FROM api_key WHERE id = ?`,
    KEY,
  );
  if (!row) throw new Error("there is no such key");
  const { spending, isMetered } = row;
  return { ...row, spending: spending && Number(spending), isMetered: isMetered === 1 };
}

/** What the purchases that are open or locked were charged. */
async function held(): Promise<{ spent: number; credits: number }> {
  const [row] = await openDb(env).all<{ spent: number; credits: number }>(
    `SELECT coalesce(sum(is_spent), 0) * ${PRICE} AS spent, coalesce(sum(credits), 0) AS credits
     FROM escrow JOIN escrow_request ON record_id = escrow.id WHERE charge = 'held'`,
  );
  return row ?? { spent: 0, credits: 0 };
}

/** A service whose agent asks for `PRICE`, and a key that buys there. */
class Buyer {
  readonly fixture: PurchaseFixture;
  readonly #headers: { token: string };

  private constructor(fixture: PurchaseFixture, token: string) {
    this.fixture = fixture;
    this.#headers = { token };
  }

  static async open(limits: Partial<Parameters<typeof insertKey>[0]>): Promise<Buyer> {
    vi.useFakeTimers({ toFake: ["Date"] });
    const fixture = await PurchaseFixture.open();
    return new Buyer(fixture, await insertKey({ id: KEY, canPay: true, ...limits }));
  }

  /** @returns the identifier of the purchase; null: it was refused for lack of funds */
  async buy(): Promise<string | null> {
    const quote = await this.fixture.quote();
    const { status, message } = await this.fixture.purchase(quote, {}, this.#headers);
    if (status !== 200) {
      expect({ status, message }).toEqual({ status: 400, message: "Insufficient funds" });
      return null;
    }
    return quote.blockchainIdentifier;
  }

  async cancel(blockchainIdentifier: string): Promise<void> {
    const body = { network: "Preprod", blockchainIdentifier };
    const { status, message } = await this.fixture.ask("/purchase/cancel", body, this.#headers);
    expect([status, message]).toEqual([200, ""]);
  }

  /** Changes the key as an Admin. */
  async change(fields: object): Promise<number> {
    const { fixture } = this.fixture.quotes;
    return (await fixture.ask("PATCH", "/api-key", { id: KEY, ...fields })).status;
  }

  /** Ends a purchase as the sync does when nothing can be locked any more. */
  async expire(blockchainIdentifier: string): Promise<void> {
    await env.DB.prepare(
      "UPDATE escrow SET intent = NULL, expired_at = ? WHERE blockchain_identifier = unhex(?) AND side = 'purchase'",
    )
      .bind(Date.now(), blockchainIdentifier)
      .run();
    await returnCharges(database(), "Preprod");
  }

  async idOf(blockchainIdentifier: string): Promise<string> {
    const sql =
      "SELECT id FROM escrow WHERE blockchain_identifier = unhex(?) AND side = 'purchase'";
    const id = await env.DB.prepare(sql).bind(blockchainIdentifier).first<string>("id");
    return id ?? "";
  }

  /** Has the service forget what it has cached of the key. */
  forgetKey(): void {
    vi.setSystemTime(Date.now() + CACHED_MS);
  }
}

describe("A purchase that is cancelled", () => {
  it("gives back nothing where the spending limit was lifted as it was made", async () => {
    const buyer = await Buyer.open({ spendingLimits: limitOf(PRICE) });
    expect(await buyer.buy()).not.toBeNull();
    await buyer.change({ spendingLimits: null });
    const uncharged = await buyer.buy();
    await buyer.cancel(uncharged ?? "");
    await buyer.change({ spendingLimits: limitOf(PRICE) });
    expect((await limitsOfKey()).spent).toBe(PRICE);
    expect(await buyer.buy()).toBeNull();
  });

  it("gives back no credit where the credits' limit was lifted as it was made", async () => {
    const buyer = await Buyer.open({ usageLimited: true, maxUsageCredits: 1 });
    expect(await buyer.buy()).not.toBeNull();
    await buyer.change({ usageLimited: false });
    const uncharged = await buyer.buy();
    await buyer.cancel(uncharged ?? "");
    await buyer.change({ usageLimited: true });
    expect((await limitsOfKey()).credits).toBe(1);
    expect(await buyer.buy()).toBeNull();
  });

  it("gives back what it was charged, though the limit was lifted since", async () => {
    const buyer = await Buyer.open({ spendingLimits: limitOf(PRICE) });
    const charged = await buyer.buy();
    await buyer.change({ spendingLimits: null });
    await buyer.cancel(charged ?? "");
    expect((await limitsOfKey()).spent).toBe(0);
  });
});

it("A limit that was set just now counts for the next purchase", async () => {
  const buyer = await Buyer.open({});
  expect(await buyer.buy()).not.toBeNull();
  await buyer.change({ spendingLimits: limitOf(PRICE) });
  expect(await buyer.buy()).not.toBeNull();
  expect(await buyer.buy()).toBeNull();
});

it("A purchase that is charged again gives back only the credits that were left", async () => {
  const buyer = await Buyer.open({ usageLimited: true, maxUsageCredits: 2 });
  const [first, second] = [(await buyer.buy()) ?? "", (await buyer.buy()) ?? ""];
  await buyer.cancel(first);
  await buyer.cancel(second);
  expect(await buyer.buy()).not.toBeNull();
  // Both locks land after all, when one credit is left.
  await database().batch(restoreCharges([await buyer.idOf(first), await buyer.idOf(second)]));
  expect(await limitsOfKey()).toMatchObject({ credits: 2 });
  expect(await held()).toMatchObject({ credits: 2 });
  await buyer.expire(first);
  await buyer.expire(second);
  expect(await limitsOfKey()).toMatchObject({ credits: 1 });
});

type Step =
  | { do: "buy" | "forget key" }
  | { do: "cancel" | "expire"; which: number }
  | { do: "limit spending"; times: number | null }
  | { do: "limit credits"; most: number | null };

const which = fc.nat(9);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ do: "buy" } as const) },
  fc.constant({ do: "forget key" } as const),
  fc.record({ do: fc.constantFrom("cancel" as const, "expire" as const), which }),
  fc.record({ do: fc.constant("limit spending" as const), times: fc.option(fc.nat(3)) }),
  fc.record({ do: fc.constant("limit credits" as const), most: fc.option(fc.nat(4)) }),
);

it("What a key has used is what its open purchases were charged, and within each limit that charged them", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      await emptyTables();
      const buyer = await Buyer.open({ spendingLimits: limitOf(PRICE) });
      const open: string[] = [];
      for (const one of steps) {
        const before = await limitsOfKey();
        if (one.do === "buy") {
          const bought = await buyer.buy();
          if (bought !== null) open.push(bought);
          const { spent, credits } = await limitsOfKey();
          if (spent > before.spent) expect(spent).toBeLessThanOrEqual(before.spending ?? 0);
          if (credits > before.credits) expect(credits).toBeLessThanOrEqual(before.maxCredits);
          // A limit of spending binds at once, whatever is cached of the key.
          if (bought !== null && before.spending !== null) expect(spent).toBe(before.spent + PRICE);
        }
        if (one.do === "forget key") buyer.forgetKey();
        if (one.do === "cancel" || one.do === "expire") {
          const [ended] = open.splice(one.which % Math.max(open.length, 1), 1);
          if (ended !== undefined) await buyer[one.do](ended);
        }
        if (one.do === "limit spending")
          await buyer.change({
            spendingLimits: one.times === null ? null : limitOf(one.times * PRICE),
          });
        if (one.do === "limit credits")
          await buyer.change(
            one.most === null
              ? { usageLimited: false }
              : { usageLimited: true, maxUsageCredits: one.most },
          );
        const after = await limitsOfKey();
        expect({ spent: after.spent, credits: after.credits }).toEqual(await held());
      }
      vi.useRealTimers();
    }),
    runs(6, 60),
  );
});
