/**
 * Clients that poll: one is caught up all the time, another reads everything since 1970 now and then. Those of purchases
 * send bookmarks.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "../../client/client.ts";
import { type Feed, paymentFeed, purchaseFeed } from "../../client/feeds.ts";
import { follow } from "../../client/follow.ts";
import type { ApiAccess } from "../client/api.ts";
import type { Answers } from "./caller.ts";
import type { ServiceLevels } from "./service-levels.ts";

const POLL_EVERY_MS = 1_000;
const SMALL_PAGE = 7;
const NETWORK = "Preprod";

/** What a client reads of a record. */
export interface Copied {
  id: string;
  blockchainIdentifier: string;
  onChainState: string | null;
  onChainStateOrResultLastChangedAt: string;
  Next: { action: string | null; waitsFor: string | null } | null;
  CurrentTransaction: { txHash: string | null; status: string } | null;
}
export type Copy = Map<string, Copied>;

export class Followers {
  /** What the caught-up client has of each side. */
  readonly payments: Copy = new Map();
  readonly purchases: Copy = new Map();
  readonly #admin: ApiAccess;
  readonly #levels: ServiceLevels;
  readonly #answers: Answers;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];

  constructor(admin: ApiAccess, levels: ServiceLevels, answers: Answers) {
    this.#admin = admin;
    this.#levels = levels;
    this.#answers = answers;
  }

  start(): void {
    const { signal } = this.#stop;
    const options = { everyMs: POLL_EVERY_MS, signal };
    const copyAll = async (side: "payments" | "purchases") => {
      for await (const { item } of follow(this.#feed(side), options)) {
        this[side].set(item.id, item);
        const { CurrentTransaction, onChainStateOrResultLastChangedAt: stamp } = item;
        if (CurrentTransaction?.status === "Confirmed" && CurrentTransaction.txHash)
          this.#levels.addRecord(item.id, CurrentTransaction.txHash, Date.parse(stamp));
      }
    };
    for (const side of ["payments", "purchases"] as const) this.#run(() => copyAll(side));
  }

  /** Reads everything from the beginning. */
  async readAll(side: "payments" | "purchases", limit = SMALL_PAGE): Promise<Copy> {
    const copy: Copy = new Map();
    for await (const { item } of follow(this.#feed(side, limit), { once: true }))
      copy.set(item.id, item);
    return copy;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  /** A service that is gone for longer than a client's patience is asked again from where it was. */
  #run(work: () => Promise<void>): void {
    const running = async () => {
      while (!this.#stop.signal.aborted) {
        await work().catch((error: unknown) => {
          if (!this.#stop.signal.aborted) this.#answers.count("follower restarted", String(error));
        });
        await pause(POLL_EVERY_MS);
      }
    };
    this.#running.push(running());
  }

  #feed(side: "payments" | "purchases", limit = 100): Feed<Copied> {
    let bookmark: string | null = null;
    const client = createClient({
      baseUrl: this.#admin.url,
      token: this.#admin.token,
      fetch: async (request) => {
        const begun = Date.now();
        if (side === "purchases" && bookmark) request.headers.set("x-d1-bookmark", bookmark);
        const response = await fetch(request);
        bookmark = response.headers.get("x-d1-bookmark") ?? bookmark;
        this.#answers.count(response.status, `GET ${new URL(request.url).pathname}`);
        this.#levels.add("poll", begun, Date.now());
        return response;
      },
    });
    return side === "payments"
      ? paymentFeed(client, NETWORK, { limit })
      : purchaseFeed(client, NETWORK, { limit });
  }
}
