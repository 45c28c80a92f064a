/** What one invocation did, counted as the platform counts and bills it. Runs in the Worker and in tests. */

/** What the meter counts, in the order of its table. */
export const COUNTS = [
  "D1 calls",
  /** The longest chain of database calls, each of which began after the one before it had ended. */
  "in series",
  /** Database calls that no replica may answer. */
  "primary",
  "rows read",
  "rows written",
  "object calls",
  "object rows read",
  "object rows written",
  /** Of the database of the object, at the end. */
  "object bytes",
  /** Its share of the time in which the object worked; invocations at the same time share it. */
  "object ms",
  /** One for each 64 KB that are written, read or deleted. */
  "queue ops",
  "fetches",
  /** The most connections that were open at the same time. */
  "connections",
  /** Calls that waited for a connection. */
  "waits",
  "answer bytes",
  "log lines",
] as const;
export type Counts = Record<(typeof COUNTS)[number], number>;

/** Connections that an invocation may have open on the platform. */
export const MAX_CONNECTIONS = 6;

/** What the simulator of the platform lacks. */
export interface PlatformLimits {
  /** Milliseconds that each database call takes longer. */
  d1Ms: number;
  /** Connections that an invocation may have open; null: any number. */
  connections: number | null;
}

/** The simulator as it is. */
export const UNLIMITED: PlatformLimits = { d1Ms: 0, connections: null };

/** An invocation as the meter reports it. */
export interface MeteredInvocation {
  /** Such as `GET /api/v1/health`, `cron`, `queue events`, `HotWallet.alarm`. */
  kind: string;
  counts: Counts;
}

/** What the meter returns for what was counted since the last time. */
export interface Metered {
  /** Those that have ended. */
  invocations: MeteredInvocation[];
  /** How many have not. */
  running: number;
  /** Rows as D1 counts them, and by statement the most that it read in one go. */
  rows: { read: number; written: number; most: Record<string, number> };
}

/** Where the metered Worker returns what was counted. */
export const METER_PATH = "/bench/meter";
/** A request header that is shown with the kind of the invocation. */
export const LABEL_HEADER = "bench-label";

/** A request, a run of the cron, a batch of a queue, or a call or alarm of an object. */
export class Invocation implements MeteredInvocation {
  readonly kind: string;
  readonly counts = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Counts;
  /** Whether its handler has returned; work may go on in the background. */
  isEnded = false;
  readonly #maxConnections: number;
  #open = 0;
  readonly #waiting: (() => void)[] = [];
  /** The longest chain among the database calls that have ended. */
  #endedChain = 0;

  constructor(kind: string, connections: PlatformLimits["connections"]) {
    this.kind = kind;
    this.#maxConnections = connections ?? Number.POSITIVE_INFINITY;
  }

  get isIdle(): boolean {
    return this.isEnded && this.#open === 0;
  }

  /** Does work on a connection, as soon as one is free. */
  async connect<Result>(work: () => Promise<Result>): Promise<Result> {
    const { counts } = this;
    if (this.#open < this.#maxConnections) this.#open++;
    else {
      counts.waits++;
      // The connection that ends is passed on, so it stays open.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    counts.connections = Math.max(counts.connections, this.#open);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#open--;
    }
  }

  /** Does a database call. */
  query<Result>(work: () => Promise<Result>): Promise<Result> {
    const { counts } = this;
    counts["D1 calls"]++;
    return this.connect(async () => {
      const chain = this.#endedChain + 1;
      counts["in series"] = Math.max(counts["in series"], chain);
      try {
        return await work();
      } finally {
        this.#endedChain = Math.max(this.#endedChain, chain);
      }
    });
  }
}

/** Shares the time in which an object works among its invocations: the platform bills it once. */
export class ObjectClock {
  readonly #now: () => number;
  readonly #running = new Set<Invocation>();
  #since = 0;

  /** @param now - milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  begin(invocation: Invocation): void {
    this.#share();
    this.#running.add(invocation);
  }

  end(invocation: Invocation): void {
    this.#share();
    this.#running.delete(invocation);
  }

  #share(): void {
    const now = this.#now();
    for (const { counts } of this.#running)
      counts["object ms"] += (now - this.#since) / this.#running.size;
    this.#since = now;
  }
}
