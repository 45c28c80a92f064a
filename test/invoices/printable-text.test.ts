import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { ask, BUYER, documents, MONTH, pay, request, SELLER, send, signed } from "./support.ts";

const REFUSED: [string, string][] = [
  ["\u0000", "U+0000"],
  ["\t", "U+0009"],
  ["\n", "U+000A"],
  ["\r\n", "U+000D"],
  ["\u001b", "U+001B"],
  ["\u0085", "U+0085"],
  ["\u00ad", "U+00AD"],
  ["\u034f", "U+034F"],
  ["\u061c", "U+061C"],
  ["\u200b", "U+200B"],
  ["\u200c", "U+200C"],
  ["\u200d", "U+200D"],
  ["\u200f", "U+200F"],
  ["\u2028", "U+2028"],
  ["\u2029", "U+2029"],
  ["\u202e", "U+202E"],
  ["\u2060", "U+2060"],
  ["\u2066", "U+2066"],
  ["\ue000", "U+E000"],
  ["\ufeff", "U+FEFF"],
  ["\u{e0041}", "U+E0041"],
];

/** A line break, a character that reverses text, and one without width. */
const EVERYWHERE = REFUSED.filter(([, name]) => ["U+000A", "U+202E", "U+200B"].includes(name));

const PARTY = [
  "country",
  "city",
  "zipCode",
  "street",
  "streetNumber",
  "phone",
  "name",
  "companyName",
  "vatNumber",
];
const TEXTS = [
  "itemNamePrefix",
  "itemNameSuffix",
  "title",
  "description",
  "greeting",
  "closing",
  "signature",
  "footer",
  "terms",
  "privacy",
  "idPrefix",
  "buyerReference",
];
const FIELDS = [
  ...["Seller", "Buyer"].flatMap((party) => PARTY.map((member) => [party, member] as const)),
  ...TEXTS.map((member) => ["Invoice", member] as const),
];
const SENT: Record<string, object> = { Seller: SELLER, Buyer: BUYER, Invoice: request().Invoice };

/** A request in which one member of an object has a text. */
const withText = (object: string, member: string, text: string) => ({
  [object]: { ...SENT[object], [member]: text },
});

beforeEach(emptyTables);

describe("POST /invoice/monthly", () => {
  it.each(FIELDS)("answers 400 to unprintable characters in %s.%s", async (object, member) => {
    for (const [character, name] of EVERYWHERE) {
      const answer = await ask(withText(object, member, `A${character}B`));
      expect(answer.message).toBe(
        `${object}.${member}: has a character that cannot be printed (${name})`,
      );
      expect(answer.status).toBe(400);
    }
  });

  it("answers 400 to a line break in an e-mail address", async () => {
    const answer = await ask(withText("Buyer", "email", "bob@example.com\nVAT 0 %"));
    expect(answer.message).toContain("Buyer.email");
    expect(answer.status).toBe(400);
  });

  it("answers 400 to long or unprintable text before it checks the signature", async () => {
    const unsigned = { signature: "00", key: "00" };
    for (const name of ["x".repeat(101), "Bob\nTotal 0"]) {
      const answer = await send("POST", "monthly", {
        ...signed({ Buyer: { ...BUYER, name } }),
        ...unsigned,
      });
      expect(answer.message).toMatch(/^Buyer\.name: /);
      expect(answer.status).toBe(400);
    }
  });

  it("treats blank texts and blank members of a party as omitted", async () => {
    await pay({});
    const first = await ask();
    expect(first.message).toBe("");
    const blank = {
      Invoice: { ...request().Invoice, title: " ", idPrefix: "\u00a0", buyerReference: " " },
      Buyer: { ...BUYER, phone: " ", companyName: " ", vatNumber: "\u2003" },
    };
    const answer = await ask(blank);
    expect(answer).toMatchObject({ status: 200, data: first.data });
    expect(await documents()).toHaveLength(1);
  });

  it.each(["", " ", "\u00a0\u2003 "])("accepts %j in each optional field", async (blank) => {
    await pay({});
    const optional = ["email", "phone", "name", "companyName", "vatNumber"];
    const texts = TEXTS.filter((member) => !member.startsWith("itemName"));
    const { companyName } = SELLER;
    const omitted = Object.fromEntries(optional.map((member) => [member, undefined]));
    const first = await ask({
      vatRate: 0,
      Seller: { ...SELLER, ...omitted, name: companyName },
      Buyer: { ...BUYER, ...omitted, companyName: "Bob & Co." },
    });
    expect(first).toMatchObject({ status: 200, message: "" });
    const Invoice = {
      ...request().Invoice,
      ...Object.fromEntries(texts.map((member) => [member, blank])),
    };
    const blanks = Object.fromEntries(optional.map((member) => [member, blank]));
    const answer = await ask({
      vatRate: 0,
      Invoice,
      Seller: { ...SELLER, ...blanks, name: companyName },
      Buyer: { ...BUYER, ...blanks, companyName: "Bob & Co." },
    });
    expect(answer).toMatchObject({ status: 200, data: first.data });
    expect(await documents()).toHaveLength(1);
  });

  it("accepts letters of three scripts, signs and narrow spaces", async () => {
    await pay({});
    const name = "Zażółć & Sõnid, Ελλάδα – «Київ» ẞ\u00a0\u202f%";
    expect((await ask({ Buyer: { ...BUYER, name } })).status).toBe(200);
    expect(JSON.parse((await documents())[0]?.content ?? "").buyer.name).toBe(name);
  });
});

describe("the buyer's signature", () => {
  const PERSON = { ...BUYER, email: "", phone: "", vatNumber: "", companyName: "" };

  it("covers the parties as they were sent: an empty text differs from an omitted member", async () => {
    await pay({});
    const body = signed({ Buyer: PERSON });
    const answer = await send("POST", "monthly", body);
    expect(answer).toMatchObject({ status: 200, message: "" });
    const { name, country, city, zipCode, street, streetNumber } = BUYER as Record<string, unknown>;
    const Buyer = { name, country, city, zipCode, street, streetNumber };
    expect(await send("POST", "monthly", { ...body, Buyer })).toMatchObject({
      status: 400,
      message: expect.stringContaining("signature: does not match"),
    });
    const omitted = await send("POST", "monthly", signed({ Buyer }));
    expect(omitted.data).toEqual(answer.data);
    const shown = await send("GET", `monthly?network=Preprod&month=${MONTH}`);
    const nulls = { email: null, phone: null, vatNumber: null, companyName: null };
    expect(shown.data.Invoices).toMatchObject([{ Buyer: { name: "Bob", ...nulls } }]);
  });
});

describe("the text before an item's name", () => {
  it.each([
    [undefined, "Agent: ababab…abababababab"],
    ["", "ababab…abababababab"],
    ["Job of ", "Job of ababab…abababababab"],
  ])("stays as it was sent: %j", async (itemNamePrefix, name) => {
    await pay({});
    const { message, data } = await ask({ Invoice: { ...request().Invoice, itemNamePrefix } });
    expect(message).toBe("");
    expect(data.xml).toContain(`<ram:Name>${name}</ram:Name>`);
  });
});

describe("POST /invoice/rates", () => {
  it("answers 400 to a blank source", async () => {
    const rate = { unit: "", currency: "eur", month: MONTH, rate: 0.0000045 };
    for (const source of ["", " ", "\u00a0"])
      expect(await send("POST", "rates", { ...rate, source })).toMatchObject({
        status: 400,
        message: expect.stringMatching(/^source: /),
      });
  });

  it("answers 400 to a source in letters that the fonts lack", async () => {
    const rate = { unit: "", currency: "eur", month: MONTH, rate: 0.0000045, source: "市場" };
    const answer = await send("POST", "rates", rate);
    expect(answer.message).toBe("source: has a character that cannot be printed (U+5E02)");
    expect(answer.status).toBe(400);
    expect((await send("GET", `rates?month=${MONTH}`)).data.Rates).toEqual([]);
  });

  it("answers 400 to a source that does not fit in one line", async () => {
    const rate = { unit: "", currency: "eur", month: MONTH, rate: 0.0000045 };
    for (const [character, name] of REFUSED) {
      const answer = await send("POST", "rates", { ...rate, source: `House${character}rate` });
      expect(answer.message).toBe(`source: has a character that cannot be printed (${name})`);
    }
  });
});
