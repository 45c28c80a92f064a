/**
 * Breaks the first chain provider of the running service in six ways, each in a separate service, while
 * purchases run. A second provider takes its place. The drill measures how long reads had no answer, and how
 * long each purchase waited for its lock. In the end each purchase is locked once.
 *
 *     npm run drill:providers
 *
 * The drill exits with 1 if anything is wrong.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ApiAccess } from "../client/api.ts";
import { ask } from "../client/api.ts";
import { until } from "../client/wait.ts";
import { publishScripts } from "../demo/actors/publish.ts";
import { STRANGER } from "../demo/actors/wallets.ts";
import { buyJob } from "../demo/trade.ts";
import type { Chain } from "../ledger/chain.ts";
import type { FaultRule } from "../server/faults.ts";
import type { Service } from "../service.ts";
import { locksOnChain, signatureOf } from "./evidence.ts";
import { runDrill } from "./run-drill.ts";
import { openStalls, type Stall } from "./trader.ts";

/** Purchases while the provider is broken: 50 in all. */
const PURCHASES = { killed: 10, hanging: 8, banned: 8, behind: 8, forked: 8, lying: 8 } as const;
type Failure = keyof typeof PURCHASES;
const FAILURES = Object.keys(PURCHASES) as Failure[];
const RULES: Record<Failure, FaultRule> = {
  killed: { reset: true },
  hanging: { hang: true },
  banned: { status: 418 },
  behind: { behind: 15 },
  forked: { fork: 0 },
  lying: { match: "^/addresses/[^/]*/transactions", dropRows: 100 },
};
/** Rules that only the first provider meets. */
const AT_FIRST = "^/";
const FORK_BLOCKS = 2;
const SETTLED_BLOCKS = 20;
const READ_EVERY_MS = 100;
const MAX_READ_GAP_MS = 10_000;
const LIMIT_MS = 5 * 60_000;

const problems: string[] = [];
const seconds = (ms: number) => (ms / 1000).toFixed(1);

console.log("| first provider | longest time without a read | lock of a purchase, at most |");
console.log("|---|---|---|");
for (const failure of FAILURES)
  await runDrill({ hasActors: true, log: () => undefined }, (service, admin) =>
    drill(failure, service, admin),
  );
for (const problem of problems) console.log(`WRONG: ${problem}`);
process.exitCode = problems.length === 0 ? 0 : 1;

async function drill(failure: Failure, service: Service, admin: ApiAccess): Promise<void> {
  const { chain, faults, provider } = service;
  publishScripts(chain);
  const stalls = await openStalls(admin, chain, service.agents.url);
  const url = provider.replace("/api/v0", "/mirror/v0");
  const RpcProviders = [{ rpcProvider: "Blockfrost", url, rpcProviderApiKey: "mirror" }];
  for (const { source } of stalls)
    await ask(admin, "PATCH", "/payment-source-extended", { id: source.id, RpcProviders });
  fork(chain);
  service.goLive();
  faults.add({ match: AT_FIRST, ...RULES[failure] });

  let isOver = false;
  const reading = measureReadGap(admin, () => isOver);
  const waits = await Promise.all(
    Array.from({ length: PURCHASES[failure] }, (_, i) =>
      lock(admin, chain, stalls[i % stalls.length] as Stall),
    ),
  );
  isOver = true;
  const gap = await reading;
  console.log(`| ${failure} | ${seconds(gap)} s | ${seconds(Math.max(...waits))} s |`);
  if (gap > MAX_READ_GAP_MS) problems.push(`${failure}: reads stood still`);
  const locks = [...locksOnChain(chain).values()];
  if (locks.length !== PURCHASES[failure] || locks.some((n) => n !== 1))
    problems.push(`${failure}: not each purchase is locked once: ${locks}`);
}

/**
 * Leaves a fork behind the chain, on which a provider may stay, and so many blocks that a provider which lags
 * knows the agents.
 */
function fork(chain: Chain): void {
  for (let i = 0; i < SETTLED_BLOCKS; i++) chain.mine();
  for (let i = 0; i < FORK_BLOCKS; i++) chain.mine();
  chain.rollback(FORK_BLOCKS);
  for (let i = 0; i < 2 * FORK_BLOCKS; i++) chain.mine();
}

/** Buys a job. @returns milliseconds until its lock is on the chain */
async function lock(admin: ApiAccess, chain: Chain, stall: Stall): Promise<number> {
  const begun = Date.now();
  const { blockchainIdentifier } = await buyJob(admin, stall);
  const isLocked = () => locksOnChain(chain).has(signatureOf(blockchainIdentifier));
  await until(isLocked, { what: "a lock", limitMs: LIMIT_MS });
  return Date.now() - begun;
}

/** Reads from the chain again and again. @returns the longest time between two answers, milliseconds */
async function measureReadGap(admin: ApiAccess, isOver: () => boolean): Promise<number> {
  const path = `/utxos?network=Preprod&address=${STRANGER.address}`;
  let [longest, last] = [0, Date.now()];
  while (!isOver()) {
    const isAnswered = await ask(admin, "GET", path).then(
      () => true,
      () => false,
    );
    longest = Math.max(longest, Date.now() - last);
    if (isAnswered) last = Date.now();
    await pause(READ_EVERY_MS);
  }
  return longest;
}
