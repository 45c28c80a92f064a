/** What escrows brought and cost, by unit, with what is still locked. */
import { POLL_INTERVAL_MS, useLive } from "../../api/live.ts";
import { call } from "../../api/request.ts";
import { formatUnit } from "../../ui/format.ts";
import { network } from "../../ui/route.ts";
import { Amount } from "../../ui/value.tsx";

interface UnitTotal {
  unit: string;
  gross: string;
  net: string;
}

type Books = Record<string, { Units: UnitTotal[] } | undefined>;

/** The figures that are shown, by the answer that has them. */
const FIGURES = [
  ["Income", "/payment/income", "TotalIncome", "Received, before fees"],
  ["Income", "/payment/income", "TotalPending", "Still locked for us"],
  ["Spending", "/purchase/spending", "TotalSpend", "Spent, before fees"],
  ["Spending", "/purchase/spending", "TotalPending", "Still locked by us"],
] as const;

async function readMoney(signal: AbortSignal) {
  const body = { network: network.value, agentIdentifier: null };
  const paths = [...new Set(FIGURES.map(([, path]) => path))];
  const books = new Map<string, Books>();
  for (const path of paths)
    books.set(path, await call<Books>({ method: "POST", path, body }, signal));
  return FIGURES.map(([, path, member, title]) => ({
    title,
    units: books.get(path)?.[member]?.Units ?? [],
  }));
}

export function MoneyTotals() {
  const live = useLive(`money ${network.value}`, readMoney, POLL_INTERVAL_MS);
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
