import { DurableObject } from "cloudflare:workers";
import type { Network } from "../src/chain/network.ts";
import { ProviderError } from "../src/chain/provider/provider.ts";
import { type Database, db } from "../src/db/client.ts";
import { newId } from "../src/db/id.ts";
import { open } from "../src/db/sealed.ts";
import { automaticSteps, confirmationThreshold, type Env } from "../src/env.ts";
import { failSettlementWithoutSource, nextSettlement } from "../src/escrow/disputes/store.ts";
import { endWithoutSource, nextForEscrows } from "../src/escrow/tasks/next.ts";
import { wakeDispatcher } from "../src/events/outbox.ts";
import { log } from "../src/log.ts";
import { isInitiated } from "../src/registrations/states.ts";
import { nextOfWallet } from "../src/registrations/store.ts";
import { activeSource, activeSourceIds, sourceWithKey } from "../src/sources/active.ts";
import { chainClock, timeOnChain } from "../src/sources/chain-clock.ts";
import { haveFollowed } from "../src/sources/cursor.ts";
import { walletProvider } from "../src/sources/provider.ts";
import { providerKeyPlace, type SourceRow } from "../src/sources/record.ts";
import { wakeSource } from "../src/sources/wake.ts";
import { walletsOf } from "../src/wallets/managed/find.ts";
import { openKeys } from "../src/wallets/managed/keys.ts";
import { forgetSpent } from "../src/wallets/reference-scripts/spent.ts";
import {
  failScriptWithoutSource,
  nextReferenceScript,
  publishedScripts,
} from "../src/wallets/reference-scripts/store.ts";
import type { OutputView } from "../src/wallets/spending/outputs.ts";
import type { WalletJournal } from "../src/wallets/spending/ports.ts";
import { sourcesOfOpen } from "../src/wallets/spending/stored/transactions.ts";
import { readWallet, StaleWallet } from "../src/wallets/spending/stored/wallet.ts";
import {
  failTransfersWithoutSource,
  isGivenUp,
  nextTransfer,
} from "../src/wallets/transfers/due.ts";
import { wakeWallet } from "../src/wallets/wake.ts";
import { WalletGone } from "../src/wallets/work.ts";
import { runBy } from "./alarm.ts";

/** Time of a run: many calls to a possibly slow provider, and its statements. */
const RUN_MS = 90_000;
const AFTER_FAILURE_MS = 30_000;

interface Wallet {
  network: Network;
  /** Payment key hash, hex. */
  vkey: string;
  requestId: string;
}

/** What a feature has for the wallet to do, of one payment source. */
interface Next {
  sourceId: string;
  dueAt: number | null;
  /** For a transaction to be built, rather than for one that is under way. */
  isWaiting: boolean;
  /** Ends it, since its source was removed. */
  giveUp(): Promise<void>;
}

/**
 * The one place where a managed wallet's key is opened and its outputs are spent. The platform runs one
 * alarm of an object at a time. If two objects ever run, the version of the wallet's row lets only one
 * of them store a transaction. Nothing is sent that is not stored.
 */
export class HotWallet extends DurableObject<Env> {
  #view: OutputView | null = null;
  readonly #viewsOfOthers = new Map<string, OutputView>();

  /**
   * Requests work and returns immediately.
   *
   * @param vkey - payment key hash, hex
   */
  async wake(network: Network, vkey: string, requestId: string): Promise<void> {
    await this.ctx.storage.put<Wallet>("wallet", { network, vkey, requestId });
    await this.ctx.storage.setAlarm(Date.now());
  }

  /**
   * Never throws: after six failures the platform drops an alarm. All state is in D1, and the cron
   * wakes every wallet that has work to do.
   */
  override async alarm(): Promise<void> {
    const wallet = await this.ctx.storage.get<Wallet>("wallet");
    if (wallet === undefined) return;
    let again: number | null;
    try {
      again = await this.#work(wallet);
    } catch (error) {
      again = await this.#failed(wallet, error);
    }
    if (again !== null) await runBy(this.ctx.storage, again);
  }

  async #work({ network, vkey, requestId }: Wallet): Promise<number | null> {
    const { env } = this;
    const ledger = db(env, network, {
      writes: "idempotent",
      deadline: Date.now() + RUN_MS,
    });
    const next = await this.#next(ledger, network, vkey);
    const source = next
      ? await activeSource(db(env), next.sourceId)
      : await this.#sourceOfOpen(ledger, network, vkey);
    if (next && source === null) {
      await next.giveUp();
      return Date.now();
    }
    if (source === null) return null;
    // The transaction library is loaded here, not at start-up.
    const { escrowWorks } = await import("../src/escrow/tasks/works.ts");
    const { disputeWork } = await import("../src/escrow/disputes/work.ts");
    const { registrationWork } = await import("../src/registrations/work.ts");
    const { referenceScriptWork } = await import("../src/wallets/reference-scripts/work.ts");
    const { transferWork } = await import("../src/wallets/transfers/work.ts");
    const { runWallet } = await import("../src/wallets/run.ts");
    const wallet = { network, vkey, sourceId: source.id };
    const transfers = transferWork(ledger, wallet);
    const { OutputView } = await import("../src/wallets/spending/outputs.ts");
    this.#view ??= new OutputView();
    const providers = await this.#providers(source);
    const clock = await chainClock(env, Date.now() + RUN_MS);
    const chainTime = timeOnChain(clock, providers.provider);
    const wallets = await walletsOf(db(env), [source.id]);
    const escrows = escrowWorks({
      ledger,
      source,
      wallets,
      vkey,
      deadlineProvider: providers.deadlineProvider,
      views: this.#viewsOfOthers,
      automatic: automaticSteps(env, source),
      chainTime,
      wake: (onNetwork, other) => wakeWallet(env, onNetwork, other, requestId),
    });
    const again = await runWallet({
      network,
      vkey,
      sourceId: source.id,
      db: ledger,
      ...providers,
      journal: this.#journal(network, vkey),
      hasFollowed: async (since) =>
        haveFollowed(ledger, await activeSourceIds(db(env), network), since),
      view: this.#view,
      works: [
        ...escrows,
        disputeWork({ db: ledger, source, wallets, vkey, chainTime }),
        referenceScriptWork(ledger, wallet),
        registrationWork(ledger, wallet),
        transfers,
      ],
      published: () => publishedScripts(ledger, source.id),
      scriptsMissed: (outputs) => forgetSpent(ledger, providers.provider, source.id, outputs),
      keys: () => this.#keys(source, vkey),
      confirmed: async (sourceIds, tip) => {
        for (const id of sourceIds)
          await wakeSource(env, id, requestId, id === source.id ? tip : null);
      },
      threshold: confirmationThreshold(env),
      clock,
      now: Date.now,
      newId,
      requestId,
    });
    if ([transfers, ...escrows].some((work) => work.hasTold()))
      await wakeDispatcher(env, requestId);
    // Another source, with its own provider and wallets, has its turn at once.
    const after = await this.#next(ledger, network, vkey);
    const isOfAnother = after && after.sourceId !== source.id && (after.dueAt ?? 0) <= Date.now();
    return isOfAnother ? Date.now() : again;
  }

  /** What has waited longest for a transaction, or else anything that is under way. */
  async #next(ledger: Database, network: Network, vkey: string): Promise<Next | null> {
    const [settlement, script, registration, transfer, escrow] = await Promise.all([
      nextSettlement(ledger, network, vkey),
      nextReferenceScript(ledger, network, vkey),
      nextOfWallet(ledger, network, vkey),
      nextTransfer(ledger, network, vkey),
      nextForEscrows(ledger, db(this.env), network, vkey),
    ]);
    const all: Next[] = [];
    if (escrow)
      all.push({
        ...escrow,
        isWaiting: true,
        giveUp: async () => {
          await endWithoutSource(ledger, { network, vkey, sourceId: escrow.sourceId }, Date.now());
        },
      });
    if (settlement)
      all.push({
        ...settlement,
        isWaiting: true,
        giveUp: () => failSettlementWithoutSource(ledger, settlement, Date.now()),
      });
    if (script)
      all.push({
        ...script,
        isWaiting: true,
        giveUp: () => failScriptWithoutSource(ledger, script, Date.now()),
      });
    if (registration)
      all.push({
        ...registration,
        isWaiting: !isInitiated(registration.state),
        giveUp: async () => {
          const { failWithoutSource } = await import("../src/registrations/work.ts");
          await failWithoutSource(ledger, registration, Date.now());
        },
      });
    if (transfer)
      all.push({
        ...transfer,
        isWaiting: !isGivenUp(transfer),
        giveUp: () =>
          failTransfersWithoutSource(
            ledger,
            { network, vkey, sourceId: transfer.sourceId },
            Date.now(),
          ),
      });
    const [first] = all.sort(
      (a, b) => Number(b.isWaiting) - Number(a.isWaiting) || (a.dueAt ?? 0) - (b.dueAt ?? 0),
    );
    return first ?? null;
  }

  /** A source through which transactions were sent that are not final; any that is left will do. */
  async #sourceOfOpen(ledger: Database, network: Network, vkey: string): Promise<SourceRow | null> {
    for (const id of await sourcesOfOpen(ledger, network, vkey)) {
      const source = await sourceWithKey(db(this.env), id);
      if (source !== null) return source;
    }
    return null;
  }

  #journal(network: Network, vkey: string): WalletJournal {
    const { SPENDING_JOURNAL } = this.env;
    const journal = SPENDING_JOURNAL.get(SPENDING_JOURNAL.idFromName(network));
    return {
      enter: (...asked) => journal.enter(vkey, ...asked),
      hand: (...asked) => journal.hand(vkey, ...asked),
      resume: (...stored) => journal.resume(...stored),
      remembered: (...told) => journal.remembered(vkey, ...told),
    };
  }

  async #providers({ id, network, rpcProviderApiKey }: SourceRow) {
    const apiKey = await open(this.env, providerKeyPlace(id), rpcProviderApiKey);
    return {
      provider: await walletProvider(this.env, network, apiKey, "wallet"),
      deadlineProvider: await walletProvider(this.env, network, apiKey, "deadline"),
    };
  }

  async #keys({ id }: SourceRow, vkey: string) {
    const wallets = await walletsOf(db(this.env), [id]);
    const found = wallets.find((one) => one.vkey === vkey);
    if (!found)
      throw new WalletGone(
        "the payment source does not manage the wallet any more: add it again, then try again",
      );
    return openKeys(this.env, found);
  }

  /** @returns when to try again, epoch milliseconds */
  async #failed({ network, vkey, requestId }: Wallet, error: unknown): Promise<number> {
    // Another run was faster: not a failure, read again.
    if (error instanceof StaleWallet) return Date.now();
    log("error", "wallet.failed", { wallet: vkey, requestId, error: String(error) });
    await this.#hold(network, vkey, error);
    const retryAt = error instanceof ProviderError ? error.retryAt : null;
    return retryAt ?? Date.now() + AFTER_FAILURE_MS;
  }

  /** Stores why the wallet gets nothing done, if the database takes it. */
  async #hold(network: Network, vkey: string, error: unknown): Promise<void> {
    const ledger = db(this.env, network, { writes: "idempotent" });
    try {
      const { holdOf, writeHold } = await import("../src/wallets/spending/trouble/hold.ts");
      const reason = holdOf(error) ?? "internal error, see the log";
      await writeHold(ledger, await readWallet(ledger, network, vkey), reason, Date.now());
    } catch (failure) {
      log("warn", "wallet.hold_unstored", { wallet: vkey, error: String(failure) });
    }
  }
}
