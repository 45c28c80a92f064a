/** What each kind of invocation takes of what the platform limits and bills, and what a month costs. */
import type { BenchContext } from "../support/service.ts";
import { median } from "../support/statistics.ts";
import type { Row } from "../support/table.ts";
import { COUNTS, MAX_CONNECTIONS } from "./invocation.ts";
import { excessesOf } from "./limits.ts";
import { meteredBundle } from "./metered-bundle.ts";
import { excessOfPrice, priceRows } from "./price.ts";
import { type Stage, UNITS, unitsOf } from "./units.ts";
import { carryOut } from "./workload.ts";

export interface PlatformFigures {
  /** Medians by stage and kind of invocation. */
  invocations: Row[];
  units: Row[];
  prices: Row[];
  excesses: string[];
}

/** Meters a small workload, and prices two deployments with its figures. */
export async function benchPlatform(context: BenchContext): Promise<PlatformFigures> {
  const { d1Ms, connections } = context.platform;
  const limits = { d1Ms, connections: connections ?? MAX_CONNECTIONS };
  const stages = await carryOut({ ...context, bundle: meteredBundle(context, limits) });
  const invocations = stages.flatMap(mediansOf);
  const units = unitsOf(stages);
  const objectBytes = objectBytesOf(stages);
  return {
    invocations,
    units: UNITS.map((unit) => ({ unit, ...units[unit] })),
    prices: priceRows(units, objectBytes),
    excesses: context.quick
      ? []
      : [...excessesOf(invocations), ...excessOfPrice(units, objectBytes)],
  };
}

function mediansOf({ name, invocations }: Stage): Row[] {
  const kinds = Map.groupBy(invocations, ({ kind }) => kind);
  return [...kinds].sort().map(([kind, all]) => ({
    stage: name,
    kind,
    times: all.length,
    ...Object.fromEntries(
      COUNTS.map((count) => [count, Math.round(median(all.map(({ counts }) => counts[count])))]),
    ),
  }));
}

/** The object of a settled payment. */
function objectBytesOf(stages: readonly Stage[]): number {
  const settled = stages.flatMap(({ invocations }) =>
    invocations.filter(({ kind }) => kind === "PaymentPayload.settle"),
  );
  return median(settled.map(({ counts }) => counts["object bytes"]));
}
