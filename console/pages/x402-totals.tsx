/** What sellers got by x402 and what managed wallets paid, in the last day, week and month. */
import { useLiveData } from "../api/live.ts";
import { callApi } from "../api/request.ts";
import { hasAccess } from "../api/session.ts";
import { formatEvmAmount } from "../ui/evm-tokens.ts";
import { Facts } from "../ui/value.tsx";
import { PERIODS, spansOf } from "./overview/period.ts";

interface TokenTotal {
  caip2Network: string;
  asset: string;
  amount: string;
}

interface Totals {
  Income: TokenTotal[];
  Spending: TokenTotal[];
  incomeCount: number;
  spendingCount: number;
}

const SUMMED_PERIODS = ["day", "week", "month"] as const;
const POLL_MS = 15_000;

const readTotals = (signal: AbortSignal) =>
  Promise.all(
    SUMMED_PERIODS.map((period) => {
      const query = { createdFrom: spansOf(period).current.from ?? "" };
      return callApi<Totals>({ method: "GET", path: "/x402/totals", query }, signal);
    }),
  );

export function X402Totals() {
  return hasAccess("Admin") ? <TotalsOfPeriods /> : null;
}

function TotalsOfPeriods() {
  const { data } = useLiveData("x402 totals", readTotals, POLL_MS);
  if (data === null) return null;
  return (
    <section class="card totals" aria-label="Totals">
      <Facts
        facts={data.map((totals, i) => [
          `Last ${PERIODS[SUMMED_PERIODS[i] ?? "day"].label}`,
          <>
            {describeSum("received", totals.Income, totals.incomeCount)}
            <br />
            {describeSum("paid", totals.Spending, totals.spendingCount)}
          </>,
        ])}
      />
    </section>
  );
}

function describeSum(verb: string, sums: readonly TokenTotal[], count: number): string {
  if (count === 0) return `Nothing ${verb}`;
  const amounts = sums.map(({ amount, caip2Network, asset }) =>
    formatEvmAmount(amount, caip2Network, asset),
  );
  return `${amounts.join(" and ")} ${verb} in ${count} ${count === 1 ? "payment" : "payments"}`;
}
