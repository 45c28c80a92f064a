/** How a provider is silent, fat or stale for a while. */
import { ProviderError, ResponseTooLargeError } from "../../../src/chain/provider/provider.ts";
import type { ForgedBlock } from "../ledger.ts";

/** What goes wrong with a provider's answers from now on. */
export class ProviderFaults {
  /** Calls that fail. */
  failingCalls = 0;
  /** Calls whose answer is too large to be read. */
  fatCalls = 0;
  /** Whether the lists of what transactions spend and make, which have no bound, are too large each time. */
  areListsFat = false;
  #page: { blocks: readonly ForgedBlock[]; left: number; every: number } | null = null;

  /** A call of the provider. @throws ProviderError */
  call<T>(run: () => T): T {
    if (this.failingCalls > 0) {
      this.failingCalls--;
      throw new ProviderError("the provider does not answer", { status: 503 });
    }
    if (this.fatCalls > 0) {
      this.fatCalls--;
      throw tooLarge();
    }
    return run();
  }

  /** Of the list of what a transaction spends and makes. @throws ResponseTooLargeError */
  refuseList(): void {
    if (this.areListsFat) throw tooLarge();
  }

  /**
   * Makes some of the next answers show the present chain: outputs of addresses, and positions of
   * transactions.
   *
   * @param answers - how many answers, of which every `every`-th is stale
   */
  keepPage(blocks: readonly ForgedBlock[], answers: number, every: number): void {
    this.#page = { blocks: [...blocks], left: answers, every };
  }

  /** The blocks that an answer shows. */
  shown(blocks: readonly ForgedBlock[]): readonly ForgedBlock[] {
    const page = this.#page;
    if (page === null || page.left === 0) return blocks;
    page.left--;
    return page.left % page.every === 0 ? page.blocks : blocks;
  }

  /** But for lists that are too large, all is as it is. */
  end(): void {
    this.failingCalls = 0;
    this.fatCalls = 0;
    this.#page = null;
  }
}

const tooLarge = () => new ResponseTooLargeError("the answer is too large", { status: 200 });
