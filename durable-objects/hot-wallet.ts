import { DurableObject } from "cloudflare:workers";
import type { Network } from "../src/chain/network.ts";
import { ProviderView } from "../src/chain/provider/combine-providers.ts";
import { ProviderError } from "../src/chain/provider/provider.ts";
import { batchReads } from "../src/db/batch-reads.ts";
import { type Database, openDb } from "../src/db/client.ts";
import { newId } from "../src/db/id.ts";
import {
  type Env,
  getDurableObject,
  readAutomaticSteps,
  readConfirmationThreshold,
} from "../src/env.ts";
import { wakeDispatcher } from "../src/events/outbox.ts";
import { log } from "../src/log.ts";
import { createChainTimeReader, resolveChainClock } from "../src/sources/chain-clock.ts";
import { areSourcesSynced } from "../src/sources/cursor.ts";
import { findSourceWithKey, listActiveSourceIds } from "../src/sources/find-source.ts";
import { openWalletProviders } from "../src/sources/open-source-provider.ts";
import { wakeSource } from "../src/sources/wake-source.ts";
import { WALLET_FEATURES } from "../src/wallet-features.ts";
import {
  findSourceOfWallet,
  findSourceWithWallets,
  listActiveWallets,
  type SourceWithWallets,
} from "../src/wallets/managed/find-wallet.ts";
import { openKeys } from "../src/wallets/managed/open-keys.ts";
import type { WalletRow } from "../src/wallets/managed/tables.ts";
import { StaleWalletError, WalletRemovedError } from "../src/wallets/queue/errors.ts";
import { type WalletObject, wakeWallet } from "../src/wallets/queue/wake-wallet.ts";
import { listPublishedScripts } from "../src/wallets/reference-scripts/store.ts";
import { markSpentScriptWithdrawn } from "../src/wallets/reference-scripts/withdraw-spent-script.ts";
import type { OutputView } from "../src/wallets/spending/context/output-view.ts";
import type { WalletJournal } from "../src/wallets/spending/context/wallet-ports.ts";
import type { FeatureContext, NextTask } from "../src/wallets/spending/feature-queue.ts";
import { listOpenSources } from "../src/wallets/spending/store/transactions.ts";
import { readWallet } from "../src/wallets/spending/store/wallet.ts";
import { runAlarm } from "./alarm.ts";
import type { SpendingJournal } from "./spending-journal.ts";

/** Time of a run: many calls to a possibly slow provider, and its statements. */
const RUN_TIMEOUT_MS = 90_000;
const RETRY_DELAY_MS = 30_000;

interface WakeRequest {
  network: Network;
  /** Payment key hash, hex. */
  vkey: string;
  requestId: string;
}

/**
 * The one place where a managed wallet's key is opened and its outputs are spent. The platform runs one
 * alarm of an object at a time. If two objects ever run, the version of the wallet's row lets only one
 * of them store a transaction. Nothing is sent that is not stored.
 */
export class HotWallet extends DurableObject<Env> implements WalletObject {
  #view: OutputView | null = null;
  readonly #otherWalletViews = new Map<string, OutputView>();

  /**
   * Requests work and returns immediately.
   *
   * @param vkey - payment key hash, hex
   */
  async wake(network: Network, vkey: string, requestId: string): Promise<void> {
    await this.ctx.storage.put<WakeRequest>("wallet", { network, vkey, requestId });
    await this.ctx.storage.setAlarm(Date.now());
  }

  /**
   * Never throws: after six failures the platform drops an alarm. All state is in D1, and the cron
   * wakes every wallet that has work to do.
   */
  override async alarm(): Promise<void> {
    const wallet = await this.ctx.storage.get<WakeRequest>("wallet");
    if (wallet === undefined) return;
    await runAlarm(
      this.ctx.storage,
      () => this.#runOnce(wallet),
      (error) => this.#handleFailure(wallet, error),
    );
  }

  async #runOnce({ network, vkey, requestId }: WakeRequest): Promise<number | null> {
    const { env } = this;
    const deadline = Date.now() + RUN_TIMEOUT_MS;
    const database = batchReads(openDb(env, network, { writes: "idempotent", deadline }));
    const [next, openSourceIds, own, clock] = await Promise.all([
      this.#findNextTask(database, network, vkey),
      listOpenSources(database, network, vkey),
      findSourceOfWallet(openDb(env), network, vkey),
      resolveChainClock(env, deadline),
    ]);
    const found = next
      ? await this.#findSource(own, next.sourceId)
      : await this.#findPendingSource(own, openSourceIds);
    if (next && found === null) {
      await next.endWithoutSource();
      return Date.now();
    }
    if (found === null) return null;
    const { source, wallets } = found;
    // The transaction library is loaded here, not at start-up.
    const { runWallet } = await import("../src/wallets/spending/run-wallet.ts");
    const { OutputView } = await import("../src/wallets/spending/context/output-view.ts");
    this.#view ??= new OutputView();
    const chainView = new ProviderView();
    const providers = await openWalletProviders(env, source, chainView);
    const chainTime = createChainTimeReader(clock, providers.provider);
    const context: FeatureContext = {
      database,
      source,
      wallets,
      vkey,
      deadlineProvider: providers.deadlineProvider,
      views: this.#otherWalletViews,
      automaticSteps: readAutomaticSteps(env, source),
      chainTime,
      wake: (onNetwork, other) => wakeWallet(env, onNetwork, other, requestId),
    };
    const created = await Promise.all(WALLET_FEATURES.map((one) => one.createFeatures(context)));
    const features = created.flat();
    const run = runWallet({
      network,
      vkey,
      sourceId: source.id,
      db: database,
      ...providers,
      journal: this.#openJournal(network, vkey),
      areSourcesSynced: async (since) =>
        areSourcesSynced(database, await listActiveSourceIds(openDb(env), network), since),
      view: this.#view,
      features,
      listPublishedScripts: () => listPublishedScripts(database, source.id),
      onMissingScripts: (outputs) =>
        markSpentScriptWithdrawn(database, providers.provider, source.id, outputs),
      openKeys: () => this.#openKeys(wallets, vkey),
      onConfirmed: async (sourceIds, tip) => {
        for (const id of sourceIds)
          await wakeSource(env, id, requestId, id === source.id ? tip : null);
      },
      confirmationThreshold: readConfirmationThreshold(env),
      clock,
      now: Date.now,
      newId,
      requestId,
    });
    const again = await run.catch((error: unknown) => {
      if (!(error instanceof ProviderError) || !chainView.canSwitch) throw error;
      return Date.now();
    });
    if (features.some((feature) => feature.hasEvents?.())) await wakeDispatcher(env, requestId);
    // Another source, with its own provider and wallets, has its turn at once.
    const after = await this.#findNextTask(database, network, vkey);
    const isOfAnother = after && after.sourceId !== source.id && (after.dueAt ?? 0) <= Date.now();
    // Another provider is read at once.
    return isOfAnother || chainView.canSwitch ? Date.now() : again;
  }

  /** What has waited longest for a transaction, or else anything that is under way. */
  async #findNextTask(
    database: Database,
    network: Network,
    vkey: string,
  ): Promise<NextTask | null> {
    const found = await Promise.all(
      WALLET_FEATURES.map((feature) =>
        feature.findNext(database, openDb(this.env), { network, vkey }),
      ),
    );
    const all = found.filter((task) => task !== null);
    const [first] = all.sort(
      (a, b) => Number(b.isWaiting) - Number(a.isWaiting) || (a.dueAt ?? 0) - (b.dueAt ?? 0),
    );
    return first ?? null;
  }

  /** @param own - the source that manages the wallet */
  async #findSource(own: SourceWithWallets | null, id: string): Promise<SourceWithWallets | null> {
    return own?.source.id === id ? own : findSourceWithWallets(openDb(this.env), id);
  }

  /** A source through which transactions were sent that are not final; any that is left will do. */
  async #findPendingSource(
    own: SourceWithWallets | null,
    ids: readonly string[],
  ): Promise<SourceWithWallets | null> {
    const core = openDb(this.env);
    for (const id of ids) {
      if (own?.source.id === id) return own;
      const source = await findSourceWithKey(core, id);
      if (source !== null) return { source, wallets: await listActiveWallets(core, [id]) };
    }
    return null;
  }

  #openJournal(network: Network, vkey: string): WalletJournal {
    const journal = getDurableObject<SpendingJournal>(this.env, this.env.SPENDING_JOURNAL, network);
    return {
      enter: (...asked) => journal.enter(vkey, ...asked),
      append: (...asked) => journal.append(vkey, ...asked),
      resume: (...stored) => journal.resume(...stored),
      markRestored: (...told) => journal.markRestored(vkey, ...told),
    };
  }

  async #openKeys(wallets: readonly WalletRow[], vkey: string) {
    const found = wallets.find((one) => one.vkey === vkey);
    if (!found)
      throw new WalletRemovedError(
        "the payment source no longer manages the wallet: add the wallet, then try again",
      );
    return openKeys(this.env, found);
  }

  /** @returns when to try again, epoch milliseconds */
  async #handleFailure({ network, vkey, requestId }: WakeRequest, error: unknown): Promise<number> {
    // Another run was faster: not a failure, read again.
    if (error instanceof StaleWalletError) return Date.now();
    log("error", "wallet.failed", { wallet: vkey, requestId, error: String(error) });
    await this.#storeFailureBlocker(network, vkey, error);
    const retryAt = error instanceof ProviderError ? error.retryAt : null;
    return retryAt ?? Date.now() + RETRY_DELAY_MS;
  }

  /** Stores why the wallet gets nothing done, if the database takes it. */
  async #storeFailureBlocker(network: Network, vkey: string, error: unknown): Promise<void> {
    const database = openDb(this.env, network, { writes: "idempotent" });
    try {
      const { findBlocker, storeBlocker } = await import("../src/wallets/spending/blocker.ts");
      const internal = { code: "failing", reason: "internal error, see the log" } as const;
      const wallet = await readWallet(database, network, vkey);
      await storeBlocker(database, wallet, findBlocker(error) ?? internal, Date.now());
    } catch (failure) {
      log("warn", "wallet.hold_unstored", { wallet: vkey, error: String(failure) });
    }
  }
}
