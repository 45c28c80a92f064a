import { Seeded } from "../../../devnet/seeded.ts";
import type { DeliveryMessage } from "../../../src/env.ts";
import type { WebhookService } from "./receivers.ts";
import { Fuse, steppedService } from "./steps.ts";

/** As many messages as the platform gives a consumer, and so many consumers at once. */
const [BATCH, CONSUMERS] = [10, 10];
/** About what one invocation takes. */
const STEPS = 15;

/**
 * The service while everything around it fails at random. The queue refuses messages, or accepts
 * them and fails. Messages get lost or arrive twice. Isolates are killed at any step with all
 * running work.
 */
export class Chaos {
  kills = 0;
  readonly service: WebhookService;
  readonly #fuse = new Fuse();
  readonly #dice: Seeded;

  constructor(seed: number, timeoutMs: number) {
    this.#dice = new Seeded(seed);
    // Separate random numbers: the network decides when the queue is called.
    const queue = new Seeded(seed + 1);
    const overrides = { WEBHOOK_TIMEOUT_MS: String(timeoutMs) };
    this.service = steppedService(this.#fuse.step, overrides, async (send) => {
      const dice = queue.next();
      if (dice < 0.1) throw new Error("Too Many Requests");
      const sent = await send();
      if (dice > 0.95) throw new Error("Network connection lost.");
      return sent;
    });
  }

  /** The dispatcher is woken, unless the wake-up is lost. */
  async wake(): Promise<void> {
    if (this.#happens(0.8)) await this.#run([() => this.service.wake()]);
    await this.#drain();
  }

  /** The cron fires. */
  async minute(): Promise<void> {
    await this.#run([() => this.service.minute()]);
    await this.#drain();
  }

  #happens(share: number): boolean {
    return this.#dice.happens(share);
  }

  /** Runs invocations at the same time on one isolate, and says whether it was killed. */
  async #run(invocations: (() => Promise<unknown>)[]): Promise<boolean> {
    const step = 1 + Math.floor(this.#dice.next() * STEPS * invocations.length);
    if (this.#happens(0.15)) this.#fuse.light(step, this.#happens(0.5) ? "before" : "after");
    await Promise.allSettled(invocations.map((invocation) => invocation()));
    const killed = this.#fuse.burnt();
    this.#fuse.putOut();
    if (killed) this.kills++;
    return killed;
  }

  /** Gives the consumers what is visible in the queue, until nothing is. */
  async #drain(): Promise<void> {
    const { waiting } = this.service;
    for (;;) {
      const visible = waiting.filter(({ visibleAt }) => visibleAt <= Date.now());
      if (visible.length === 0) return;
      const taken = visible.slice(0, BATCH * CONSUMERS);
      for (const message of taken) waiting.splice(waiting.indexOf(message), 1);
      const batches: DeliveryMessage[][] = [];
      for (let i = 0; i < taken.length; i += BATCH)
        batches.push(taken.slice(i, i + BATCH).map(({ body }) => body));
      const doubled = batches.filter(() => this.#happens(0.05));
      const killed = await this.#run(
        [...batches, ...doubled].map((batch) => () => this.service.consume("deliveries", batch)),
      );
      if (killed && this.#happens(0.5)) waiting.push(...taken);
    }
  }
}
