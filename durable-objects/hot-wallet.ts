import { DurableObject } from "cloudflare:workers";
import { keysFromMnemonic } from "../src/chain/keys.ts";
import type { Network } from "../src/chain/network.ts";
import { ProviderError } from "../src/chain/provider.ts";
import { db } from "../src/db/client.ts";
import { open } from "../src/db/sealed.ts";
import type { Env } from "../src/env.ts";
import { log } from "../src/log.ts";
import { nextOfWallet, StaleRegistration } from "../src/registry/registration-store.ts";
import type { WalletRpc } from "../src/registry/wallet-object.ts";
import { activeSource } from "../src/sources/active.ts";
import { providerFor } from "../src/sources/provider.ts";
import { providerKeyPlace } from "../src/sources/record.ts";

/** A run, which makes a dozen calls of a provider that may be slow, and its statements. */
const RUN_MS = 90_000;
const AFTER_FAILURE_MS = 30_000;

interface Wallet {
  network: Network;
  /** Payment key hash, hex. */
  vkey: string;
  requestId: string;
}

/**
 * The one place where a managed wallet's key is opened and its outputs are spent. The platform runs
 * one alarm of an object at a time, so a wallet makes one transaction at a time; should two objects
 * ever run, the registration's revision lets one of them sign and send.
 */
export class HotWallet extends DurableObject<Env> implements WalletRpc {
  /** Asks for work to be done and returns at once. */
  async wake(network: Network, vkey: string, requestId: string): Promise<void> {
    await this.ctx.storage.put<Wallet>("wallet", { network, vkey, requestId });
    await this.ctx.storage.setAlarm(Date.now());
  }

  /**
   * Never throws: after six failures the platform forgets an alarm. All that matters is in D1, and
   * the cron wakes every wallet that has something to do.
   */
  override async alarm(): Promise<void> {
    const wallet = await this.ctx.storage.get<Wallet>("wallet");
    if (wallet === undefined) return;
    let again: number | null;
    try {
      again = await this.#work(wallet);
    } catch (error) {
      again = this.#failed(wallet, error);
    }
    if (again !== null) await this.ctx.storage.setAlarm(again);
  }

  async #work({ network, vkey }: Wallet): Promise<number | null> {
    const { env } = this;
    const ledger = db(env, network, {
      writes: "idempotent",
      deadline: Date.now() + RUN_MS,
    });
    const next = await nextOfWallet(ledger, network, vkey);
    if (!next) return null;
    // The library that builds transactions is loaded here and nowhere at the door.
    const { failWithoutSource, WalletGone, workNext } = await import(
      "../src/registry/registration-work.ts"
    );
    const source = await activeSource(db(env), next.sourceId);
    if (source === null) {
      await failWithoutSource(ledger, next, Date.now());
      return Date.now();
    }
    const apiKey = await open(env, providerKeyPlace(source.id), source.rpcProviderApiKey);
    const context = {
      db: ledger,
      provider: await providerFor(env, network, apiKey),
      keys: async () => {
        const found = source.wallets.find((one) => one.vkey === vkey);
        if (!found)
          throw new WalletGone(
            "the payment source does not manage the wallet any more: add it again, then try again",
          );
        const place = { table: "managed_wallet", id: found.id, column: "mnemonic" };
        return keysFromMnemonic(await open(env, place, found.mnemonic), network);
      },
      threshold: Math.max(Number(env.CONFIRMATION_THRESHOLD) || 1, 1),
      now: Date.now,
    };
    // One at a time: the next may belong to another source, with a provider and wallets of its own.
    return workNext(context, next);
  }

  /** @returns when to try again, epoch milliseconds */
  #failed({ vkey, requestId }: Wallet, error: unknown): number {
    // Somebody else was faster: not a failure, read again.
    if (error instanceof StaleRegistration) return Date.now();
    log("error", "wallet.failed", { wallet: vkey, requestId, error: String(error) });
    const retryAt = error instanceof ProviderError ? error.retryAt : null;
    return retryAt ?? Date.now() + AFTER_FAILURE_MS;
  }
}
