/** How many escrows are in which state, of those that were made in a time. */
import { POLL_INTERVAL_MS, useLiveData } from "../../api/live.ts";
import { callApi } from "../../api/request.ts";
import { splitWords } from "../../ui/format.ts";
import { changeQuery, network, pageHref, route } from "../../ui/route.ts";
import { SIDES, type Side } from "../escrow/sides.ts";
import { DailyChart, type DayCount } from "./daily-chart.tsx";

interface EscrowCounts {
  total: number;
  byState: { onChainState: string | null; count: number }[];
  byDay: DayCount[];
}

/** The chart has a bar for so many days, today the last. */
const MAX_DAYS = 31;
const DAY_MS = 86_400_000;
const PERIODS = { day: 1, week: 7, month: 30, all: null } as const;
type Period = keyof typeof PERIODS;

/** Rounded to the minute, so that an unchanged answer is known again. */
function startOfPeriod(period: Period): string {
  const days = PERIODS[period];
  if (days === null) return "";
  return new Date(Math.floor((Date.now() - days * DAY_MS) / 60_000) * 60_000).toISOString();
}

function readEscrowCounts(period: Period, signal: AbortSignal) {
  const days = String(PERIODS[period] ?? MAX_DAYS);
  const query = { network: network.value, createdFrom: startOfPeriod(period), days };
  return Promise.all(
    (["payment", "purchase"] as const).map(async (side) => ({
      side,
      ...(await callApi<EscrowCounts>({ method: "GET", path: `/${side}/count`, query }, signal)),
    })),
  );
}

export function Volumes() {
  const asked = route.value.query.period;
  const period = (Object.keys(PERIODS) as Period[]).find((one) => one === asked) ?? "week";
  const live = useLiveData(
    `volumes ${network.value} ${period}`,
    (signal) => readEscrowCounts(period, signal),
    POLL_INTERVAL_MS,
  );
  return (
    <>
      <h2>Volumes</h2>
      <div class="tools">
        {(Object.keys(PERIODS) as Period[]).map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === period}
            onClick={() => changeQuery({ period: one }, true)}
          >
            {splitWords(one)}
          </button>
        ))}
      </div>
      <div class="cards">
        {live.data?.map(({ side, ...counts }) => (
          <VolumeChart key={side} side={side} counts={counts} />
        ))}
      </div>
    </>
  );
}

const BAR_WIDTH = 300;
const ROW_HEIGHT = 26;

/** A bar for each state; the numbers stand beside it, so that nobody has to read the bars. */
function VolumeChart({
  side,
  counts: { total, byState, byDay },
}: {
  side: Side;
  counts: EscrowCounts;
}) {
  const most = Math.max(1, ...byState.map(({ count }) => count));
  return (
    <section class="card" aria-label={SIDES[side].title}>
      <h3>
        <a href={pageHref(side)}>{SIDES[side].title}</a>: {total}
      </h3>
      <DailyChart title={SIDES[side].title} days={byDay} />
      <dl class="bars">
        {byState.map(({ onChainState, count }) => (
          <div key={onChainState ?? ""}>
            <dt>
              {onChainState === null ? (
                "Nothing locked"
              ) : (
                <a href={pageHref(side, "", { filterOnChainState: onChainState })}>
                  {splitWords(onChainState)}
                </a>
              )}
            </dt>
            <dd>
              {count}
              <svg
                viewBox={`0 0 ${BAR_WIDTH} ${ROW_HEIGHT}`}
                preserveAspectRatio="none"
                aria-hidden="true"
              >
                <rect class="bar" height="14" y="6" width={(count / most) * BAR_WIDTH} rx="3" />
              </svg>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
