/**
 * The text form of OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec), which
 * Prometheus and most collectors read.
 */
export const OPEN_METRICS_CONTENT_TYPE = "application/openmetrics-text";

/** One figure of a family, told from the others by its labels. */
export interface MetricSample {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** Figures of one meaning. */
export interface MetricFamily {
  /** In snake case, without our prefix; ends in the unit, if there is one. */
  name: string;
  /** A counter only grows, or begins anew with 0. Default: a gauge. */
  type?: "counter" | "gauge";
  /** One sentence. */
  help: string;
  samples: readonly MetricSample[];
}

const METRIC_PREFIX = "agent_payment_";

/** The text of families. Their names must differ. */
export function renderOpenMetrics(families: readonly MetricFamily[]): string {
  return `${families.map(renderFamily).join("")}# EOF\n`;
}

function renderFamily({ name, type = "gauge", help, samples }: MetricFamily): string {
  const full = METRIC_PREFIX + name;
  const [, unit] = /_(seconds|bytes)$/.exec(name) ?? [];
  const suffix = type === "counter" ? "_total" : "";
  return [
    `# TYPE ${full} ${type}`,
    ...(unit ? [`# UNIT ${full} ${unit}`] : []),
    `# HELP ${full} ${escapeText(help)}`,
    ...samples.map(({ labels, value }) => `${full}${suffix}${renderLabels(labels)} ${value}`),
    "",
  ].join("\n");
}

function renderLabels(labels: MetricSample["labels"]): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeText(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(",")}}` : "";
}

function escapeText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
