import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toInvoiceItems } from "../../src/invoices/issue/compose-invoice.ts";
import { CURRENCY_CODES, MINOR_UNIT_DIGITS } from "../../src/invoices/model/currencies.ts";
import {
  formatDecimal,
  parseDecimal,
  roundHalfUp,
  toPlainDecimal,
  trimDecimal,
} from "../../src/invoices/model/fractions.ts";
import { LANGUAGES } from "../../src/invoices/model/invoice-content.ts";
import {
  groupItems,
  listCoveredPayments,
  priceItems,
} from "../../src/invoices/model/invoice-lines.ts";
import { createFormats } from "../../src/invoices/pdf/formats.ts";
import { runs } from "../support/effort.ts";

/** Decimal text as a whole number of 10^-digits. */
function units(text: string, digits: number): bigint {
  const [whole = "", fraction = ""] = text.split(".");
  expect(fraction.length).toBeLessThanOrEqual(digits);
  return BigInt(whole + fraction.padEnd(digits, "0"));
}

/** Decimals that every rate of these tests fits in. */
const RATE_DIGITS = 60;

/** All payments at their rates, in units of 10^-digits: rounded once, at the end. */
function worthOf(
  all: readonly { funds: readonly { unit: string; amount: string }[] }[],
  perUnit: Readonly<Record<string, string>>,
  digits: number,
): bigint {
  const exact = all
    .flatMap(({ funds }) => funds)
    .reduce((sum, { unit, amount }) => {
      const rate = units(toPlainDecimal(perUnit[unit] ?? "0"), RATE_DIGITS);
      return sum + BigInt(amount) * rate;
    }, 0n);
  return halfUp(exact, 10n ** BigInt(RATE_DIGITS - digits));
}

/** Half up, written another way than in the code: by the remainder. */
function halfUp(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  return (numerator % denominator) * 2n >= denominator ? quotient + 1n : quotient;
}

const JOB = { day: "2025-09-12", txHash: null };
const payment = fc.record({
  agentIdentifier: fc.constantFrom("aa", "bb", ""),
  funds: fc.uniqueArray(
    fc.record({
      unit: fc.constantFrom("", "t0", "t6", "t18"),
      amount: fc.bigInt({ min: 1n, max: 10n ** 24n }).map(String),
    }),
    { minLength: 1, maxLength: 3, selector: ({ unit }) => unit },
  ),
});
const payments = fc
  .array(payment, { minLength: 1, maxLength: 60 })
  .map((all) => all.map((one, index) => ({ id: String(index), ...JOB, ...one })));

/** Prices of a whole coin, per minor unit of a token with that many decimals. */
const rates = fc
  .record({
    price: fc.double({ min: 1e-9, max: 1e6, noNaN: true }),
    native: fc.double({ min: 1e-12, max: 10, noNaN: true }),
  })
  .map(
    ({ price, native }): Record<string, string> => ({
      "": String(native),
      t0: String(price),
      t6: String(price / 1e6),
      t18: String(price / 1e18),
    }),
  );
const vatRate = fc.constantFrom("0", "0.07", "0.077", "0.19", "0.2", "0.25", "1");
const currency = fc.constantFrom(...CURRENCY_CODES);

describe("an invoice, for any payments, rates, prices, VAT and currency", () => {
  it("prints lines that sum to the printed totals, and VAT that follows from the printed net", () => {
    fc.assert(
      fc.property(payments, rates, vatRate, currency, (all, perUnit, vat, of) => {
        const digits = MINOR_UNIT_DIGITS[of];
        const { lines, totals } = priceItems(groupItems(all), {
          currency: of,
          vatRate: vat,
          rateOf: (unit) => perUnit[unit] ?? "0",
          nameOf: ({ agentIdentifier }) => agentIdentifier,
        });
        for (const { quantity, unitPrice, net } of lines)
          expect(units(net, digits)).toBe(
            halfUp(BigInt(quantity) * units(unitPrice, 10) * 10n ** BigInt(digits), 10n ** 10n),
          );
        const net = units(totals.net, digits);
        expect(lines.reduce((sum, line) => sum + units(line.net, digits), 0n)).toBe(net);
        expect(units(totals.vat, digits)).toBe(halfUp(net * units(vat, 6), 10n ** 6n));
        expect(units(totals.gross, digits)).toBe(net + units(totals.vat, digits));
        for (const text of Object.values(totals))
          expect(text.split(".")[1]?.length ?? 0).toBe(digits);
        const { paid, rounding } = totals;
        expect(units(paid, digits)).toBe(worthOf(all, perUnit, digits));
        expect(units(totals.gross, digits) + units(rounding, digits)).toBe(units(paid, digits));
      }),
      runs(300, 30_000),
    );
  });

  it("covers every payment: quantities and amounts add up to the paid amounts, in any order", () => {
    fc.assert(
      fc.property(payments, (all) => {
        const paid = new Map<string, bigint>();
        for (const { funds } of all)
          for (const { unit, amount } of funds)
            paid.set(unit, (paid.get(unit) ?? 0n) + BigInt(amount));
        const sums = (items: ReturnType<typeof groupItems>) => {
          const found = new Map<string, bigint>();
          for (const { unit, amount, quantity } of items)
            found.set(unit, (found.get(unit) ?? 0n) + amount * quantity);
          return found;
        };
        expect(sums(groupItems(all))).toEqual(paid);
        expect(sums(groupItems([...all].reverse()))).toEqual(paid);
        expect(groupItems(all)).toHaveLength(groupItems([...all].reverse()).length);
      }),
    );
  });

  it("lists payments that add up to the lines and to the paid amount in each unit", () => {
    fc.assert(
      fc.property(payments, rates, vatRate, (all, perUnit, vat) => {
        const items = groupItems(all);
        const { lines } = priceItems(items, {
          currency: "eur",
          vatRate: vat,
          rateOf: (unit) => perUnit[unit] ?? "0",
          nameOf: () => "",
        });
        const covered = listCoveredPayments(items);
        expect(covered).toHaveLength(all.length);
        const [paid, listed] = [new Map<string, bigint>(), new Map<string, bigint>()];
        const add = (sums: Map<string, bigint>, unit: string, amount: string) =>
          sums.set(unit, (sums.get(unit) ?? 0n) + BigInt(amount));
        for (const { funds } of all) for (const { unit, amount } of funds) add(paid, unit, amount);
        const jobs = lines.map(() => 0);
        for (const { line } of covered) {
          const parts = lines[line - 1]?.subject?.parts ?? 0;
          for (let at = line - 1; at < line - 1 + parts; at++) {
            const { unit = "", amount = "0" } = lines[at]?.subject ?? {};
            add(listed, unit, amount);
            jobs[at] = (jobs[at] ?? 0) + 1;
          }
        }
        expect(listed).toEqual(paid);
        expect(jobs.map(String)).toEqual(lines.map(({ quantity }) => quantity));
      }),
    );
  });

  it("bills the paid amount, to half a minor unit of each line and one of the VAT", () => {
    fc.assert(
      fc.property(payments, vatRate, (all, vat) => {
        const { lines, totals } = priceItems(groupItems(all), {
          currency: "eur",
          vatRate: vat,
          rateOf: () => "0.01",
          nameOf: () => "",
        });
        const paid = all
          .flatMap(({ funds }) => funds)
          .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
        const difference = units(totals.gross, 2) - paid;
        const magnitude = difference < 0n ? -difference : difference;
        expect(magnitude).toBeLessThanOrEqual(BigInt(lines.length) + 1n);
      }),
    );
  });
});

describe("one document", () => {
  it("causes a 409 with the number of lines when there are too many", () => {
    const payments = Array.from({ length: 1_001 }, (_, index) => ({
      id: String(index),
      ...JOB,
      agentIdentifier: String(index),
      funds: [{ unit: "", amount: "1" }],
      sellerVkey: "",
      billableAt: 0,
      baseId: null,
    }));
    expect(() => toInvoiceItems(payments)).toThrow(/at most 1000 lines .* has 1001 for 1001/);
    expect(toInvoiceItems(payments.slice(1))).toHaveLength(1_000);
  });
});

describe("a printed amount", () => {
  it("has the digits of the amount, in every currency and format", () => {
    const amount = fc.tuple(
      fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
      fc.integer({ min: 0, max: 10 }),
    );
    fc.assert(
      fc.property(
        amount,
        currency,
        fc.constantFrom(...LANGUAGES),
        ([value, digits], of, format) => {
          const text = trimDecimal(formatDecimal(value, digits), MINOR_UNIT_DIGITS[of]);
          const { money } = createFormats(format, "en-gb", of, MINOR_UNIT_DIGITS[of]);
          const printed = money(text);
          expect(printed.replace(/\D/g, "")).toBe(text.replace(/\D/g, ""));
          expect(printed.includes("-")).toBe(text.startsWith("-"));
        },
      ),
      runs(100, 10_000),
    );
  });
});

describe("decimals", () => {
  it("are read back from the text of any finite number that is not negative", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1e21, noNaN: true }), (value) => {
        const exact = formatDecimal(roundHalfUp(parseDecimal(String(value)), 40), 40);
        expect(Number(exact)).toBe(value);
      }),
      runs(20, 1_000),
    );
    expect(parseDecimal("4.5e-7")).toEqual({ numerator: 45n, denominator: 10n ** 8n });
    expect(parseDecimal("2e3")).toEqual({ numerator: 2000n, denominator: 1n });
  });

  it.each(["", "-1", "1.", ".5", "1,5", "0x1", "NaN", "1e9999"])("refuse %j", (text) => {
    expect(() => parseDecimal(text)).toThrow(RangeError);
  });

  it("round a half up, print and trim", () => {
    expect(roundHalfUp(parseDecimal("0.005"), 2)).toBe(1n);
    expect(roundHalfUp(parseDecimal("0.00499"), 2)).toBe(0n);
    expect(roundHalfUp(parseDecimal("2.5"), 0)).toBe(3n);
    expect(formatDecimal(-5n, 2)).toBe("-0.05");
    expect(formatDecimal(5n, 0)).toBe("5");
    expect(trimDecimal("1.2000", 2)).toBe("1.20");
    expect(trimDecimal("1.0000", 0)).toBe("1");
    expect(["4.5e-7", "2e3", "0.10", "12"].map(toPlainDecimal)).toEqual([
      "0.00000045",
      "2000",
      "0.1",
      "12",
    ]);
  });
});
