/**
 * The demo's present: the service's API quotes and buys jobs, and its wallets do the rest. An
 * observer sees new escrows as long as the demo runs.
 */
import { setInterval } from "node:timers/promises";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { type ApiAccess, ask } from "../client/api.ts";
import { until } from "../client/wait.ts";
import { CASTS } from "./actors/wallets.ts";
import type { Agents } from "./agents.ts";
import { agent } from "./registrations.ts";
import { findTranslator } from "./registry.ts";
import { type AskedStep, askStep, type Bought, buyJob, type Shop } from "./trade.ts";

/** Between two jobs. */
const JOB_EVERY_MS = 20_000;
const TICK_MS = 2_000;
/** After this long nothing more is asked for a job: its result is overdue. */
const GIVEN_UP_MS = 16 * 60_000;

/** Requests after the purchase; other steps are automatic, the last job's refund too. */
const COURSES: readonly AskedStep[][] = [["deliver"], ["request-refund", "authorize-refund"], []];

/** A job of the present. */
interface Job {
  bought: Bought;
  boughtAt: number;
  /** Requests that remain. */
  steps: AskedStep[];
}

/**
 * Runs jobs, a new one every 20 seconds, until the signal aborts; it then throws an AbortError.
 *
 * @param log - receives the service's refusals. A refusal ends only its job, because a machine may
 *   have slept.
 */
export async function playPresent(
  service: ApiAccess,
  agents: Agents,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<void> {
  const shops: Shop[] = [];
  const open = (shop: Promise<Shop>) => shop.then((one) => shops.push(one));
  const opened = Promise.all([
    open(shopOfPast(service, signal)),
    open(newShop(service, agents, signal)),
  ]);
  opened.catch((error: unknown) => signal.aborted || log(`demo: a shop does not open: ${error}`));

  let jobs: Job[] = [];
  let turn = 0;
  let nextAt = 0;
  for await (const _ of setInterval(TICK_MS, null, { signal })) {
    try {
      const shop = shops[turn % shops.length];
      if (shop && Date.now() >= nextAt) {
        const steps = [...(COURSES[Math.floor(turn / shops.length) % COURSES.length] ?? [])];
        turn++;
        nextAt = Date.now() + JOB_EVERY_MS;
        jobs.push({ bought: await buyJob(service, shop), boughtAt: Date.now(), steps });
      }
      for (const { steps, bought } of jobs) {
        const [step] = steps;
        if (step && (await askStep(service, step, bought))) steps.shift();
      }
    } catch (error) {
      if (signal.aborted) throw error;
      log(`demo: ${error}`);
    }
    jobs = jobs.filter(
      ({ steps, boughtAt }) => steps.length > 0 && Date.now() < boughtAt + GIVEN_UP_MS,
    );
  }
}

/** The agent that was registered in the past, on Web3ChainV1. */
async function shopOfPast(service: ApiAccess, signal: AbortSignal): Promise<Shop> {
  const agentIdentifier = await findTranslator(service, signal);
  return { agentIdentifier, paymentSourceType: "Web3ChainV1" };
}

const NEW_AGENT = "Second-generation adviser";

/** An agent of Web3ChainV2, registered through the API unless it is there already. */
async function newShop(service: ApiAccess, agents: Agents, signal: AbortSignal): Promise<Shop> {
  const paymentSourceType: PaymentSourceType = "Web3ChainV2";
  const [seller] = CASTS[paymentSourceType].sellers;
  if (!seller) throw new Error("the demo's payment source has no wallet");
  const found = async () => {
    const { Assets } = await ask<{ Assets: { state: string; agentIdentifier: string | null }[] }>(
      service,
      "GET",
      `/registry?network=Preprod&searchQuery=${encodeURIComponent(NEW_AGENT)}`,
    );
    return Assets[0];
  };
  if (!(await found())) await ask(service, "POST", "/registry", agent(agents, NEW_AGENT, seller));
  const look = async () => {
    const asset = await found();
    return asset?.state === "RegistrationConfirmed" && asset.agentIdentifier;
  };
  const what = { what: `${NEW_AGENT} on the chain`, everyMs: TICK_MS, signal };
  return { agentIdentifier: await until(look, what), paymentSourceType };
}
