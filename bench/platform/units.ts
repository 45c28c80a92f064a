/** What one unit of work takes of all that the platform bills: the input of the price model. */
import type { MeteredInvocation } from "./invocation.ts";

/** What is billed, in the order of the tables. */
export const BILLED = [
  "requests",
  "CPU ms",
  "rows read",
  "rows written",
  "object requests",
  "object GB-s",
  "object rows read",
  "object rows written",
  "queue ops",
  "log events",
] as const;
export type Billed = Record<(typeof BILLED)[number], number>;

/** Work of which a deployment has so much a month. */
export const UNITS = [
  "poll",
  "payment",
  "purchase",
  "settlement",
  "event of few endpoints",
  "event of many endpoints",
  "run of the cron",
  "pass of a source",
  "move of an escrow",
  "move of an x402 payment",
] as const;
export type Unit = (typeof UNITS)[number];

/** Memory that an object is billed for. */
const OBJECT_GB = 0.128;

/** Metered work of one sort. */
export interface Stage {
  name: string;
  /** How many polls, sales, settlements, events or runs of the cron it was. */
  count: number;
  /** Of workerd, with the simulated database and the meter. */
  cpuMs: number;
  invocations: MeteredInvocation[];
}

/** Which invocations of a stage belong to a unit. */
interface Source {
  stage: string;
  isOf(kind: string): boolean;
}

const isCron = (kind: string) => kind === "cron";
const isQueue = (kind: string) => kind.startsWith("queue ");
/** With the cron that deletes them. */
const isEvent = (kind: string) => isQueue(kind) || isCron(kind);
const isPass = (kind: string) => kind.startsWith("SourceCursor.");
/** Without what a month has another number of: runs of the cron, and events. */
const isOwn = (kind: string) => !isCron(kind) && !isQueue(kind);

const SOURCES: Record<Unit, Source> = {
  poll: { stage: "poll, caught up", isOf: isOwn },
  payment: { stage: "payment", isOf: isOwn },
  purchase: { stage: "purchase", isOf: isOwn },
  settlement: { stage: "settlement", isOf: isOwn },
  "event of few endpoints": { stage: "event, few endpoints", isOf: isEvent },
  "event of many endpoints": { stage: "event, many endpoints", isOf: isEvent },
  "run of the cron": { stage: "minute", isOf: (kind) => !isPass(kind) },
  "pass of a source": { stage: "minute", isOf: isPass },
  "move of an escrow": { stage: "move", isOf: isCron },
  "move of an x402 payment": { stage: "move, x402", isOf: isCron },
};

/**
 * Adds up what each unit takes. The CPU of a stage is divided among its invocations. Each line is an event of
 * the log; `wrangler.toml` turns the platform's own line for an invocation off.
 */
export function unitsOf(stages: readonly Stage[]): Record<Unit, Billed> {
  const units = UNITS.map((unit) => {
    const { stage: name, isOf } = SOURCES[unit];
    const stage = stages.find((one) => one.name === name);
    if (!stage) throw new Error(`no stage of the unit ${unit}`);
    return [unit, billedOf(stage, isOf)];
  });
  return Object.fromEntries(units);
}

function billedOf({ count, cpuMs, invocations }: Stage, isOf: Source["isOf"]): Billed {
  const all = invocations.filter(({ kind }) => isOf(kind));
  const onObjects = all.filter(({ kind }) => kind.includes("."));
  const sum = (name: keyof MeteredInvocation["counts"]) =>
    all.reduce((total, { counts }) => total + counts[name], 0) / count;
  return {
    requests: (all.length - onObjects.length) / count,
    "CPU ms": (cpuMs / count) * (all.length / Math.max(invocations.length, 1)),
    "rows read": sum("rows read"),
    "rows written": sum("rows written"),
    "object requests": onObjects.length / count,
    "object GB-s": (sum("object ms") / 1000) * OBJECT_GB,
    "object rows read": sum("object rows read"),
    "object rows written": sum("object rows written"),
    "queue ops": sum("queue ops"),
    "log events": sum("log lines"),
  };
}
