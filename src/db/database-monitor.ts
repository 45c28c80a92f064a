/** What the monitor of the database stores where a full database cannot lose it. */
import { type Env, getDurableObject } from "../env.ts";

/** A database that refused a write for lack of room. Times are epoch milliseconds. */
export interface FullDatabase {
  since: number;
  /** Id of the event: the same for each receiver, and for the outbox once there is room. */
  eventId: string;
  /** Ids of the webhooks that have received the event. */
  receivers: string[];
}

/** The size of the database at a moment, in epoch milliseconds. */
export interface SizeSample {
  at: number;
  bytes: number;
}

/** What the monitor knows. */
export interface MonitorStatus {
  /** Null: there is room. */
  full: FullDatabase | null;
  /** Oldest first, an hour or more apart. */
  samples: SizeSample[];
}

/** The calls of the monitor's object. Times are epoch milliseconds. */
export interface MonitorObject {
  /** Stores that the database refused a write. A repeat changes nothing. */
  reportFull(now: number): Promise<void>;
  read(): Promise<MonitorStatus>;
  /** Stores the size, unless the last sample is less than an hour old. */
  addSample(sample: SizeSample): Promise<MonitorStatus>;
  /** Stores which webhooks have received the event. */
  addReceivers(endpointIds: readonly string[]): Promise<void>;
  /** The database has room again. */
  endFull(): Promise<void>;
}

/** Bindings of a database with its monitor. Benchmarks and some tests have no monitor. */
export interface MonitoredDatabase {
  DB: D1Database;
  DATABASE_MONITOR?: Env["DATABASE_MONITOR"];
  OBJECT_LOCATION?: string;
}

/** The object of the database `DB`. */
export function findMonitor(env: Pick<Env, "DATABASE_MONITOR" | "OBJECT_LOCATION">): MonitorObject {
  return getDurableObject<MonitorObject>(env, env.DATABASE_MONITOR, "DB");
}
