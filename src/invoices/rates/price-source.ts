import * as z from "zod";
import { normalizeUnit } from "../../chain/unit.ts";
import type { Env } from "../../env.ts";
import { ApiError } from "../../http/errors.ts";
import { fetchPublic, PublicFetchError } from "../../http/outbound/fetch-public.ts";
import { listLoopbackOrigins } from "../../http/outbound/loopback-origins.ts";
import { log } from "../../log.ts";
import type { Currency } from "../model/currencies.ts";
import {
  divide,
  formatDecimal,
  parseDecimal,
  roundHalfUp,
  toFraction,
  trimDecimal,
} from "../model/fractions.ts";
import { formatDay, type Month } from "../model/month.ts";

const FETCH_TIMEOUT_MS = 4_000;
/** Time that a request reserves for storing prices and answering. */
const DEADLINE_MARGIN_MS = 1_000;
const MAX_RESPONSE_BYTES = 256 * 1024;
/** Digits of a rate: prices have some ten, and the minor unit of a token up to eighteen more. */
const RATE_DIGITS = 30;

const coinsSchema = z.record(
  z.string(),
  z.object({ id: z.string().min(1).max(100), decimals: z.int().min(0).max(18) }),
);

/** Only the price in the requested currency matters: others may be 0, or missing. */
const createResponseSchema = (currency: Currency) =>
  z.object({
    market_data: z.object({ current_price: z.object({ [currency]: z.number().positive() }) }),
  });

/**
 * The rate of a unit at the end of a month, per minor unit: the price at the first midnight (UTC) of
 * the next month. It comes from an API of the form `GET {base}/coins/{id}/history?date=DD-MM-YYYY`.
 * Null when the source is off, as without `PRICE_SOURCE_URL` and `PRICE_SOURCE_COINS`, or does not know
 * the unit. See docs/invoices.md.
 *
 * @param deadline - of the request, epoch milliseconds
 * @returns the rate as decimal text, and its source, as the invoice prints it
 * @throws ApiError 502 or 504 when the source fails; Error when its variables are malformed
 */
export async function fetchMonthEndRate(
  env: Env,
  unit: string,
  { currency, month }: { currency: Currency; month: Month },
  deadline: number,
): Promise<{ rate: string; source: string } | null> {
  const { PRICE_SOURCE_URL: base, PRICE_SOURCE_COINS: text } = env;
  if (!base || !text) return null;
  const coins = coinsSchema.parse(JSON.parse(text));
  const coin = Object.entries(coins).find(([name]) => normalizeUnit(name) === unit)?.[1];
  if (!coin) return null;
  const price = await fetchPrice(env, base, coin.id, { currency, month }, deadline);
  if (price === null) return null;
  const perUnit = divide(parseDecimal(price), toFraction(10n ** BigInt(coin.decimals)));
  const rate = trimDecimal(formatDecimal(roundHalfUp(perUnit, RATE_DIGITS), RATE_DIGITS), 0);
  return { rate, source: new URL(base).hostname };
}

/** Decimal text of the price of a whole coin; null when there is none. */
async function fetchPrice(
  env: Env,
  base: string,
  coin: string,
  { currency, month }: { currency: Currency; month: Month },
  deadline: number,
): Promise<string | null> {
  const [year, monthOfYear, day] = formatDay(month.endAt).split("-");
  const url = `${base}/coins/${encodeURIComponent(coin)}/history?date=${day}-${monthOfYear}-${year}&localization=false`;
  const timeoutMs = Math.min(FETCH_TIMEOUT_MS, deadline - DEADLINE_MARGIN_MS - Date.now());
  if (timeoutMs <= 0) throw toTimeoutError();
  try {
    const { status, body } = await fetchPublic(url, {
      timeoutMs,
      maxBytes: MAX_RESPONSE_BYTES,
      headers: {
        accept: "application/json",
        ...(env.PRICE_SOURCE_KEY && { "x-cg-pro-api-key": env.PRICE_SOURCE_KEY }),
      },
      loopbackOrigins: await listLoopbackOrigins(env, deadline),
      resolverUrl: env.DNS_OVER_HTTPS_URL,
    });
    if (status === 404) return null;
    if (status !== 200) throw toPriceSourceError(`status ${status}`);
    const answer = createResponseSchema(currency).safeParse(
      JSON.parse(new TextDecoder().decode(body)),
    );
    const price = answer.data?.market_data.current_price[currency];
    return price === undefined ? null : String(price);
  } catch (error) {
    if (error instanceof PublicFetchError && error.reason === "timeout") throw toTimeoutError();
    if (error instanceof PublicFetchError || error instanceof SyntaxError)
      throw toPriceSourceError(error.message);
    throw error;
  }
}

function toTimeoutError(): ApiError {
  return new ApiError(504, "The price source did not answer in time", { retryAfter: 5 });
}

function toPriceSourceError(why: string): ApiError {
  log("error", "invoices.price_source_failed", { why });
  return new ApiError("price_source_failed", "The price source failed");
}
