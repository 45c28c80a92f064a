import { DurableObject } from "cloudflare:workers";
import type { MonitorObject, MonitorStatus, SizeSample } from "../src/db/database-monitor.ts";
import { newId } from "../src/db/id.ts";
import type { Env } from "../src/env.ts";

const HOUR_MS = 60 * 60_000;
/** The samples of a week, at one an hour. */
const MAX_SAMPLES = 7 * 24;
const STORAGE_KEY = "status";

/** The monitor of the database: it stores what a full database cannot. */
export class DatabaseMonitor extends DurableObject<Env> implements MonitorObject {
  async reportFull(now: number): Promise<void> {
    const status = this.#read();
    if (status.full) return;
    this.#write({ ...status, full: { since: now, eventId: newId(now), receivers: [] } });
  }

  async read(): Promise<MonitorStatus> {
    return this.#read();
  }

  async addSample(sample: SizeSample): Promise<MonitorStatus> {
    const status = this.#read();
    const last = status.samples.at(-1);
    if (last && sample.at - last.at < HOUR_MS) return status;
    const samples = [...status.samples, sample].slice(-MAX_SAMPLES);
    this.#write({ ...status, samples });
    return { ...status, samples };
  }

  async addReceivers(endpointIds: readonly string[]): Promise<void> {
    const { full, samples } = this.#read();
    if (full === null) return;
    const receivers = [...new Set([...full.receivers, ...endpointIds])];
    this.#write({ full: { ...full, receivers }, samples });
  }

  async endFull(): Promise<void> {
    this.#write({ ...this.#read(), full: null });
  }

  #read(): MonitorStatus {
    return this.ctx.storage.kv.get<MonitorStatus>(STORAGE_KEY) ?? { full: null, samples: [] };
  }

  #write(status: MonitorStatus): void {
    this.ctx.storage.kv.put(STORAGE_KEY, status);
  }
}
