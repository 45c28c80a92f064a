import type { StoredFunds } from "../escrow/record.ts";
import {
  CURRENCIES,
  type Currency,
  dividedBy,
  formatDecimal,
  onePlus,
  PRICE_DIGITS,
  parseDecimal,
  roundHalfUp,
  times,
  trimDecimal,
  whole,
} from "./money.ts";

/** A payment as far as billing looks at it. */
export interface BillablePayment {
  id: string;
  /** Hex, `""` when the escrow names none. */
  agentIdentifier: string;
  /** Only amounts above zero. */
  funds: StoredFunds[];
}

/** A row of the table of items: equal payments to the same agent, in one unit. */
export interface Item {
  agentIdentifier: string;
  unit: string;
  /** Per payment, as the chain counts it. */
  amount: bigint;
  quantity: bigint;
  /** `{part: 1, of: 2}` when each payment was in two units and this is the first. */
  part: { part: number; of: number };
}

/** An item with its price. */
export interface PricedLine {
  name: string;
  /** Decimal text of a whole number. */
  quantity: string;
  /** Net, decimal text with at most ten digits behind the point. */
  unitPrice: string;
  /** quantity × unitPrice, rounded half-up to the currency's minor unit; decimal text. */
  net: string;
}

/** Decimal text, all with the digits of the currency. */
export interface Totals {
  net: string;
  vat: string;
  gross: string;
}

/**
 * Groups payments into items: those with the same agent and the same amounts, in the order in which
 * the first of each came.
 */
export function itemsOf(payments: readonly BillablePayment[]): Item[] {
  const groups = new Map<string, Item[]>();
  for (const { agentIdentifier, funds } of payments) {
    const sorted = [...funds].sort((a, b) => (a.unit < b.unit ? -1 : a.unit > b.unit ? 1 : 0));
    const key = JSON.stringify([agentIdentifier, sorted.map(({ unit, amount }) => [unit, amount])]);
    const known = groups.get(key);
    if (known) for (const item of known) item.quantity++;
    else
      groups.set(
        key,
        sorted.map(({ unit, amount }, index) => ({
          agentIdentifier,
          unit,
          amount: BigInt(amount),
          quantity: 1n,
          part: { part: index + 1, of: sorted.length },
        })),
      );
  }
  return [...groups.values()].flat();
}

/** How items are priced. */
export interface Pricing {
  currency: Currency;
  /** VAT as a fraction, decimal text; amounts on the chain include it. */
  vatRate: string;
  /** Invoice currency per one of the unit, decimal text. */
  rateOf(unit: string): string;
  nameOf(item: Item): string;
}

/**
 * Prices items. The net unit price is rounded half-up to ten digits, each line to the currency's
 * minor unit, and VAT is taken of the sum of the lines: so every printed number follows from the
 * printed numbers before it (EN 16931, BR-CO-10, BR-CO-13 to 15, BR-CO-17).
 */
export function priceItems(
  items: readonly Item[],
  { currency, vatRate, rateOf, nameOf }: Pricing,
): { lines: PricedLine[]; totals: Totals } {
  const digits = CURRENCIES[currency];
  const vat = parseDecimal(vatRate);
  let net = 0n;
  const lines = items.map((item) => {
    const gross = times(whole(item.amount), parseDecimal(rateOf(item.unit)));
    const price = roundHalfUp(dividedBy(gross, onePlus(vat)), PRICE_DIGITS);
    const total = { numerator: price * item.quantity, denominator: 10n ** BigInt(PRICE_DIGITS) };
    const lineNet = roundHalfUp(total, digits);
    net += lineNet;
    return {
      name: nameOf(item),
      quantity: String(item.quantity),
      unitPrice: trimDecimal(formatDecimal(price, PRICE_DIGITS), digits),
      net: formatDecimal(lineNet, digits),
    };
  });
  const tax = roundHalfUp(
    times({ numerator: net, denominator: 10n ** BigInt(digits) }, vat),
    digits,
  );
  return {
    lines,
    totals: {
      net: formatDecimal(net, digits),
      vat: formatDecimal(tax, digits),
      gross: formatDecimal(net + tax, digits),
    },
  };
}
