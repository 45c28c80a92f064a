import { NETWORKS, type Network } from "../../chain/network.ts";
import { openDb } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { readHoldings } from "../managed/read-balances.ts";
import { toWalletRecord } from "../managed/render-wallet.ts";
import type { WalletRow } from "../managed/tables.ts";
import { progressOf } from "../model/phases.ts";
import type { WaitingTask } from "../queue/waiting-tasks.ts";
import { readRulesByWallet } from "../rules/low-balance.ts";
import type { BalanceRuleRow } from "../rules/tables.ts";
import type { FeatureQueue } from "../spending/feature-queue.ts";
import { findPauseEnd, selectRecentSpends } from "../spending/foreign-spends.ts";
import {
  listMissingFunds,
  listMissingFundsForTasks,
  summarizeLowBalances,
} from "./missing-funds.ts";
import type { ForeignSpendsResponse, WalletResponse } from "./response-schemas.ts";
import {
  IDLE_WALLET,
  readSnapshots,
  type StoredTransaction,
  type WalletSnapshot,
} from "./wallet-snapshot.ts";

/** The providers' share of a request's remaining time; the rest is for the answer. */
const PROVIDER_TIME_SHARE = 0.6;
/** Waiting tasks of a wallet that are shown of each feature. */
const MAX_WAITING_TASKS = 20;

/** A wallet as it is shown, with what that was made of. */
export interface WalletDetails {
  wallet: WalletResponse;
  rules: BalanceRuleRow[];
  /** Its transactions under way, the oldest first. */
  pendingTransactions: StoredTransaction[];
}

/**
 * Shows what wallets hold, do and wait for. What their objects know is read from the database; what a
 * provider does not say in time is null.
 *
 * @param features - what they know of a wallet
 */
export async function readWalletDetails(
  c: AppContext,
  rows: WalletRow[],
  features: readonly FeatureQueue[],
): Promise<WalletDetails[]> {
  const { env } = c;
  const { deadline, caller } = c.var;
  const [rules, { snapshots, waiting, reserved }] = await Promise.all([
    readRulesByWallet(
      openDb(env, undefined, { deadline }),
      rows.map(({ id }) => id),
    ),
    readNetworkStates(env, rows, features, deadline),
  ]);
  const now = Date.now();
  const until = now + (deadline - now) * PROVIDER_TIME_SHARE;
  const holdings = await readHoldings(env, rows, until, { caller: caller.id });
  // The transaction code is loaded here, not at start-up.
  const { listSpendableOutputs, summarizeOutputs, sumOutputs } = await import(
    "./summarize-outputs.ts"
  );
  return rows.map((row) => {
    const held = holdings.get(row.id);
    const snapshot = snapshots.get(toWalletKey(row)) ?? IDLE_WALLET;
    const pendingTransactions = snapshot.openTransactions.filter(
      ({ phase }) => progressOf(phase) === "UnderWay",
    );
    const tasks = waiting.get(toWalletKey(row)) ?? [];
    const outputs = held ? listSpendableOutputs(held.utxos, snapshot, reserved) : null;
    const own = rules.get(row.id) ?? [];
    return {
      rules: own,
      pendingTransactions,
      wallet: {
        ...toWalletRecord(row),
        Balance: held
          ? [...held.balance].map(([unit, amount]) => ({ unit, amount: `${amount}` }))
          : null,
        Outputs: outputs && summarizeOutputs(outputs, snapshot),
        Transactions: pendingTransactions.map(renderTransaction),
        Waiting: tasks.map(renderWaitingTask),
        HeldUp: snapshot.blocker && {
          ...snapshot.blocker,
          since: toIsoTime(snapshot.blocker.since),
        },
        SpentElsewhere: renderForeignSpends(snapshot, now),
        Missing: [
          ...listMissingFunds(row.address, own, held?.balance ?? null),
          ...listMissingFundsForTasks(row.address, tasks, outputs && sumOutputs(outputs)),
        ],
        LowBalanceSummary: summarizeLowBalances(own),
      },
    };
  });
}

/** Where the wallets stand and what waits for them, by `toWalletKey`, from the database of each network. */
async function readNetworkStates(
  env: Env,
  rows: readonly WalletRow[],
  features: readonly FeatureQueue[],
  deadline: number,
) {
  const snapshots = new Map<string, WalletSnapshot>();
  const waiting = new Map<string, WaitingTask[]>();
  const reserved = new Set<string>();
  const readNetworkState = async (network: Network) => {
    const vkeys = rows.filter((row) => row.network === network).map(({ vkey }) => vkey);
    if (vkeys.length === 0) return;
    const database = openDb(env, network, { deadline });
    const [standing, kept, tasks] = await Promise.all([
      readSnapshots(database, network, vkeys),
      Promise.all(
        features.map((feature) => feature.listReservedOutputs?.(database, network) ?? []),
      ),
      Promise.all(
        features.map((feature) =>
          feature.listWaitingTasks(database, network, vkeys, MAX_WAITING_TASKS),
        ),
      ),
    ]);
    for (const names of kept) for (const name of names) reserved.add(name);
    for (const [vkey, snapshot] of standing)
      snapshots.set(toWalletKey({ network, vkey }), snapshot);
    for (const [vkey, own] of Map.groupBy(tasks.flat(), (task) => task.vkey))
      waiting.set(
        toWalletKey({ network, vkey }),
        own.sort((a, b) => a.dueAt - b.dueAt),
      );
  };
  await Promise.all(NETWORKS.map(readNetworkState));
  return { snapshots, waiting, reserved };
}

const toWalletKey = ({ network, vkey }: Pick<WalletRow, "network" | "vkey">) =>
  `${network}:${vkey}`;

function renderTransaction({ hash, phase, movedAt, tasks }: StoredTransaction) {
  return {
    txHash: hash,
    state: phase,
    since: toIsoTime(movedAt),
    Tasks: tasks.map(({ feature, id }) => ({ feature: feature, id })),
  };
}

function renderForeignSpends(
  { spentElsewhere }: WalletSnapshot,
  now: number,
): ForeignSpendsResponse | null {
  const recent = selectRecentSpends(spentElsewhere, now);
  if (recent.length === 0) return null;
  const until = findPauseEnd(recent, now);
  return {
    pausedUntil: until === null ? null : toIsoTime(until),
    Outputs: recent
      .toReversed()
      .map(({ output, txHash, at }) => ({ output, txHash, noticedAt: toIsoTime(at) })),
  };
}

function renderWaitingTask({ feature, id, code: reasonCode, reason, dueAt }: WaitingTask) {
  return { feature, id, reasonCode, reason, dueAt: toIsoTime(dueAt) };
}
