/** The faults of a soak, drawn from the seed: which one, when, and for how long. */
import { setTimeout as pause } from "node:timers/promises";
import { contracts } from "../contracts/index.ts";
import { makeChainFinal } from "../drills/archives.ts";
import type { EvmNode } from "../evm/node.ts";
import type { Seeded } from "../seeded.ts";
import type { FaultRule } from "../server/faults.ts";
import type { Post } from "./caller.ts";
import type { Deployment } from "./deployment.ts";
import type { Endpoints } from "./endpoints.ts";
import { REFUSALS } from "./evm-gate.ts";
import type { ServiceLevels } from "./service-levels.ts";
import type { Traders } from "./traders.ts";
import { NO_FAULTS, type WorkerFaults } from "./worker-faults.ts";

const CALM_MS = { from: 10_000, to: 30_000 };
const FAULT_MS = { from: 4_000, to: 20_000 };
const MAX_ROLLBACK = 5;
const MAX_EVM_ROLLBACK = 3;
const DOWN_MS = { from: 0, to: 8_000 };
/** Of the chain, in which it has no block. */
const JUMP_MS = { from: 60_000, to: 8 * 60_000 };
const CHANCE_OF_TWO = 0.3;

/** Begins a fault. @returns what ends it */
type Begin = (seeded: Seeded) => Promise<() => unknown>;

export interface Parties {
  deployment: Deployment;
  levels: ServiceLevels;
  endpoints: Endpoints;
  traders: Traders;
  post: Post;
  say(text: string): void;
}

/** The faults there are, by name. */
function listFaults({ deployment, endpoints, traders, post }: Parties) {
  const { chain, providerFaults, evm, evmGate, admin } = deployment;
  const provider =
    (rule: (seeded: Seeded) => FaultRule): Begin =>
    async (seeded) => {
      // The first provider alone, or all.
      providerFaults.add({ ...(seeded.happens(0.6) && { match: "^/" }), ...rule(seeded) });
      return () => providerFaults.clear();
    };
  const worker =
    (faults: Partial<WorkerFaults>): Begin =>
    async () => {
      await deployment.setFaults({ ...NO_FAULTS, ...faults });
      return () => deployment.setFaults(NO_FAULTS);
    };
  const once =
    (work: (seeded: Seeded) => unknown): Begin =>
    async (seeded) => {
      await work(seeded);
      return () => undefined;
    };
  const rollBack = (seeded: Seeded) => {
    const gone = chain.rollback(seeded.between(1, MAX_ROLLBACK));
    // Some of them are lost, as they are when their node is.
    const replayed = seeded.happens(0.3) ? gone.filter(() => seeded.happens(0.5)) : gone;
    chain.replay(replayed);
    for (let i = 0; i <= MAX_ROLLBACK; i++) deployment.mine();
  };
  const faults: Record<string, Begin> = {
    "provider down": provider(() => ({ reset: true })),
    "provider hangs": provider(() => ({ hang: true })),
    "provider fails": provider(() => ({ status: 500 })),
    "provider refuses": async (seeded) => {
      const end = await provider(() => ({ status: seeded.pick([402, 403, 418]) }))(seeded);
      return async () => {
        await end();
        // A key that was refused is not used for an hour, or until midnight.
        await deployment.replaceProviderKeys(post);
      };
    },
    "provider limits": provider(() => ({ status: 429, retryAfter: "3" })),
    "provider behind": provider((seeded) => ({ behind: seeded.between(2, 12) })),
    "provider on a fork": async (seeded) => {
      rollBack(seeded);
      providerFaults.add({ match: "^/", fork: 0 });
      return () => providerFaults.clear();
    },
    "provider lies": async (seeded) => {
      const { address } = seeded.pick(contracts());
      providerFaults.add({ match: `^/addresses/${address}`, dropRows: seeded.between(1, 3) });
      return () => providerFaults.clear();
    },
    "provider truncates": provider(() => ({ truncate: true })),
    "provider slow": provider(() => ({ delay: 2_000 })),
    rollback: once(rollBack),
    "mempool lost": once(() => chain.evict()),
    "many blocks": once(() => {
      deployment.mine();
      // All in one slot: no deadline passes.
      makeChainFinal(chain);
    }),
    "clock jumps": once((seeded) => chain.advance(seeded.between(JUMP_MS.from, JUMP_MS.to))),
    "D1 without effect": worker({ d1Before: 0.2 }),
    "D1 with effect": worker({ d1After: 0.2 }),
    "D1 full": worker({ isD1Full: true }),
    "D1 slow": worker({ d1SlowMs: 800 }),
    "replicas behind": worker({ replicaLagMs: 15_000 }),
    "queue doubles": worker({ queueDoubled: 0.5, queueLate: 0.5 }),
    "queue loses": worker({ queueLost: 0.5 }),
    "objects evicted": worker({ evictedBefore: 0.1, evictedAfter: 0.1 }),
    kill: once((seeded) => deployment.killAndStart(seeded.between(DOWN_MS.from, DOWN_MS.to))),
    "other version": once((seeded) =>
      deployment.deployOther(seeded.between(DOWN_MS.from, DOWN_MS.to)),
    ),
    "receivers down": async () => {
      await endpoints.setDown(true);
      return () => endpoints.setDown(false);
    },
    "key changed": once(() => traders.rotateKey()),
    "providers changed": async () => {
      await deployment.setFurtherProviders(post, false);
      return () => deployment.setFurtherProviders(post, true);
    },
    "wallet paused": async (seeded) => {
      const { Wallets } = await post<{ Wallets: { id: string }[] }>(admin, "GET", "/wallet/list");
      const { id } = seeded.pick(Wallets);
      await post(admin, "PATCH", "/wallet", { id, drives: "nothing" });
      return () => post(admin, "PATCH", "/wallet", { id, drives: "all" });
    },
  };
  if (evm && evmGate)
    Object.assign(faults, {
      "EVM node down": async () => {
        await evm.crash();
        return async () => {
          // It answers before it has its blocks again.
          evmGate.refuse(503);
          await evm.restart();
          evmGate.refuse(null);
        };
      },
      "EVM node refuses": async (seeded) => {
        evmGate.refuse(seeded.pick(REFUSALS));
        return () => evmGate.refuse(null);
      },
      "EVM reorganization": once((seeded) => reorganize(evm, seeded)),
    } satisfies Record<string, Begin>);
  return faults;
}

/** The transactions are in later blocks, or lost. */
async function reorganize(evm: EvmNode, seeded: Seeded): Promise<void> {
  const depth = seeded.between(1, MAX_EVM_ROLLBACK);
  // A node that was restarted has no older blocks.
  const isGone = await evm.rpc("anvil_rollback", [depth]).then(
    () => true,
    () => false,
  );
  if (!isGone) return;
  if (seeded.happens(0.5)) await evm.rpc("anvil_dropAllTransactions");
  // The chain that replaces another is longer.
  await evm.rpc("anvil_mine", [`0x${(depth + 1).toString(16)}`]);
}

/** What an operator asks the service for. */
const SETTINGS = ["key changed", "providers changed", "wallet paused"];

/** Each once, settings first: a service that another fault has stopped takes none. They end last. */
function orderFaults(drawn: readonly string[]): string[] {
  const isSetting = (name: string) => SETTINGS.includes(name);
  const names = [...new Set(drawn)];
  return [...names.filter(isSetting), ...names.filter((name) => !isSetting(name))];
}

/**
 * Draws faults until the signal aborts. None is left then.
 *
 * @param allowed - names of faults, comma separated, or `none`; all when omitted
 * @param calmMs - before the first fault
 * @returns how often each was drawn
 */
export async function runSchedule(
  parties: Parties,
  allowed: string | undefined,
  calmMs: number,
  seeded: Seeded,
  signal: AbortSignal,
): Promise<Map<string, number>> {
  const faults = listFaults(parties);
  const names = allowed === undefined ? Object.keys(faults) : allowed.split(",");
  const unknown = names.find((name) => name !== "none" && !Object.hasOwn(faults, name));
  if (unknown !== undefined) throw new RangeError(`--faults: there is no fault ${unknown}`);
  const counts = new Map<string, number>();
  const wait = (ms: { from: number; to: number }) =>
    pause(seeded.between(ms.from, ms.to), undefined, { signal }).catch(() => undefined);
  if (allowed === "none") return counts;
  await wait({ from: calmMs, to: calmMs });
  while (!signal.aborted) {
    const drawn = [
      seeded.pick(names),
      ...(seeded.happens(CHANCE_OF_TWO) ? [seeded.pick(names)] : []),
    ];
    parties.levels.faultsSince = Math.min(parties.levels.faultsSince, Date.now());
    const ends: (() => unknown)[] = [];
    for (const name of orderFaults(drawn)) {
      parties.say(`fault: ${name}`);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      ends.push((await faults[name]?.(seeded)) ?? (() => undefined));
    }
    await wait(FAULT_MS);
    for (const end of ends.reverse()) await end();
    await wait(CALM_MS);
  }
  return counts;
}
