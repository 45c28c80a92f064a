import { ProviderView } from "../src/chain/provider/combine-providers.ts";
import { ProviderError } from "../src/chain/provider/provider.ts";
import { type Env, readConfirmationThreshold } from "../src/env.ts";
import type { Position } from "../src/indexer/position.ts";
import { log } from "../src/log.ts";
import type { ProviderUse } from "../src/sources/provider.ts";
import type { SourceOfProviders } from "../src/sources/source-row.ts";
import {
  type ListRecent,
  openSyncProvider,
  type SyncProvider,
  selectNextView,
} from "../src/sources/sync-provider.ts";

/** Between two comparisons of a source's providers: each takes up to four calls. */
const COMPARISON_INTERVAL_MS = 5 * 60_000;

/** A pass that is about to begin, with what was read of its source. */
interface SourcePass {
  source: SourceOfProviders;
  cursor: { recent: Position[] };
  /** @returns whether there is more to do now */
  run(providers: SyncProvider): Promise<boolean>;
  listRecent: ListRecent;
  /** Has the next pass list all again. */
  forgetTip(): Promise<void>;
}

/**
 * Makes passes over a source, each from another provider, until one succeeds. After a complete pass, it is
 * now and then compared with the other providers.
 */
export class ProviderPasses {
  #comparedAt = 0;

  /**
   * @param begin - reads the source anew before each pass; null: it was removed.
   * @returns whether there is more to do now; null: the source was removed.
   * @throws the first error when no provider is left
   */
  async run(
    env: Env,
    use: ProviderUse,
    requestId: string,
    begin: () => Promise<SourcePass | null>,
  ): Promise<boolean | null> {
    for (let view = new ProviderView(), first: unknown = null; ; ) {
      const pass = await begin();
      if (pass === null) return null;
      const providers = await openSyncProvider(env, pass.source, use, view);
      try {
        const hasMore = await pass.run(providers);
        await providers.reportPassedOver(first);
        if (hasMore) return true;
        if (!(await this.#isReaderIncomplete(env, providers, pass))) return false;
        await pass.forgetTip();
        return true;
      } catch (error) {
        first ??= error;
        const next = selectNextView(error, view);
        if (next === null) throw error instanceof ProviderError ? first : error;
        view = next;
        log("warn", "sync.provider_passed_over", {
          ...{ source: pass.source.id, requestId, error: String(error) },
        });
      }
    }
  }

  async #isReaderIncomplete(
    env: Env,
    { isListed, isProbeDue, isReaderIncomplete }: SyncProvider,
    { listRecent, cursor }: SourcePass,
  ): Promise<boolean> {
    const isDue = isProbeDue || Date.now() - this.#comparedAt >= COMPARISON_INTERVAL_MS;
    if (!isListed || !isDue) return false;
    this.#comparedAt = Date.now();
    return isReaderIncomplete(listRecent, cursor.recent, readConfirmationThreshold(env));
  }
}
