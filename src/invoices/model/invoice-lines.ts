import type { StoredFunds } from "../../escrow/model/escrow-record.ts";
import { type Currency, MINOR_UNIT_DIGITS } from "./currencies.ts";
import {
  add,
  addOne,
  divide,
  formatDecimal,
  multiply,
  PRICE_DIGITS,
  parseDecimal,
  roundHalfUp,
  toFraction,
  trimDecimal,
} from "./fractions.ts";

/** The fields of a payment that billing reads. */
export interface BillablePayment {
  id: string;
  /** Hex, `""` when the escrow names none. */
  agentIdentifier: string;
  /** Only amounts above zero. */
  funds: StoredFunds[];
  /** When it became billable, `YYYY-MM-DD`. */
  day: string;
  /** Of the transaction that made it billable, hex; null: none is known. */
  txHash: string | null;
}

/** A row of the items table: equal payments to the same agent, in one unit. */
export interface InvoiceItem {
  agentIdentifier: string;
  unit: string;
  /** Per payment, in on-chain units. */
  amount: bigint;
  quantity: bigint;
  /** One for each payment. */
  payments: PaymentReference[];
  /** `{part: 1, of: 2}` when each payment was in two units and this is the first. */
  part: { part: number; of: number };
}

/** What a payment paid for. */
export type PaymentReference = Pick<BillablePayment, "day" | "txHash">;

/** What a line is for. */
export interface LineSubject {
  /** Hex, `""` when the escrows name none. */
  agentIdentifier: string;
  unit: string;
  /** Of each payment, in on-chain units; decimal text. */
  amount: string;
  /** In how many units each payment was: the next lines have the others. */
  parts: number;
  /** The days of the first and the last job, `YYYY-MM-DD`. */
  from: string;
  to: string;
}

/** An item with its price. */
export interface PricedLine {
  name: string;
  /** Decimal text of a whole number. */
  quantity: string;
  /** Net, decimal text with at most ten decimals. */
  unitPrice: string;
  /** quantity × unitPrice, rounded half-up to the currency's minor unit; decimal text. */
  net: string;
  subject: LineSubject;
}

/** A payment that an invoice covers. */
export interface CoveredPayment extends PaymentReference {
  /** Number of the line that bills it, from 1; the next ones bill its other units. */
  line: number;
}

/** Decimal text, all with the digits of the currency. */
export interface Totals {
  net: string;
  vat: string;
  /** `net + vat`. */
  gross: string;
  /** What was paid on the chain, rounded half-up once. */
  paid: string;
  /** `paid − gross`, so that nothing is due (EN 16931, BR-CO-16); may be negative. */
  rounding: string;
}

/**
 * Groups payments into items: those with the same agent and the same amounts, ordered by first
 * occurrence.
 */
export function groupItems(payments: readonly BillablePayment[]): InvoiceItem[] {
  const groups = new Map<string, InvoiceItem[]>();
  for (const { agentIdentifier, funds, day, txHash } of payments) {
    const sorted = [...funds].sort((a, b) => (a.unit < b.unit ? -1 : a.unit > b.unit ? 1 : 0));
    const key = JSON.stringify([agentIdentifier, sorted.map(({ unit, amount }) => [unit, amount])]);
    const known = groups.get(key);
    const job = { day, txHash };
    if (known)
      for (const item of known) {
        item.quantity++;
        item.payments.push(job);
      }
    else
      groups.set(
        key,
        sorted.map(({ unit, amount }, index) => ({
          agentIdentifier,
          unit,
          amount: BigInt(amount),
          quantity: 1n,
          payments: [job],
          part: { part: index + 1, of: sorted.length },
        })),
      );
  }
  return [...groups.values()].flat();
}

/** The payments behind items, in the order of the lines. */
export function listCoveredPayments(items: readonly InvoiceItem[]): CoveredPayment[] {
  return items.flatMap(({ payments: jobs, part }, index) =>
    part.part === 1 ? jobs.map((job) => ({ ...job, line: index + 1 })) : [],
  );
}

function toLineSubject({
  agentIdentifier,
  unit,
  amount,
  payments: jobs,
  part,
}: InvoiceItem): LineSubject {
  const days = jobs.map(({ day }) => day).sort();
  return {
    agentIdentifier,
    unit,
    amount: String(amount),
    parts: part.of - part.part + 1,
    from: days[0] ?? "",
    to: days.at(-1) ?? "",
  };
}

/** How items are priced. */
export interface Pricing {
  currency: Currency;
  /** VAT as a fraction, decimal text; on-chain amounts include it. */
  vatRate: string;
  /** Invoice currency per unit, decimal text. */
  rateOf(unit: string): string;
  nameOf(item: InvoiceItem): string;
}

/**
 * Prices items. The net unit price is rounded half-up to ten digits, and each line to the currency's
 * minor unit. VAT is computed on the sum of the lines. So every printed number follows from the numbers
 * printed before it (EN 16931, BR-CO-10, BR-CO-13 to 17).
 */
export function priceItems(
  items: readonly InvoiceItem[],
  { currency, vatRate, rateOf, nameOf }: Pricing,
): { lines: PricedLine[]; totals: Totals } {
  const digits = MINOR_UNIT_DIGITS[currency];
  const vat = parseDecimal(vatRate);
  let net = 0n;
  let exact = toFraction(0n);
  const lines = items.map((item) => {
    const gross = multiply(toFraction(item.amount), parseDecimal(rateOf(item.unit)));
    const price = roundHalfUp(divide(gross, addOne(vat)), PRICE_DIGITS);
    const total = { numerator: price * item.quantity, denominator: 10n ** BigInt(PRICE_DIGITS) };
    const lineNet = roundHalfUp(total, digits);
    net += lineNet;
    exact = add(exact, multiply(gross, toFraction(item.quantity)));
    return {
      name: nameOf(item),
      quantity: String(item.quantity),
      unitPrice: trimDecimal(formatDecimal(price, PRICE_DIGITS), digits),
      net: formatDecimal(lineNet, digits),
      subject: toLineSubject(item),
    };
  });
  const tax = roundHalfUp(
    multiply({ numerator: net, denominator: 10n ** BigInt(digits) }, vat),
    digits,
  );
  const paid = roundHalfUp(exact, digits);
  return {
    lines,
    totals: {
      net: formatDecimal(net, digits),
      vat: formatDecimal(tax, digits),
      gross: formatDecimal(net + tax, digits),
      paid: formatDecimal(paid, digits),
      rounding: formatDecimal(paid - net - tax, digits),
    },
  };
}
