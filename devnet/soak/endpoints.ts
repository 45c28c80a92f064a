/** Webhook receivers of every temper, and what has arrived at those that answer. */
import { EVENT_KINDS } from "../../src/events/event-kinds.ts";
import { type ApiAccess, ask } from "../client/api.ts";
import type { Receiver } from "../demo/receiver.ts";
import type { ServiceLevels } from "./service-levels.ts";

/** Inboxes whose receiver takes every event in the end. */
const GOOD = ["/good", "/also-good"] as const;
/**
 * How the others answer. The local queue runs one consumer at a time, where Cloudflare starts more: what is slow
 * must leave that one connections for the others.
 */
const TEMPERS: Record<string, string> = {
  "/slow": "?answer=late&ms=300",
  "/hanging": "?answer=hang",
  "/failing": "?answer=500",
  "/redirecting": "?answer=redirect",
  "/closing": "?answer=reset",
  "/garbled": "?answer=garbled",
};

/** An event as it arrived, once. */
export interface ReceivedEvent {
  id: string;
  type: string;
  sequence: number;
  recordId: string | undefined;
  data: Record<string, unknown>;
}

export class Endpoints {
  readonly #receiver: Receiver;
  readonly #levels: ServiceLevels;
  readonly #ids = new Map<string, string>();

  constructor(receiver: Receiver, levels: ServiceLevels) {
    this.#receiver = receiver;
    this.#levels = levels;
  }

  async subscribe(admin: ApiAccess): Promise<void> {
    const paths = [...GOOD.map((path) => [path, ""]), ...Object.entries(TEMPERS)];
    for (const [path = "", answer] of paths) {
      const url = `${this.#receiver.url}${path}${answer}`;
      const { id } = await ask<{ id: string }>(admin, "POST", "/webhooks", {
        url,
        name: path,
        Events: EVENT_KINDS,
      });
      this.#ids.set(path, id);
    }
  }

  /** The good receivers refuse the first delivery of each message, or take everything again. */
  async setDown(isDown: boolean): Promise<void> {
    const plan = isDown ? [["503"], ["reset"], ["hang"]] : [[]];
    const body = JSON.stringify(plan.map((answers) => answers.map((one) => `answer=${one}`)));
    for (const path of GOOD) await fetch(`${this.#receiver.url}${path}`, { method: "PUT", body });
  }

  /** Has the service send now what waits for a receiver that was down. */
  async recover(admin: ApiAccess): Promise<void> {
    for (const path of GOOD) {
      const webhookId = this.#ids.get(path);
      await ask(admin, "PATCH", "/webhooks", { webhookId, isActive: false });
      await ask(admin, "PATCH", "/webhooks", { webhookId, isActive: true });
      await ask(admin, "POST", "/webhooks/deliveries/replay", { webhookId });
    }
  }

  /** What a good receiver has not got, of everything that was dispatched. */
  async listWaiting(admin: ApiAccess): Promise<object[]> {
    const waiting: object[] = [];
    for (const path of GOOD)
      for (const status of ["Pending", "Retrying"]) {
        const query = `webhookId=${this.#ids.get(path)}&status=${status}&limit=1`;
        const { Deliveries } = await ask<{ Deliveries: object[] }>(
          admin,
          "GET",
          `/webhooks/deliveries?${query}`,
        );
        waiting.push(...Deliveries);
      }
    return waiting;
  }

  /** Events of each good receiver, each once, in the order of their arrival. */
  receivedEvents(): Map<string, ReceivedEvent[]> {
    return new Map(GOOD.map((path) => [path, this.#read(path)]));
  }

  #read(path: string): ReceivedEvent[] {
    const received = new Map<string, ReceivedEvent>();
    for (const { at, body } of this.#receiver.arrivals(path)) {
      const event = JSON.parse(body);
      if (received.has(event.id)) continue;
      const { id, type, sequence, data } = event;
      received.set(id, { id, type, sequence, recordId: data.id, data });
      const stamp = Date.parse(data.nextActionOrOnChainStateOrResultLastChangedAt ?? "");
      if (path === GOOD[0] && !Number.isNaN(stamp)) this.#levels.addEvent(id, stamp, at);
    }
    return [...received.values()];
  }
}
