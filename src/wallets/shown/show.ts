import { NETWORKS, type Network } from "../../chain/network.ts";
import { db } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import type { AppContext } from "../../http/context.ts";
import { isoTime } from "../../http/envelope.ts";
import { readHoldings } from "../balances.ts";
import { rulesOf } from "../low-balance/rules.ts";
import type { RuleRow } from "../low-balance/tables.ts";
import { walletRecordOf } from "../managed/record.ts";
import type { WalletRow } from "../managed/tables.ts";
import { meaningOf } from "../spending/life.ts";
import { pausedUntil, recentOf } from "../spending/trouble/elsewhere.ts";
import type { WaitingTask, WalletFeatures } from "../waiting.ts";
import { lowBalanceSummary, missingForTasks, missingFunds } from "./missing.ts";
import type { ShownSpentElsewhere, ShownWallet } from "./schemas.ts";
import { AT_REST, readStands, type StoredTransaction, type WalletStand } from "./stand.ts";

/** The providers' share of a request's remaining time; the rest is for the answer. */
const PROVIDERS_SHARE = 0.6;
/** Waiting tasks of a wallet that are shown of each feature. */
const MAX_WAITING = 20;

/** A wallet as it is shown, with what that was made of. */
export interface Shown {
  wallet: ShownWallet;
  rules: RuleRow[];
  /** Its transactions under way, the oldest first. */
  underWay: StoredTransaction[];
}

/**
 * Shows what wallets hold, do and wait for. What their objects know is read from the database; what a
 * provider does not say in time is null.
 *
 * @param features - what they know of a wallet
 */
export async function showWallets(
  c: AppContext,
  rows: WalletRow[],
  features: WalletFeatures,
): Promise<Shown[]> {
  const { env } = c;
  const { deadline, caller } = c.var;
  const [rules, { stands, waiting, setAside }] = await Promise.all([
    rulesOf(
      db(env, undefined, { deadline }),
      rows.map(({ id }) => id),
    ),
    readLedgers(env, rows, features, deadline),
  ]);
  const now = Date.now();
  const until = now + (deadline - now) * PROVIDERS_SHARE;
  const holdings = await readHoldings(env, rows, until, { caller: caller.id });
  // The transaction code is loaded here, not at start-up.
  const { outputsOf, spendableOf } = await import("./outputs.ts");
  return rows.map((row) => {
    const held = holdings.get(row.id);
    const stand = stands.get(nameOf(row)) ?? AT_REST;
    const underWay = stand.open.filter(({ phase }) => meaningOf(phase) === "UnderWay");
    const tasks = waiting.get(nameOf(row)) ?? [];
    const own = rules.get(row.id) ?? [];
    return {
      rules: own,
      underWay,
      wallet: {
        ...walletRecordOf(row),
        Balance: held
          ? [...held.balance].map(([unit, amount]) => ({ unit, amount: `${amount}` }))
          : null,
        Outputs: held ? outputsOf(held.utxos, stand, setAside) : null,
        Transactions: underWay.map(renderTransaction),
        Waiting: tasks.map(renderWaiting),
        HeldUp: stand.hold && { ...stand.hold, since: isoTime(stand.hold.since) },
        SpentElsewhere: renderElsewhere(stand, now),
        Missing: [
          ...missingFunds(row.address, own, held?.balance ?? null),
          ...missingForTasks(
            row.address,
            tasks,
            held ? spendableOf(held.utxos, stand, setAside) : null,
          ),
        ],
        LowBalanceSummary: lowBalanceSummary(own),
      },
    };
  });
}

/** Where the wallets stand and what waits for them, by `nameOf`, from the database of each network. */
async function readLedgers(
  env: Env,
  rows: readonly WalletRow[],
  features: WalletFeatures,
  deadline: number,
) {
  const stands = new Map<string, WalletStand>();
  const waiting = new Map<string, WaitingTask[]>();
  const setAside = new Set<string>();
  const read = async (network: Network) => {
    const vkeys = rows.filter((row) => row.network === network).map(({ vkey }) => vkey);
    if (vkeys.length === 0) return;
    const ledger = db(env, network, { deadline });
    const [standing, kept, ...tasks] = await Promise.all([
      readStands(ledger, network, vkeys),
      features.setAside(ledger, network),
      ...features.waiting.map((waitingOf) => waitingOf(ledger, network, vkeys, MAX_WAITING)),
    ]);
    for (const name of kept) setAside.add(name);
    for (const [vkey, stand] of standing) stands.set(nameOf({ network, vkey }), stand);
    for (const [vkey, own] of Map.groupBy(tasks.flat(), (task) => task.vkey))
      waiting.set(
        nameOf({ network, vkey }),
        own.sort((a, b) => a.dueAt - b.dueAt),
      );
  };
  await Promise.all(NETWORKS.map(read));
  return { stands, waiting, setAside };
}

const nameOf = ({ network, vkey }: Pick<WalletRow, "network" | "vkey">) => `${network}:${vkey}`;

function renderTransaction({ hash, phase, movedAt, tasks }: StoredTransaction) {
  return {
    txHash: hash,
    state: phase,
    since: isoTime(movedAt),
    Tasks: tasks.map(({ work, id }) => ({ feature: work, id })),
  };
}

function renderElsewhere({ spentElsewhere }: WalletStand, now: number): ShownSpentElsewhere | null {
  const recent = recentOf(spentElsewhere, now);
  if (recent.length === 0) return null;
  const until = pausedUntil(recent, now);
  return {
    pausedUntil: until === null ? null : isoTime(until),
    Outputs: recent
      .toReversed()
      .map(({ output, txHash, at }) => ({ output, txHash, noticedAt: isoTime(at) })),
  };
}

function renderWaiting({ feature, id, reason, dueAt }: WaitingTask) {
  return { feature, id, reason, dueAt: isoTime(dueAt) };
}
