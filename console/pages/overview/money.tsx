/** What escrows brought and cost, by unit, with what is still locked. */
import { POLL_INTERVAL_MS, useLiveData } from "../../api/live.ts";
import { callApi } from "../../api/request.ts";
import { formatUnit } from "../../ui/format.ts";
import { network } from "../../ui/route.ts";
import { Amount } from "../../ui/value.tsx";

interface UnitTotal {
  unit: string;
  gross: string;
  net: string;
}

type TotalsResponse = Record<string, { Units: UnitTotal[] } | undefined>;

/** The figures that are shown, by the answer that has them. */
const MONEY_METRICS = [
  ["Income", "/payment/income", "TotalIncome", "Received, before fees"],
  ["Income", "/payment/income", "TotalPending", "Still locked for us"],
  ["Spending", "/purchase/spending", "TotalSpend", "Spent, before fees"],
  ["Spending", "/purchase/spending", "TotalPending", "Still locked by us"],
] as const;

async function readMoneyTotals(signal: AbortSignal) {
  const body = { network: network.value, agentIdentifier: null };
  const paths = [...new Set(MONEY_METRICS.map(([, path]) => path))];
  const books = new Map<string, TotalsResponse>();
  for (const path of paths)
    books.set(path, await callApi<TotalsResponse>({ method: "POST", path, body }, signal));
  return MONEY_METRICS.map(([, path, member, title]) => ({
    title,
    units: books.get(path)?.[member]?.Units ?? [],
  }));
}

export function MoneyTotals() {
  const live = useLiveData(`money ${network.value}`, readMoneyTotals, POLL_INTERVAL_MS);
  return (
    <>
      <h2>Money since 2020</h2>
      <div class="cards">
        {live.data?.map(({ title, units }) => (
          <section key={title} class="card" aria-label={title}>
            <h3>{title}</h3>
            {units.length === 0 && <p class="none">Nothing.</p>}
            <ul>
              {units.map(({ unit, gross }) => (
                <li key={unit} title={formatUnit(unit)}>
                  <Amount amount={gross} unit={unit} />
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </>
  );
}
