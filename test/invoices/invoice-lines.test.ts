import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { ask, documents, MONTH, type PaymentOptions, pay, SELLER, send } from "./support.ts";

const AGENT = "ab".repeat(30);
const day = (text: string) => Date.parse(`${text}T12:00:00Z`) / 1000;

beforeEach(emptyTables);

/** Registers the agent of the payments, or gives it another name. */
async function register(name: string): Promise<void> {
  await env.DB.prepare(
    `INSERT INTO registry_entry (id, network, source_id, policy_id, agent_identifier, state, health,
       status, api_base_url, payment_type, tags, created_at, updated_at, status_updated_at, revision,
       doc_version, doc)
     VALUES ('entry', 'Preprod', 'source', ?1, ?2, json_object('profile', json_object('name', ?3)),
       'Online', 'Online', '', 'Web3ChainV2', '[]', 0, 0, 0, 0, 0, '')
     ON CONFLICT (id) DO UPDATE SET state = excluded.state`,
  )
    .bind(AGENT.slice(0, 56), AGENT, name)
    .run();
}

/** Payments for the agent's work. */
function sell(...payments: PaymentOptions[]): Promise<string[]> {
  return pay(...payments.map((payment) => ({ agentIdentifier: AGENT, ...payment })));
}

async function standing() {
  const { data } = await send("GET", `monthly?network=Preprod&month=${MONTH}`);
  const [invoice] = data.Invoices as {
    Items: { name: string; from: string; to: string }[];
    CoveredPayments: { date: string; txHash: string }[] | null;
    xmlOmitted: string | null;
  }[];
  if (!invoice) throw new Error("there is no invoice");
  return invoice;
}

describe("a line of an invoice", () => {
  it("has the agent's registered name, and the days and number of its jobs", async () => {
    await register("Übersetzer");
    await sell({ blockTime: day("2025-09-20") }, { blockTime: day("2025-09-03") });
    const { data } = await ask();
    const name = "Agent: Übersetzer (ababab…abababababab)";
    expect((await standing()).Items).toMatchObject([
      { name, quantity: "2", agentIdentifier: AGENT, from: "2025-09-03", to: "2025-09-20" },
    ]);
    expect(data.xml).toContain(`<ram:Name>${name}</ram:Name>`);
  });

  it.each(["Trans\u202elator", "Translator\nVAT 0.00", "翻訳者"])(
    "omits an unprintable registered name such as %j",
    async (registered) => {
      await register(registered);
      await sell({});
      await ask();
      expect((await standing()).Items).toMatchObject([{ name: "Agent: ababab…abababababab" }]);
    },
  );

  it("stays the same when the agent is renamed, until another change causes a revision", async () => {
    await register("Translator");
    await sell({});
    const first = await ask();
    await register("Interpreter");
    expect((await ask()).data).toEqual(first.data);
    expect(await documents()).toHaveLength(1);
    await ask({ forceRegenerate: true });
    expect((await standing()).Items[0]?.name).toContain("Interpreter");
  });
});

describe("the payments that an invoice covers", () => {
  it("are shown with line, day, transaction, agent and amounts in each unit", async () => {
    const unit = "aa".repeat(28);
    await sell(
      {
        funds: [
          { unit: "", amount: "2000000" },
          { unit, amount: "3" },
        ],
      },
      {},
    );
    await ask({ CurrencyConversion: { "": 0.000005, [unit]: 1 } });
    const payment = {
      date: "2025-09-12",
      txHash: expect.stringMatching(/^[0-9a-z]{26}0+$/),
      agentIdentifier: AGENT,
    };
    const native = { unit: "", amount: "2000000" };
    expect((await standing()).CoveredPayments).toEqual([
      { ...payment, line: 1, Funds: [native, { unit, amount: "3" }] },
      { ...payment, line: 3, Funds: [native] },
    ]);
  });

  it("are dated in the month that bills them, even if they were withdrawn later", async () => {
    const [id] = await sell({
      state: "ResultSubmitted",
      blockTime: day("2025-08-30"),
      unlockTime: Date.parse("2025-09-07"),
    });
    await ask();
    await env.DB.prepare(
      `UPDATE escrow SET on_chain_state = 'Withdrawn',
         block_time = ? WHERE id = ?`,
    )
      .bind(day("2025-10-05"), id)
      .run();
    await ask({ forceRegenerate: true });
    expect((await standing()).CoveredPayments).toMatchObject([{ date: "2025-09-07" }]);
  });
});

describe("xmlOmitted", () => {
  it("says why there is no XML, in the answer and in the list", async () => {
    await sell({});
    const { data } = await ask({ Seller: { ...SELLER, country: "Atlantis" } });
    const why = expect.stringMatching(/^Seller\.country: is neither an ISO 3166-1 code/);
    expect(data).toMatchObject({ xml: null, xmlOmitted: why });
    expect((await standing()).xmlOmitted).toEqual(why);
    const mended = await ask();
    expect(mended.data).toMatchObject({ xmlOmitted: null, cancellationXml: null });
    expect(mended.data.xml).toContain("<ram:TypeCode>380</ram:TypeCode>");
  });
});

describe("the XML", () => {
  it("exists for a seller in Northern Ireland, whose VAT id begins with XI", async () => {
    await sell({});
    const Seller = { ...SELLER, country: "GB", vatNumber: "XI123456789" };
    const { data } = await ask({ Seller, invoiceCurrency: "gbp" });
    expect(data.xmlOmitted).toBeNull();
    expect(data.xml).toContain('<ram:ID schemeID="VA">XI123456789</ram:ID>');
    expect(data.xml).toContain("<ram:CountryID>GB</ram:CountryID>");
  });
});

describe("the paid amount", () => {
  /** Elements of the XML's sums, by their names. */
  const sumsOf = (xml: unknown) =>
    Object.fromEntries(
      [...String(xml).matchAll(/<ram:(\w+Amount)(?: currencyID="EUR")?>([^<]*)</g)]
        .slice(-8)
        .map(([, name = "", amount]) => [name, amount]),
    );
  const cents = (...amounts: number[]) =>
    amounts.map((amount) => ({ funds: [{ unit: "", amount: String(amount * 2000) }] }));

  it.each([
    ["less than the rounded lines", [503, 504, 6103], "71.11", "-0.01", "71.10"],
    ["more than the rounded line", [7112], "71.11", "0.01", "71.12"],
  ])(
    "is prepaid and leaves nothing due when it is %s",
    async (_, paid, gross, rounding, prepaid) => {
      await sell(...cents(...paid));
      const { data } = await ask();
      expect(sumsOf(data.xml)).toMatchObject({
        RoundingAmount: rounding,
        GrandTotalAmount: gross,
        TotalPrepaidAmount: prepaid,
        DuePayableAmount: "0.00",
      });
      expect(await standing()).toMatchObject({
        grossTotal: gross,
        roundingAmount: rounding,
        paidTotal: prepaid,
      });
    },
  );

  it("has no rounding when the lines sum to it, and the cancellation negates each sum", async () => {
    await sell(...cents(1190));
    const exact = await ask();
    expect(exact.data.xml).not.toContain("RoundingAmount");
    expect(sumsOf(exact.data.xml)).toMatchObject({ TotalPrepaidAmount: "11.90" });
    await sell(...cents(503, 504, 6103));
    const { data: larger } = await ask();
    expect(sumsOf(larger.xml)).toMatchObject({
      TotalPrepaidAmount: "83.00",
      DuePayableAmount: "0.00",
    });
    const { data } = await ask({ forceRegenerate: true });
    const negated = Object.entries(sumsOf(larger.xml)).map(([name, amount]) => [
      name,
      /[1-9]/.test(String(amount)) ? `-${amount}`.replace("--", "") : amount,
    ]);
    expect(sumsOf(data.cancellationXml)).toEqual(Object.fromEntries(negated));
  });
});
