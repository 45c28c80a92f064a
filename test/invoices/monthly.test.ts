import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import {
  ask,
  BUYER,
  documents,
  IN_MONTH,
  MONTH,
  pay,
  SELLER,
  SELLER_VKEY,
  send,
  signed,
} from "./support.ts";

beforeEach(emptyTables);

/** Lines of the invoice that stands, as quantity × unit price. */
async function billed(month = MONTH): Promise<string[]> {
  const answer = await ask({ month });
  if (answer.status !== 200) return [`${answer.status} ${answer.message}`];
  const content = JSON.parse((await documents()).at(-1)?.content ?? "{}") as {
    lines: { quantity: string; unitPrice: string }[];
  };
  return content.lines.map(({ quantity, unitPrice }) => `${quantity} × ${unitPrice}`);
}

const NOTHING = ["404 No payments are billable for this month and wallet. Check both."];
const second = (iso: string) => Date.parse(iso) / 1000;

describe("POST /invoice/monthly", () => {
  it("answers with a PDF, numbered from 1, and with the same bytes to a repeated request", async () => {
    await pay({}, {});
    const first = await send("POST", "monthly", signed());
    expect(first).toMatchObject({ status: 200, envelope: "Success" });
    expect(first.data).toEqual({
      invoice: expect.any(String),
      xml: expect.stringContaining("<rsm:CrossIndustryInvoice"),
      xmlOmitted: null,
      Conversions: [{ unit: "", amount: "4000000", rate: "0.000005", source: null }],
    });
    expect(atob(first.data.invoice)).toMatch(/^%PDF-1\.7/);
    const again = await send("POST", "monthly", signed());
    expect(again.data).toEqual(first.data);
    const number = expect.stringMatching(/^2025-[0-9A-F]{6}-0001$/);
    expect(await documents()).toMatchObject([
      { kind: "Invoice", revision: 1, sequence: 1, rendered: 1, number },
    ]);
  });

  it("keeps the bytes when the date of issue is omitted and days pass", async () => {
    await pay({});
    const first = await ask({ Invoice: {} });
    await env.DB.prepare(
      `UPDATE invoice_document SET content = json_set(content, '$.issueDate', '2025-10-01')`,
    ).run();
    expect((await ask({ Invoice: {} })).data.invoice).toBe(first.data.invoice);
  });

  it("issues a revision and a cancellation of a changed request, in one gapless series", async () => {
    await pay({});
    const first = await ask();
    const changed = await ask({ Buyer: { ...BUYER, city: "Kiel" } });
    expect(changed.data.invoice).not.toBe(first.data.invoice);
    expect(changed.data.cancellationInvoice).toBeDefined();
    const all = await documents();
    expect(all.map(({ kind, revision }) => `${kind} ${revision}`).sort()).toEqual([
      "Cancellation 1",
      "Invoice 1",
      "Invoice 2",
    ]);
    const cancellation = all.find(({ kind }) => kind === "Cancellation");
    expect(JSON.parse(cancellation?.content ?? "")).toMatchObject({
      buyer: BUYER,
      cancels: { number: all[0]?.number, issueDate: "2025-10-02", reasons: ["buyer"] },
    });
  });

  it("keeps a logo, prints none, and issues a revision when it changes", async () => {
    await pay({});
    const withLogo = (logo?: string) => ask({ Invoice: { idPrefix: "AG", ...(logo && { logo }) } });
    const url = "https://agents.example.com/徽标.png";
    const first = await withLogo(url);
    expect(first.status).toBe(200);
    expect(first.data.xml).not.toContain("徽标");
    expect((await withLogo(url)).data).toEqual(first.data);
    expect(JSON.parse((await documents())[0]?.content ?? "")).toMatchObject({ logo: url });
    const { data } = await withLogo();
    expect(data.cancellationInvoice).toBeDefined();
    const cancellation = (await documents()).find(({ kind }) => kind === "Cancellation");
    expect(JSON.parse(cancellation?.content ?? "")).toMatchObject({
      cancels: { reasons: ["texts"] },
    });
  });

  it("treats null like an omitted member", async () => {
    await pay({});
    const nulls = { email: null, phone: null, companyName: null, vatNumber: null };
    const { email, companyName, ...without } = BUYER;
    const first = await send("POST", "monthly", signed({ Buyer: { ...without, ...nulls } }));
    expect(first.status).toBe(200);
    expect((await send("POST", "monthly", signed({ Buyer: without }))).data).toEqual(first.data);
    expect(await documents()).toHaveLength(1);
  });

  it("bills later payments of the month in a revision with the earlier payments", async () => {
    await pay({});
    expect(await billed()).toEqual(["1 × 8.4033613445"]);
    await pay({}, { funds: [{ unit: "", amount: "4000000" }] });
    expect(await billed()).toEqual(["2 × 8.4033613445", "1 × 16.8067226891"]);
  });

  it("issues a new revision of unchanged data when the request forces it", async () => {
    await pay({});
    await ask();
    const forced = await ask({ forceRegenerate: true });
    expect(forced.data.cancellationInvoice).toBeDefined();
    const [cancellation] = (await documents()).filter(({ kind }) => kind === "Cancellation");
    expect(JSON.parse(cancellation?.content ?? "").cancels.reasons).toEqual(["requested"]);
  });

  it("answers a repeat with one Idempotency-Key with the same documents, forced or not", async () => {
    await pay({});
    await ask();
    const body = { forceRegenerate: true };
    const first = await ask(body, { key: "a" });
    expect((await ask(body, { key: "a" })).data).toEqual(first.data);
    expect(await documents()).toHaveLength(3);
  });

  it("numbers each seller and each year of issue separately", async () => {
    await pay({}, { sellerVkey: "33".repeat(28) });
    await ask({ sellerWalletVkey: SELLER_VKEY });
    await ask({ sellerWalletVkey: "33".repeat(28) });
    await ask({ sellerWalletVkey: SELLER_VKEY, Invoice: { date: "2026-01-05", idPrefix: "AG" } });
    const numbers = (await documents()).map(({ year, sequence, number }) => ({
      year,
      sequence,
      number: number.replace(/[0-9A-F]{6}/, "x"),
    }));
    expect(numbers).toEqual([
      { year: 2025, sequence: 1, number: "2025-x-0001" },
      { year: 2025, sequence: 1, number: "2025-x-0001" },
      { year: 2026, sequence: 1, number: "AG-2026-x-0001" },
      { year: 2026, sequence: 2, number: "AG-2026-x-0002" },
    ]);
  });
});

describe("the currency of an invoice", () => {
  it.each([
    ["JPY", "jpy", "33"],
    ["Kwd", "kwd", "10.000"],
    ["huf", "huf", "10.00"],
  ])(
    "is any currency of ISO 4217 in its minor digits and any case of letters, such as %s",
    async (sent, shown, gross) => {
      await pay({});
      const rate = shown === "jpy" ? 0.0000165 : 0.000005;
      const answer = await ask({ invoiceCurrency: sent, CurrencyConversion: { "": rate } });
      expect(answer.status).toBe(200);
      const { data } = await send("GET", `monthly?network=Preprod&month=${MONTH}`);
      expect(data.Invoices).toMatchObject([{ invoiceCurrency: shown, grossTotal: gross }]);
    },
  );
});

describe("the invoice", () => {
  it("groups equal payments to an agent, with a line for each of several units", async () => {
    const funds = [
      { unit: "aa".repeat(28), amount: "3" },
      { unit: "", amount: "2000000" },
    ];
    await pay({ funds }, { funds: [...funds].reverse() }, { agentIdentifier: "cd".repeat(30) });
    await ask({ CurrencyConversion: { "": 0.000005, ["aa".repeat(28)]: 1 }, vatRate: 0 });
    const [{ content = "" } = {}] = await documents();
    expect(JSON.parse(content).lines).toMatchObject([
      { name: "Agent: ababab…abababababab (1/2)", quantity: "2", unitPrice: "10.00", net: "20.00" },
      { name: "Agent: ababab…abababababab (2/2)", quantity: "2", unitPrice: "3.00", net: "6.00" },
      { name: "Agent: cdcdcd…cdcdcdcdcdcd", quantity: "1", unitPrice: "10.00", net: "10.00" },
    ]);
  });

  it("bills a payment by the block of its withdrawal, from the month's first to its last second", async () => {
    await pay(
      { blockTime: second("2025-08-31T23:59:59Z"), funds: [{ unit: "", amount: "1" }] },
      { blockTime: second("2025-09-01T00:00:00Z") },
      { blockTime: second("2025-09-30T23:59:59Z") },
      { blockTime: second("2025-10-01T00:00:00Z"), funds: [{ unit: "", amount: "1" }] },
    );
    expect(await billed()).toEqual(["2 × 8.4033613445"]);
  });

  it("bills a submitted result from its unlock time on, in the month of that time", async () => {
    const blockTime = second("2025-08-20T00:00:00Z");
    await pay({ state: "ResultSubmitted", blockTime, unlockTime: Date.parse("2025-09-02") });
    expect(await billed("2025-08")).toEqual(NOTHING);
    expect(await billed()).toEqual(["1 × 8.4033613445"]);
  });

  it("bills no submitted result before its unlock time", async () => {
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    await pay({ state: "ResultSubmitted", unlockTime: Date.parse(tomorrow) });
    expect(await billed(tomorrow.slice(0, 7))).toEqual(NOTHING);
  });

  it("bills the seller's share of a dispute, and nothing without a share", async () => {
    const withdrawnForSeller = [
      { unit: "", amount: "1000000" },
      { unit: "aa".repeat(28), amount: "-5" },
    ];
    await pay(
      { state: "DisputedWithdrawn", withdrawnForSeller },
      { state: "DisputedWithdrawn", withdrawnForSeller: [{ unit: "", amount: "-170000" }] },
      { state: "DisputedWithdrawn" },
    );
    expect(await billed()).toEqual(["1 × 4.2016806723"]);
  });

  it.each([
    "FundsLocked",
    "RefundRequested",
    "Disputed",
    "WithdrawAuthorized",
    "RefundAuthorized",
    "RefundWithdrawn",
    "FundsOrDatumInvalid",
  ] as const)("never bills a payment in %s", async (state) => {
    await pay({ state });
    expect(await billed()).toEqual(NOTHING);
  });

  it("never bills a payment twice", async () => {
    const [id] = await pay({ state: "ResultSubmitted", unlockTime: IN_MONTH * 1000 });
    expect(await billed()).toEqual(["1 × 8.4033613445"]);
    await env.DB.prepare(
      `UPDATE escrow SET on_chain_state = 'Withdrawn',
         block_time = ? WHERE id = ?`,
    )
      .bind(second("2025-10-05T00:00:00Z"), id)
      .run();
    expect(await billed("2025-10")).toEqual(NOTHING);
    expect(await documents()).toHaveLength(1);
    expect(await billed()).toEqual(["1 × 8.4033613445"]);
    expect(await documents()).toHaveLength(1);
  });

  it("omits, in a revision, a payment that a rollback undid", async () => {
    const [id] = await pay({}, { agentIdentifier: "cd".repeat(30) });
    await ask();
    await env.DB.prepare("UPDATE escrow SET on_chain_state = 'Disputed' WHERE id = ?")
      .bind(id)
      .run();
    expect(await billed()).toEqual(["1 × 8.4033613445"]);
    const covered = await env.DB.prepare("SELECT 1 FROM invoiced_payment").all();
    expect(covered.results).toHaveLength(1);
  });
});

describe("POST /invoice/monthly", () => {
  const REFUSED: [string, Record<string, unknown>, number, string][] = [
    [
      "VAT without the seller's id",
      { Seller: { ...SELLER, vatNumber: null } },
      400,
      "Seller.vatNumber",
    ],
    ["reverse charge without the buyer's id", { reverseCharge: true }, 400, "Buyer.vatNumber"],
    ["a unit without a rate", { CurrencyConversion: {} }, 400, "for the native coin"],
    ["a month that is none", { month: "2025-13" }, 400, "month"],
    [
      "a party without a name",
      { Buyer: { ...BUYER, name: " " } },
      400,
      "Buyer: companyName or name",
    ],
    [
      "letters it cannot print",
      { Buyer: { ...BUYER, name: "東京" } },
      400,
      "Buyer.name: has a character that cannot be printed (U+6771)",
    ],
    ...["x\u0335", "\u0430\u0483", "\u0430\u0488", "\u0430\u2de0", "\u0430\ua66f"].map(
      (terms): (typeof REFUSED)[number] => [
        `a mark it cannot place, U+${terms.charCodeAt(1).toString(16)}`,
        { Invoice: { terms } },
        400,
        "Invoice.terms: has a character",
      ],
    ),
    ["a date that is none", { Invoice: { date: "2025-02-30" } }, 400, "Invoice.date"],
    ["an unknown seller", { sellerWalletVkey: "44".repeat(28) }, 404, "No payments are billable"],
  ];

  it.each(REFUSED)("refuses %s, and changes nothing", async (_, overrides, status, message) => {
    await pay({});
    const answer = await ask(overrides);
    expect(answer.message).toContain(message);
    expect(answer.status).toBe(status);
    expect(await documents()).toEqual([]);
  });

  it("answers 409 when the buyer bought from several sellers and the request names none", async () => {
    await pay({}, { sellerVkey: "33".repeat(28) });
    const answer = await ask();
    expect(answer.status).toBe(409);
    expect(answer.message).toContain("sellerWalletVkey");
    expect((await ask({ sellerWalletVkey: "33".repeat(28) })).status).toBe(200);
  });

  it("answers 402 when the key has no credits left, and charges an issued invoice once", async () => {
    await pay({});
    const key = { canPay: true, usageLimited: true };
    const none = await insertKey({ ...key, maxUsageCredits: 0 });
    expect((await send("POST", "monthly", signed(), { token: none })).status).toBe(402);
    expect(await documents()).toEqual([]);
    const one = await insertKey({ ...key, maxUsageCredits: 1, id: "one" });
    for (let i = 0; i < 3; i++)
      expect((await send("POST", "monthly", signed(), { token: one })).status).toBe(200);
    const row = await env.DB.prepare(
      "SELECT accumulated_usage_credits AS used FROM api_key WHERE id = 'one'",
    ).first();
    expect(row).toEqual({ used: 1 });
  });

  it("answers 403 without +PAY, for another network, and internally without Admin", async () => {
    await pay({});
    const user = await insertKey({});
    const mainnet = await insertKey({ canPay: true, networkLimit: ["Mainnet"] });
    expect((await send("POST", "monthly", signed(), { token: user })).status).toBe(403);
    expect((await send("POST", "monthly", signed(), { token: mainnet })).status).toBe(403);
    expect((await ask({}, { token: mainnet })).status).toBe(403);
  });
});

describe("GET /invoice/monthly", () => {
  const LIST = `monthly?network=Preprod&month=${MONTH}`;

  it("lists the current invoices, all documents of a base and PDFs only on request", async () => {
    await pay({});
    const { data } = await ask();
    await ask({ Buyer: { ...BUYER, city: "Kiel" } });
    const standing = (await send("GET", LIST)).data.Invoices as Record<string, unknown>[];
    expect(standing).toMatchObject([
      {
        kind: "Invoice",
        revisionNumber: 2,
        isCancelled: false,
        netTotal: "8.40",
        vatTotal: "1.60",
        grossTotal: "10.00",
        Buyer: { city: "Kiel" },
      },
    ]);
    expect(standing[0]).not.toHaveProperty("pdf");
    const base = standing[0]?.invoiceBaseId;
    const all = (await send("GET", `${LIST}&invoiceBaseId=${base}&includePdf=true`)).data
      .Invoices as Record<string, unknown>[];
    expect(all.map(({ kind, isCancelled }) => [kind, isCancelled])).toHaveLength(3);
    const old = all.find(({ revisionNumber, kind }) => revisionNumber === 1 && kind === "Invoice");
    expect(old).toMatchObject({ isCancelled: true, pdf: data.invoice });
  });

  it("shows a key that is no Admin only its own invoices", async () => {
    const sellerWalletVkey = "33".repeat(28);
    await pay({}, { sellerVkey: sellerWalletVkey });
    await ask({ sellerWalletVkey: SELLER_VKEY });
    const token = await insertKey({ canPay: true });
    expect((await send("GET", LIST, undefined, { token })).data.Invoices).toEqual([]);
    const own = await send("POST", "monthly", signed({ sellerWalletVkey }), { token });
    expect(own.status).toBe(200);
    const shown = (await send("GET", LIST, undefined, { token })).data.Invoices;
    expect(shown).toMatchObject([{ sellerWalletVkey }]);
    expect((await send("GET", LIST)).data.Invoices).toHaveLength(2);
  });
});

describe("GET /invoice/monthly/missing", () => {
  it("lists billable payments without an invoice, page by page", async () => {
    const ids = await pay({}, {}, { state: "FundsLocked" }, { sellerVkey: "33".repeat(28) });
    const list = async (more = "") =>
      (
        (await send("GET", `monthly/missing?network=Preprod&month=${MONTH}${more}`)).data
          .UninvoicedPayments as { id: string; billableAt: string }[]
      ).map(({ id }) => id);
    const billable = [ids[0], ids[1], ids[3]].sort().reverse();
    expect(await list()).toEqual(billable);
    expect(await list("&limit=1")).toEqual(billable.slice(0, 1));
    expect(await list(`&cursorId=${billable[0]}`)).toEqual(billable.slice(1));
    await ask({ sellerWalletVkey: SELLER_VKEY });
    expect(await list()).toEqual([ids[3]]);
    expect(await list(`&buyerWalletVkey=${"ff".repeat(28)}`)).toEqual([]);
  });
});
