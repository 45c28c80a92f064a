/** Escrows of each day by state, as a small chart; a table beside it has the numbers. */
import { splitWords } from "../../ui/format.ts";

export interface DayCount {
  day: string;
  total: number;
  byState: { onChainState: string | null; count: number }[];
}

const CHART_WIDTH = 300;
const CHART_HEIGHT = 90;
const BAR_GAP = 2;

/** What an escrow has come to, in the order in which a bar stacks it. */
const OUTCOMES = [
  ["ended", /Withdrawn$/],
  ["claimed", /Dispute|Refund|Invalid/],
  ["locked", /./],
  ["unlocked", /^$/],
] as const;
const OUTCOME_LABELS = {
  ended: "paid out",
  claimed: "refund or dispute",
  locked: "locked",
  unlocked: "nothing locked",
} as const;

type Outcome = (typeof OUTCOMES)[number][0];

function outcomeOf(state: string | null): Outcome {
  return OUTCOMES.find(([, pattern]) => pattern.test(state ?? ""))?.[0] ?? "unlocked";
}

export function DailyChart({ title, days }: { title: string; days: readonly DayCount[] }) {
  if (days.every(({ total }) => total === 0)) return null;
  const most = Math.max(...days.map(({ total }) => total));
  const width = CHART_WIDTH / days.length;
  return (
    <figure class="days">
      <svg
        viewBox={`0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {days.flatMap((day, i) =>
          barSegmentsOf(day).map(({ outcome, below, count }) => (
            <rect
              key={`${day.day} ${outcome}`}
              class={outcome}
              x={i * width + BAR_GAP / 2}
              width={width - BAR_GAP}
              y={CHART_HEIGHT - ((below + count) / most) * CHART_HEIGHT}
              height={(count / most) * CHART_HEIGHT}
            />
          )),
        )}
      </svg>
      <figcaption>
        {OUTCOMES.map(([outcome]) => (
          <span key={outcome} class={outcome}>
            {OUTCOME_LABELS[outcome]}
          </span>
        ))}
      </figcaption>
      <details>
        <summary>{title} by day (UTC)</summary>
        <ul>
          {days
            .filter(({ total }) => total > 0)
            .map(({ day, total, byState }) => (
              <li key={day}>
                {day}: {total} (
                {byState
                  .map(
                    ({ onChainState, count }) =>
                      `${count} ${onChainState === null ? "nothing locked" : splitWords(onChainState)}`,
                  )
                  .join(", ")}
                )
              </li>
            ))}
        </ul>
      </details>
    </figure>
  );
}

/** The parts of a day's bar, from below. */
function barSegmentsOf({ byState }: DayCount) {
  let below = 0;
  return OUTCOMES.flatMap(([outcome]) => {
    const ofOutcome = byState.filter(({ onChainState }) => outcomeOf(onChainState) === outcome);
    const count = ofOutcome.reduce((sum, one) => sum + one.count, 0);
    const part = { outcome, below, count };
    below += count;
    return count === 0 ? [] : [part];
  });
}
