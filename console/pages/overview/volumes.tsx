/** How many escrows of the period are in which state, by day and in all. */
import { POLL_INTERVAL_MS, useLiveData } from "../../api/live.ts";
import { callApi } from "../../api/request.ts";
import { StackedBars } from "../../ui/chart.tsx";
import { network, pageHref } from "../../ui/route.ts";
import { toWords } from "../../ui/words.ts";
import { SIDES, type Side } from "../escrow/sides.ts";
import { PERIODS, type Period, spansOf } from "./period.ts";

interface StateCount {
  onChainState: string | null;
  count: number;
}

interface DayCount {
  day: string;
  total: number;
  byState: StateCount[];
}

interface EscrowCounts {
  total: number;
  byState: StateCount[];
  byDay: DayCount[];
}

/** The chart has a bar for so many days, today the last. */
const MAX_DAYS = 31;
const MIN_DAYS = 7;

/** What an escrow has come to, in the order in which a bar stacks it. */
const OUTCOMES = [
  { label: "Paid out", color: "--series-1", pattern: /^Withdrawn$/ },
  { label: "Open", color: "--series-2", pattern: /^(FundsLocked|ResultSubmitted|WithdrawAuth.*)$/ },
  { label: "Refund", color: "--series-3", pattern: /Refund/ },
  { label: "Dispute", color: "--series-4", pattern: /./ },
  { label: "Nothing locked", color: "--series-5", pattern: /^$/ },
] as const;

function labelOf(state: string | null): string {
  return OUTCOMES.find(({ pattern }) => pattern.test(state ?? ""))?.label ?? "";
}

async function readEscrowCounts(period: Period, signal: AbortSignal) {
  const days = Math.max(MIN_DAYS, PERIODS[period].days ?? MAX_DAYS);
  const { from = "" } = spansOf(period).current;
  const query = { network: network.value, createdFrom: from, days: String(days) };
  return await Promise.all(
    (["payment", "purchase"] as const).map(async (side) => ({
      side,
      ...(await callApi<EscrowCounts>({ method: "GET", path: `/${side}/count`, query }, signal)),
    })),
  );
}

export function Volumes({ period }: { period: Period }) {
  const live = useLiveData(
    `volumes ${network.value} ${period}`,
    (signal) => readEscrowCounts(period, signal),
    POLL_INTERVAL_MS,
  );
  return live.data === null ? (
    <VolumesSkeleton />
  ) : (
    <div class="cards charts">
      {live.data.map((one) => (
        <VolumeCard key={one.side} counts={one} />
      ))}
    </div>
  );
}

/** Where the charts will be. */
export function VolumesSkeleton() {
  return (
    <div class="cards charts">
      {(["payment", "purchase"] as const).map((side) => (
        <section key={side} class="card" aria-label={SIDES[side].title}>
          <span class="waiting" aria-hidden="true" />
        </section>
      ))}
    </div>
  );
}

const DAY_FORMAT = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});

function VolumeCard({ counts }: { counts: EscrowCounts & { side: Side } }) {
  const { side, total, byState, byDay } = counts;
  const { title } = SIDES[side];
  const series = OUTCOMES.map(({ label, color }) => ({
    label,
    color,
    values: byDay.map((day) =>
      day.byState
        .filter(({ onChainState }) => labelOf(onChainState) === label)
        .reduce((sum, { count }) => sum + count, 0),
    ),
  })).filter(({ values }) => values.some((value) => value > 0));
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>
          {title} per day <small>UTC</small>
        </h2>
        <a href={pageHref(side)}>All {title.toLowerCase()}</a>
      </header>
      {total === 0 ? (
        <p class="none">There were none in this time.</p>
      ) : (
        <>
          <StackedBars
            title={`${title} per day`}
            labels={byDay.map(({ day }) => DAY_FORMAT.format(Date.parse(day)))}
            series={series}
          />
          <details class="fold">
            <summary>
              {total} {title.toLowerCase()} by state
            </summary>
            <dl class="facts lines">
              {byState.map((one) => (
                <StateLine key={one.onChainState ?? ""} side={side} count={one} />
              ))}
            </dl>
          </details>
        </>
      )}
    </section>
  );
}

function StateLine({ side, count: { onChainState, count } }: { side: Side; count: StateCount }) {
  return (
    <div>
      <dt>
        {onChainState === null ? (
          "Nothing locked"
        ) : (
          <a href={pageHref(side, "", { filterOnChainState: onChainState })}>
            {toWords(onChainState)}
          </a>
        )}
      </dt>
      <dd>{count}</dd>
    </div>
  );
}
