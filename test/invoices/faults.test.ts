import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { sweep } from "../support/effort.ts";
import { ask, BUYER, documents, pay, send, signed } from "./support.ts";

beforeEach(emptyTables);

/** Every number of a series once, from 1 on. */
async function expectGapless(): Promise<void> {
  const series = new Map<number, number[]>();
  for (const { year, sequence } of await documents())
    series.set(year, [...(series.get(year) ?? []), sequence]);
  for (const numbers of series.values())
    expect([...numbers].sort((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1));
  const { results } = await env.DB.prepare("SELECT year, last FROM invoice_series").all<{
    year: number;
    last: number;
  }>();
  for (const { year, last } of results) expect(series.get(year)).toHaveLength(last);
}

/** Every payment on one invoice base, and every base with one invoice that stands. */
async function expectWhole(payments: number): Promise<void> {
  const covered = await env.DB.prepare("SELECT 1 FROM invoiced_payment").all();
  const all = await documents();
  expect(covered.results).toHaveLength(all.length === 0 ? 0 : payments);
  const invoices = all.filter(({ kind }) => kind === "Invoice");
  const cancellations = all.filter(({ kind }) => kind === "Cancellation");
  const bases = new Set(invoices.map(({ base_id }) => base_id));
  expect(invoices.length - cancellations.length).toBe(bases.size);
  const audit = await env.DB.prepare(
    "SELECT target FROM audit WHERE action = 'invoice.issue'",
  ).all();
  expect(audit.results).toHaveLength(invoices.length);
}

describe("an invoice that stops at any step of the database and is requested again", () => {
  it.each(["before", "after"] as const)(
    "leaves nothing or a whole revision, and no gap, when it stops %s the step",
    async (when) => {
      const run = async (k: number) => {
        await emptyTables();
        await pay({}, {});
        await ask();
        let steps = 0;
        const d1 = wrapD1(env.DB, async (_, call) => {
          const n = ++steps;
          if (n > k || (n === k && when === "before")) throw new Error("the process was stopped");
          const result = await call();
          if (n === k) throw new Error("the process was stopped");
          return result;
        });
        const change = { Buyer: { ...BUYER, city: "Kiel" } };
        await ask(change, { env: { DB: d1 }, key: "same" });
        await expectWhole(2);
        await expectGapless();

        const answer = await ask(change, { key: "same" });
        expect(answer.status, `stopped at ${k}`).toBe(200);
        expect((await documents()).length).toBe(3);
        await expectWhole(2);
        await expectGapless();
        expect((await ask(change)).data.invoice).toBe(answer.data.invoice);
        return steps;
      };
      const steps = await run(Number.POSITIVE_INFINITY);
      console.info(`steps of one revision: ${steps}`);
      expect(steps).toBeGreaterThanOrEqual(7);
      for (const k of sweep(15, steps)) await run(k);
    },
  );
});

describe("a database whose answers are lost", () => {
  it("issues one revision when every second call applies and then fails", async () => {
    await pay({}, {});
    let calls = 0;
    const d1 = wrapD1(env.DB, async (_, call) => {
      const result = await call();
      if (++calls % 2 === 0) throw new Error("D1_ERROR: Network connection lost.");
      return result;
    });
    const answer = await ask({}, { env: { DB: d1 } });
    expect(answer.status).toBe(200);
    expect(await documents()).toHaveLength(1);
    expect((await ask()).data.invoice).toBe(answer.data.invoice);
  });
});

describe("requests at the same time", () => {
  it("for one month create one revision, whose bytes all of them get", async () => {
    await pay({}, {}, {});
    const body = signed();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => send("POST", "monthly", body)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(new Set(answers.map(({ data }) => data.invoice)).size).toBe(1);
    expect(await documents()).toHaveLength(1);
    await expectGapless();
  });

  it("for different buyers of a seller get numbers without a gap", async () => {
    const buyers = Array.from({ length: 6 }, (_, index) => `${index}`.repeat(56));
    await pay(...buyers.map((buyerVkey) => ({ buyerVkey })));
    const answers = await Promise.all(buyers.map((buyerWalletVkey) => ask({ buyerWalletVkey })));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(await documents()).toHaveLength(6);
    await expectGapless();
  });

  it("with different changes create one revision after the other", async () => {
    await pay({});
    await ask();
    const cities = ["Kiel", "Bonn", "Jena"];
    const answers = await Promise.all(cities.map((city) => ask({ Buyer: { ...BUYER, city } })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await documents()).map(({ kind }) => kind).sort()).toEqual([
      ...Array(3).fill("Cancellation"),
      ...Array(4).fill("Invoice"),
    ]);
    await expectGapless();
    await expectWhole(1);
  });

  it("never let a slow request replace a newer invoice by older data", async () => {
    await pay({});
    let newer: string | null = null;
    const d1 = wrapD1(env.DB, async ({ sql }, run) => {
      const result = await run();
      if (newer === null && sql.some((one) => one.includes("FROM escrow"))) {
        newer = "";
        await pay({});
        newer = (await ask()).data.invoice;
      }
      return result;
    });
    // A read that takes too long is sent again, and would then see the newer invoice.
    const slow = await ask({}, { env: { DB: d1, REQUEST_DEADLINE_MS: "60000" } });
    expect(newer).not.toBeNull();
    expect(slow.data.invoice).toBe(newer);
    expect(slow.data.cancellationInvoice).toBeUndefined();
    expect(await documents()).toHaveLength(1);
    await expectWhole(2);
  });
});
