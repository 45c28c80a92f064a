import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { DeliveryMessage } from "../../../src/env.ts";
import { wrapD1 } from "../d1.ts";
import { WebhookService } from "./receivers.ts";

/** Runs one step of the service, and may fail it or hold it up. */
export type Step = <T>(run: () => Promise<T>) => Promise<T>;

/**
 * The service in steps: each call of D1, of the queue of deliveries and of a receiver is one. Whoever
 * asks for this takes the stub of `fetch` away again.
 *
 * @param sending - runs what a step sends to the queue
 */
export function steppedService(
  step: Step,
  overrides: { WEBHOOK_TIMEOUT_MS?: string } = {},
  sending: Step = (send) => send(),
): WebhookService {
  const service = new WebhookService({ DB: wrapD1(env.DB, (_, run) => step(run)), ...overrides });
  const { sendBatch } = service.env.DELIVERIES;
  const deliveries = {
    sendBatch: (messages: { body: DeliveryMessage }[]) =>
      step(() => sending(() => sendBatch(messages))),
  };
  Object.assign(service.env, { DELIVERIES: deliveries });
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", (...args: Parameters<typeof fetch>) => step(() => fetch(...args)));
  return service;
}

/** Kills what runs at one of its steps, before or after the step took effect. */
export class Fuse {
  #left = Number.POSITIVE_INFINITY;
  #when: "before" | "after" = "before";

  /** @param steps - the step to die at, counted from 1 */
  light(steps: number, when: "before" | "after"): void {
    this.#left = steps;
    this.#when = when;
  }

  putOut(): void {
    this.light(Number.POSITIVE_INFINITY, "before");
  }

  burnt(): boolean {
    return this.#left <= 0;
  }

  /** What is dead takes no step and gets no answer, whoever catches the error. */
  readonly step: Step = async (run) => {
    const left = --this.#left;
    if (left < 0 || (left === 0 && this.#when === "before")) throw new Error("killed");
    const result = await run();
    if (this.burnt()) throw new Error("killed");
    return result;
  };
}

/** Suspends what runs once a step took effect, until it is resumed. */
export class Pause {
  #left = Number.POSITIVE_INFINITY;
  #reached = Promise.withResolvers<void>();
  #resumed = Promise.withResolvers<void>();

  /**
   * @param steps - the step to stop after, counted from 1
   * @returns when it is reached
   */
  after(steps: number): Promise<void> {
    this.#left = steps;
    this.#reached = Promise.withResolvers();
    this.#resumed = Promise.withResolvers();
    return this.#reached.promise;
  }

  resume(): void {
    this.#resumed.resolve();
  }

  readonly step: Step = async (run) => {
    const left = --this.#left;
    const result = await run();
    if (left !== 0) return result;
    this.#reached.resolve();
    await this.#resumed.promise;
    return result;
  };
}
