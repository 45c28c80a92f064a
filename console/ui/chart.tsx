/** Bars in stacks over days, with both axes. A table beside the chart has the same numbers. */
import "./browser-language.ts";

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "./theme.tsx";

export interface ChartSeries {
  label: string;
  /** A custom property of the stylesheet, such as `--series-1`. */
  color: string;
  values: readonly number[];
}

const CHART_HEIGHT_PX = 190;
const MAX_BAR_PX = 44;
const MIN_LABEL_PX = 76;
const FONT = "12px system-ui, sans-serif";
const TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000];

/** What a custom property is in the theme that is shown: a canvas knows no variables. */
function resolveColor(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Sums of a series and those below it: the highest is drawn first, and the next over it. */
function stack(series: readonly ChartSeries[]): number[][] {
  const sums: number[][] = [];
  for (const { values } of series)
    sums.push(values.map((value, i) => value + (sums.at(-1)?.[i] ?? 0)));
  return sums;
}

export function StackedBars({
  title,
  labels,
  series,
}: {
  title: string;
  /** What stands below each stack. */
  labels: readonly string[];
  /** From below. */
  series: readonly ChartSeries[];
}) {
  const place = useRef<HTMLDivElement>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const data = JSON.stringify([labels, series]);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const chart = draw(element, labels, series, setHovered);
    const observer = new ResizeObserver(() =>
      chart.setSize({ width: element.clientWidth, height: CHART_HEIGHT_PX }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [data, theme.value]);
  const shown = series.filter(({ values }) => hovered === null || values[hovered]);
  return (
    <figure class="chart">
      <div ref={place} role="img" aria-label={`${title}: the table below has the numbers`} />
      <figcaption>
        <strong>{hovered === null ? "" : labels[hovered]}</strong>
        {shown.map(({ label, color, values }) => (
          <span key={label} class={color.slice(2)}>
            {hovered === null ? label : `${label}: ${values[hovered]}`}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function draw(
  element: HTMLElement,
  labels: readonly string[],
  series: readonly ChartSeries[],
  onHover: (index: number | null) => void,
): uPlot {
  const sums = stack(series).reverse();
  const colors = series.map(({ color }) => resolveColor(element, color)).reverse();
  const [ink, line] = [resolveColor(element, "--quiet"), resolveColor(element, "--line")];
  const bars = uPlot.paths.bars?.({ size: [0.68, MAX_BAR_PX], radius: 0.12 });
  const axis = { stroke: ink, font: FONT, ticks: { show: false }, border: { show: false } };
  return new uPlot(
    {
      width: element.clientWidth,
      height: CHART_HEIGHT_PX,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, range: [-0.5, labels.length - 0.5] },
        y: { range: (_, __, most) => [0, Math.max(4, most * 1.05)] },
      },
      axes: [
        {
          ...axis,
          size: 28,
          grid: { show: false },
          splits: (u) => {
            const fitting = Math.max(1, Math.floor(u.width / MIN_LABEL_PX));
            const step = Math.ceil(labels.length / fitting);
            return labels.map((_, i) => labels.length - 1 - i).filter((_, i) => i % step === 0);
          },
          values: (_, splits) => splits.map((i) => labels[i] ?? ""),
        },
        { ...axis, size: 40, incrs: TICKS, grid: { stroke: line, width: 1 } },
      ],
      series: [
        {},
        ...colors.map((color) => ({
          fill: color,
          stroke: color,
          width: 0,
          points: { show: false },
          ...(bars && { paths: bars }),
        })),
      ],
      hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? null)] },
    },
    [labels.map((_, i) => i), ...sums],
    element,
  );
}
