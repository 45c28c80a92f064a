import { ON_CHAIN_STATES } from "../../chain/network.ts";
import type { SqlExpression } from "../../db/clock.ts";

/** Decimals of the coin in whose whole units an amount is searched for. */
const DECIMALS = 6;
const AMOUNT = new RegExp(`^(\\d{1,12})(?:\\.(\\d{0,${DECIMALS}}))?$`);

/** Texts of a record that are searched, as SQL on a row of `escrow`. */
const TEXTS = [
  "id",
  "terms->>'agentIdentifier'",
  "terms->>'agentName'",
  "terms->>'inputHash'",
  "coalesce(under_way->'transaction', state->'transaction')->>'txHash'",
  "wallet->>'address'",
];

/**
 * SQL that a row of `escrow` has a text, in upper or lower case: as a part of one of its own, or of its
 * state's name, or as the beginning of one of its amounts.
 */
export function matches(query: string): SqlExpression {
  const text = query.toLowerCase();
  const name = text.replaceAll(" ", "");
  const states =
    name === "" ? [] : ON_CHAIN_STATES.filter((state) => state.toLowerCase().includes(name));
  const range = amountsFrom(text);
  return {
    sql: `(${[
      ...TEXTS.map((column) => `instr(lower(${column}), ?) > 0`),
      "on_chain_state IN (SELECT value FROM json_each(?))",
      ...(range
        ? [
            `EXISTS (SELECT 1 FROM json_each(terms, '$.funds')
               WHERE CAST(value->>'amount' AS INTEGER) >= CAST(? AS INTEGER)
                 AND CAST(value->>'amount' AS INTEGER) < CAST(? AS INTEGER))`,
          ]
        : []),
    ].join(" OR ")})`,
    params: [
      ...TEXTS.map(() => text),
      JSON.stringify(states),
      ...(range ? [String(range.from), String(range.to)] : []),
    ],
  };
}

/** Amounts, in minor units, whose whole coins begin like a number: `1.5` is 1.5 up to below 1.6. */
function amountsFrom(text: string): { from: bigint; to: bigint } | null {
  const match = AMOUNT.exec(text);
  if (!match) return null;
  const [, whole = "0", fraction = ""] = match;
  const step = 10n ** BigInt(DECIMALS - fraction.length);
  const from = BigInt(whole + fraction) * step;
  return { from, to: from + step };
}
