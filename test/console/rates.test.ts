/** Rates of invoices: people read and type them for one whole coin, and the API has minor units. */
import { expect, test } from "vitest";
import { invoicesPage } from "../../console/pages/invoices.ts";
import { buildBody } from "../../console/ui/form-values.ts";
import { toWholeCoinRate } from "../../console/ui/format.ts";

const rates = invoicesPage.tabs.find(({ name }) => name === "rates");
const store = rates?.creates?.find(({ name }) => name === "store");
const UNKNOWN = `${"ab".repeat(28)}01`;
const FORM = { unit: "", currency: "EUR", month: "2026-10", rate: "0.35", source: "ECB" };

const bodyOf = (form: Record<string, string>) =>
  store?.toBody?.({ ...buildBody(store.fields ?? [], form, null) });

test("a rate is sent for one whole coin", () => {
  expect(bodyOf(FORM)).toEqual({ ...FORM, decimals: 6 });
});

test("the field of a rate names the currency and the coin", () => {
  const field = store?.fields?.find(({ name }) => name === "rate");
  expect(field?.labelBy?.(FORM)).toBe("EUR for one ADA");
});

test("a unit without known decimals asks for them", () => {
  expect(() => bodyOf({ ...FORM, unit: UNKNOWN })).toThrow("Decimals of the unit: is required");
  const form = { ...FORM, unit: UNKNOWN, decimals: "2" };
  expect(bodyOf(form)).toEqual({ ...form, decimals: 2 });
});

test("decimals that stay from another unit are not sent", () => {
  expect(bodyOf({ ...FORM, decimals: "2" })).toMatchObject({ decimals: 6 });
});

test.each([
  ["", "1 ADA", "0.35 EUR"],
  [UNKNOWN, "1 minor unit of its bytes", "0.00000035 EUR"],
])("the list has the rate of %j for a whole coin, where it is known", (unit, name, rate) => {
  const row = { unit, currency: "eur", rate: "0.00000035" };
  const [first, second] = rates?.columns ?? [];
  expect(first?.describe?.(row)).toMatch(name.replace("its bytes", ""));
  expect(second?.describe?.(row)).toBe(rate);
});

test.each([
  ["0.00000035", 6, "0.35"],
  ["0.000000355", 6, "0.355"],
  ["3", 6, "3000000"],
  ["0.45", 0, "0.45"],
  ["0.000001", 6, "1"],
])("%s per minor unit with %i decimals is %s", (rate, decimals, whole) => {
  expect(toWholeCoinRate(rate, decimals)).toBe(whole);
});

test("the form that issues an invoice names each unit without a stored rate first", () => {
  const issue = invoicesPage.tabs[0]?.creates?.find(({ name }) => name === "issue");
  const { describe, lists = [], hasRemedy } = issue?.prerequisite ?? {};
  expect(lists.map(({ path }) => path)).toEqual(["/invoice/monthly/missing", "/invoice/rates"]);
  expect([hasRemedy, issue?.remedy?.tab]).toEqual([true, "rates"]);
  const form = { month: "2026-10", invoiceCurrency: "eur" };
  const payment = { Funds: [{ unit: "", amount: "5" }] };
  expect(describe?.([[payment, payment], []], null, form)).toMatch(
    /^No rate of ADA in EUR is stored for 2026-10\./,
  );
  expect(describe?.([[payment], [{ unit: "" }]], null, form)).toBeNull();
  expect(describe?.([[], []], null, form)).toBeNull();
});

test("an empty month leads to other months, and names none", () => {
  for (const { emptyText } of invoicesPage.tabs) expect(emptyText).not.toMatch(/previous month/);
});
