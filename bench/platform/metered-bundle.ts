/** The built Worker with the meter around it. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "../../devnet/client/wait.ts";
import { bundleBeside, wrappedBundle } from "../../devnet/wrapped-bundle.ts";
import type { BenchContext, BenchService } from "../support/service.ts";
import {
  METER_PATH,
  type Metered,
  type MeteredInvocation,
  type PlatformLimits,
  UNLIMITED,
} from "./invocation.ts";

const METER = fileURLToPath(new URL("meter.ts", import.meta.url));
const QUIET_LOOK_MS = 50;
const STOPPED_AFTER_MS = 60_000;

type Metering = Pick<BenchService, "host">;

/**
 * Puts the meter around a bundle: its routes, crons, queues and objects are counted, and have the limits
 * of the platform.
 *
 * @returns path of the metered Worker
 */
export function meteredBundle(
  { bundle, folder }: Pick<BenchContext, "bundle" | "folder">,
  limits: PlatformLimits = UNLIMITED,
): string {
  const copy = join(folder, `metered-${limits.d1Ms}-${limits.connections}`);
  const wrapper = `import * as service from "./service.mjs";
import { meterHandlers, meterObject } from "./meter.mjs";
export default meterHandlers(service.default, ${JSON.stringify(limits)});`;
  const objectOf = (name: string) =>
    `export const ${name} = meterObject("${name}", service.${name});`;
  const path = wrappedBundle(bundle, copy, wrapper, objectOf);
  bundleBeside(path, METER, "meter.mjs");
  return path;
}

/** The context of a part whose service has the limits that the command names, if it names any. */
export function onPlatform(context: BenchContext): BenchContext {
  const { d1Ms, connections } = context.platform;
  if (d1Ms === 0 && connections === null) return context;
  return { ...context, bundle: meteredBundle(context, context.platform) };
}

/** Rows that D1 has counted since the last time. */
export async function takeRows(service: Metering): Promise<Metered["rows"]> {
  return (await take(service)).rows;
}

/** All invocations since the last time, once none is running. */
export async function takeInvocations(service: Metering): Promise<MeteredInvocation[]> {
  const all: MeteredInvocation[] = [];
  const look = async () => {
    const { invocations, running } = await take(service);
    all.push(...invocations);
    return running === 0;
  };
  await until(look, { what: "rest", everyMs: QUIET_LOOK_MS, limitMs: STOPPED_AFTER_MS });
  return all;
}

async function take({ host }: Metering): Promise<Metered> {
  const response = await fetchPatiently(`${host.url}${METER_PATH}`);
  return (await response.json()) as Metered;
}

/**
 * workerd closes connections that were idle while a statement kept it busy for seconds: a request that was
 * sent on one is sent once more.
 */
export async function fetchPatiently(url: string, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch {
    return fetch(url, init);
  }
}
