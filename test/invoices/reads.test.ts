import { env } from "cloudflare:workers";
import { getTableColumns } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { escrow } from "../../src/escrow/store/tables.ts";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { ask, BUYER_VKEY, IN_MONTH, MONTH, pay, SELLER_VKEY, send } from "./support.ts";

const OTHER_SELLER = "33".repeat(28);
const MONTH_SECONDS = 31 * 24 * 60 * 60;

beforeEach(emptyTables);

/** A D1 that looks at what the statements on payments and invoices cost. */
function watchedD1() {
  const seen = { rowsRead: 0, mostRows: 0 };
  const d1 = wrapD1(env.DB, async ({ sql }, run) => {
    const answer = await run();
    for (const [i, result] of ([answer].flat() as D1Result[]).entries()) {
      if (!/\b(FROM|JOIN|INTO) (escrow|invoice_base|invoiced_payment)\b/.test(sql[i] ?? ""))
        continue;
      seen.rowsRead += result.meta?.rows_read ?? 0;
      seen.mostRows = Math.max(seen.mostRows, result.results?.length ?? 0);
    }
    return answer;
  });
  return { d1, seen };
}

describe("the rows that the database reads", () => {
  /** Three payments of the buyer in the month, among a hundred other payments. */
  async function history(): Promise<void> {
    const past = (months: number) => ({ blockTime: IN_MONTH - months * MONTH_SECONDS });
    await pay(...Array.from({ length: 100 }, (_, i) => past(1 + (i % 20))));
    await pay(
      ...Array.from({ length: 100 }, (_, i) => ({ buyerVkey: `${10 + (i % 9)}`.repeat(28) })),
    );
    await ask({ month: "2025-08" });
    await pay({}, {}, {});
  }

  it("for an invoice are a few for each payment of the month, whatever came before", async () => {
    await history();
    const first = watchedD1();
    expect((await ask({}, { env: { DB: first.d1 } })).status).toBe(200);
    const again = watchedD1();
    expect((await ask({}, { env: { DB: again.d1 } })).status).toBe(200);
    console.info(`rows read: ${first.seen.rowsRead} for three new, ${again.seen.rowsRead} again`);
    expect(again.seen.rowsRead).toBeGreaterThan(3);
    expect(first.seen.rowsRead).toBeLessThanOrEqual(60);
    expect(again.seen.rowsRead).toBeLessThanOrEqual(45);
  });

  it("for a buyer's payments without an invoice are a few for each payment of the month", async () => {
    await history();
    const { d1, seen } = watchedD1();
    const path = `monthly/missing?network=Preprod&month=${MONTH}&buyerWalletVkey=${BUYER_VKEY}`;
    const { data } = await send("GET", path, undefined, { env: { DB: d1 } });
    expect(data.UninvoicedPayments).toHaveLength(3);
    console.info(`rows read: ${seen.rowsRead} for a list of three`);
    expect(seen.rowsRead).toBeGreaterThan(3);
    expect(seen.rowsRead).toBeLessThanOrEqual(40);
  });
});

describe("the rows in memory", () => {
  it("are those of the requested seller", async () => {
    const others = Array.from({ length: 20 }, () => ({ sellerVkey: OTHER_SELLER }));
    await pay({}, {}, ...others);
    const { d1, seen } = watchedD1();
    const answer = await ask({ sellerWalletVkey: SELLER_VKEY }, { env: { DB: d1 } });
    expect(answer.status).toBe(200);
    expect(seen.mostRows).toBe(2);
  });

  it("are at most one more than an invoice covers, and then the answer is 409", async () => {
    const [id] = await pay({});
    const changed: Record<string, string> = {
      ...{ id: "id || i", identifier_hash: "i" },
      ...{ chain_changed_at: "i", action_changed_at: "i", changed_at: "i" },
    };
    const columns = Object.values(getTableColumns(escrow)).map(({ name }) => name);
    await env.DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20010)
       INSERT INTO escrow (${columns.join()})
       SELECT ${columns.map((name) => changed[name] ?? name).join()} FROM escrow, n WHERE id = ?`,
    )
      .bind(id)
      .run();
    const { d1, seen } = watchedD1();
    const answer = await ask({}, { env: { DB: d1 } });
    expect(answer.status).toBe(409);
    expect(answer.message).toContain("20000 payments");
    expect(seen.mostRows).toBe(20_001);
  });
});
