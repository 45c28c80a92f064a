/** The figures of the period: what is in escrow, came in and went out, and how jobs ended. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useLiveData } from "../../api/live.ts";
import { callApi } from "../../api/request.ts";
import { formatDuration, formatFunds } from "../../ui/format.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import { network } from "../../ui/route.ts";
import { Amount } from "../../ui/value.tsx";
import { PERIODS, type Period, type Span, spansOf } from "./period.ts";

const POLL_MS = 15_000;
/** The median is of so many jobs: their histories are read. */
const MEDIAN_SAMPLE = "50";

interface UnitTotal {
  unit: string;
  gross: string;
  net: string;
}
type Totals = Record<string, { Units: UnitTotal[] } | undefined>;
interface Counts {
  byState: { onChainState: string | null; count: number }[];
}

async function readTotals(path: string, { from, to }: Span, signal: AbortSignal): Promise<Totals> {
  const body = {
    network: network.value,
    agentIdentifier: null,
    ...(from && { startDate: from }),
    ...(to && { endDate: to }),
  };
  return await callApi<Totals>({ method: "POST", path, body }, signal);
}

const unitsOf = (totals: Totals | null, member: string): readonly UnitTotal[] =>
  totals?.[member]?.Units ?? [];

async function readMoney(period: Period, signal: AbortSignal) {
  const { current, previous } = spansOf(period);
  const always: Span = { from: undefined, to: undefined };
  const sides = [
    ["/payment/income", "TotalIncome"],
    ["/purchase/spending", "TotalSpend"],
  ] as const;
  const [income, spending] = await Promise.all(
    sides.map(async ([path, member]) => {
      const [whole, now, before] = await Promise.all([
        readTotals(path, always, signal),
        previous ? readTotals(path, current, signal) : null,
        previous ? readTotals(path, previous, signal) : null,
      ]);
      return {
        locked: unitsOf(whole, "TotalPending"),
        now: unitsOf(now ?? whole, member),
        before: before && unitsOf(before, member),
      };
    }),
  );
  return { income, spending };
}

async function readCounts(span: Span, signal: AbortSignal): Promise<Counts> {
  const query = {
    network: network.value,
    createdFrom: span.from ?? "",
    createdTo: span.to ?? "",
  };
  return await callApi<Counts>({ method: "GET", path: "/payment/count", query }, signal);
}

/** Jobs that ended, and those of them that the seller was paid for. */
function countEnds({ byState }: Counts): { ended: number; paid: number } {
  const countOf = (pattern: RegExp) =>
    byState
      .filter(({ onChainState }) => pattern.test(onChainState ?? ""))
      .reduce((sum, { count }) => sum + count, 0);
  return { ended: countOf(/Withdrawn$/), paid: countOf(/^Withdrawn$/) };
}

/** Milliseconds between the lock and the result, of the newest jobs that were paid; null: none was. */
async function readMedian(span: Span, signal: AbortSignal): Promise<number | null> {
  const query = {
    network: network.value,
    limit: MEDIAN_SAMPLE,
    includeHistory: "true",
    filterOnChainState: "Withdrawn",
    createdFrom: span.from ?? "",
  };
  const { Payments } = await callApi<{ Payments: unknown[] }>(
    { method: "GET", path: "/payment", query },
    signal,
  );
  const times = Payments.flatMap((row) => {
    const transactions = [
      valueAt(row, "CurrentTransaction"),
      ...((valueAt(row, "TransactionHistory") as unknown[] | undefined) ?? []),
    ];
    const timeOf = (state: string) => {
      const found = transactions.filter((one) => textAt(one, "newOnChainState") === state);
      return Math.min(...found.map((one) => Number(textAt(one, "blockTime")) || Infinity));
    };
    const time = timeOf("ResultSubmitted") - timeOf("FundsLocked");
    return Number.isFinite(time) && time >= 0 ? [time * 1_000] : [];
  }).sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? null;
}

async function readJobs(period: Period, signal: AbortSignal) {
  const { current, previous } = spansOf(period);
  const [now, before, median] = await Promise.all([
    readCounts(current, signal),
    previous && readCounts(previous, signal),
    readMedian(current, signal),
  ]);
  return { now: countEnds(now), before: before && countEnds(before), median };
}

/** The change from an amount to another in percent; null: there is none to compare with. */
export function percentChange(now: string, before: string | undefined): number | null {
  if (before === undefined || BigInt(before) === 0n) return null;
  return Number(((BigInt(now) - BigInt(before)) * 100n) / BigInt(before));
}

const percentOf = ({ ended, paid }: { ended: number; paid: number }) =>
  ended === 0 ? null : Math.round((paid * 100) / ended);

const LABELS = [
  "In escrow now",
  "Sales before fees",
  "Spending before fees",
  "Jobs paid out",
  "Median time to result",
] as const;

/** The first of them are amounts. */
const MONEY_FIGURES = 3;

/** Whether an amount had several units when this tab last showed it: then the room for them is kept. */
const HAD_UNITS_KEY = "figures";
const hadUnits = () => sessionStorage.getItem(HAD_UNITS_KEY) === "true";

/** Where the figures will be, before anything of them is read. */
export function FiguresSkeleton() {
  return (
    <dl class="figures">
      {LABELS.map((label, i) => (
        <Figure
          key={label}
          label={label}
          isReady={false}
          isTall={i < MONEY_FIGURES && hadUnits()}
        />
      ))}
    </dl>
  );
}

export function Figures({ period }: { period: Period }) {
  const name = `${network.value} ${period}`;
  const money = useLiveData(`money ${name}`, (signal) => readMoney(period, signal), POLL_MS).data;
  const jobs = useLiveData(`jobs ${name}`, (signal) => readJobs(period, signal), POLL_MS).data;
  const share = jobs && percentOf(jobs.now);
  const shareBefore = jobs?.before ? percentOf(jobs.before) : null;
  const isTall = hadUnits();
  useEffect(() => {
    if (!money) return;
    const { income, spending } = money;
    const hasUnits = [income?.now, spending?.now].some((units) => (units?.length ?? 0) > 1);
    sessionStorage.setItem(HAD_UNITS_KEY, String(hasUnits));
  }, [money]);

  return (
    <dl class="figures" aria-label={`Figures: ${PERIODS[period].label}`}>
      <Figure label={LABELS[0]} isReady={money !== null} isTall={isTall}>
        <Units units={money?.income?.locked ?? []} after="for us" />
        <Units units={money?.spending?.locked ?? []} after="by us" />
      </Figure>
      <Figure label={LABELS[1]} isReady={money !== null} isTall={isTall}>
        <Units units={money?.income?.now ?? []} before={money?.income?.before ?? null} />
      </Figure>
      <Figure label={LABELS[2]} isReady={money !== null} isTall={isTall}>
        <Units units={money?.spending?.now ?? []} before={money?.spending?.before ?? null} />
      </Figure>
      <Figure label={LABELS[3]} isReady={jobs !== null}>
        {jobs && share !== null ? (
          <>
            <span class="value">{share} %</span>
            <small>
              {jobs.now.paid} of {jobs.now.ended} that ended
              {shareBefore !== null && share !== null && (
                <>
                  {" · "}
                  <Change percent={share - shareBefore} unit="points" />
                </>
              )}
            </small>
          </>
        ) : (
          <Nothing />
        )}
      </Figure>
      <Figure label={LABELS[4]} isReady={jobs !== null}>
        {jobs && jobs.median !== null ? (
          <>
            <span class="value">{formatDuration(jobs.median)}</span>
            <small>from lock to result</small>
          </>
        ) : (
          <Nothing />
        )}
      </Figure>
    </dl>
  );
}

function Nothing() {
  return <span class="value none">–</span>;
}

function Figure({
  label,
  isReady,
  isTall = false,
  children,
}: {
  label: string;
  isReady: boolean;
  /** It will have several lines. */
  isTall?: boolean;
  children?: ComponentChildren;
}) {
  return (
    <div class="card figure">
      <dt>{label}</dt>
      <dd>{isReady ? children : <span class={isTall ? "waiting tall" : "waiting"} />}</dd>
    </div>
  );
}

/** An amount of each unit, with the change from the period before. */
function Units({
  units,
  before = null,
  after,
}: {
  units: readonly UnitTotal[];
  before?: readonly UnitTotal[] | null;
  after?: string;
}) {
  const some = units.filter(({ gross }) => gross !== "0");
  if (some.length === 0)
    return after ? (
      <span class="line">
        <span class="value none">{formatFunds("0", "")}</span> <small>{after}</small>
      </span>
    ) : (
      <Nothing />
    );
  return (
    <>
      {some.map(({ unit, gross }) => (
        <span key={unit} class="line">
          <span class="value">
            <Amount amount={gross} unit={unit} />
          </span>{" "}
          {after && <small>{after}</small>}
          {before && (
            <Change
              percent={percentChange(gross, before.find((one) => one.unit === unit)?.gross)}
            />
          )}
        </span>
      ))}
    </>
  );
}

function Change({ percent, unit = "%" }: { percent: number | null; unit?: string }) {
  if (percent === null)
    return (
      <small class="change" title="In the period before">
        none before
      </small>
    );
  const sign = percent > 0 ? "+" : percent < 0 ? "−" : "±";
  return (
    <small title="Compared with the period before">
      {sign}
      {Math.abs(percent)} {unit}
    </small>
  );
}
