/**
 * The text form of OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec), which
 * Prometheus and most collectors read.
 */
export const OPEN_METRICS = "application/openmetrics-text";

/** One figure of a family, told from the others by its labels. */
export interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** Figures of one meaning. */
export interface Family {
  /** In snake case, without our prefix; ends in the unit, if there is one. */
  name: string;
  /** `counter`: it only grows, or begins anew with 0. */
  type: "gauge" | "counter";
  unit?: "seconds";
  /** One sentence. */
  help: string;
  samples: readonly Sample[];
}

const PREFIX = "agent_payment_";

/** The text of families. Their names must differ. */
export function openMetrics(families: readonly Family[]): string {
  return `${families.map(familyText).join("")}# EOF\n`;
}

function familyText({ name, type, unit, help, samples }: Family): string {
  const full = PREFIX + name;
  const suffix = type === "counter" ? "_total" : "";
  return [
    `# TYPE ${full} ${type}`,
    ...(unit ? [`# UNIT ${full} ${unit}`] : []),
    `# HELP ${full} ${escaped(help)}`,
    ...samples.map(({ labels, value }) => `${full}${suffix}${labelsText(labels)} ${value}`),
    "",
  ].join("\n");
}

function labelsText(labels: Sample["labels"]): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(",")}}` : "";
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
