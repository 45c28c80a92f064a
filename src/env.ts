/** Bindings, variables and secrets of the Worker; see `wrangler.toml` and docs/operators.md. */
export interface Env {
  /** The ledger and the core database; one D1 today, told apart by `db/client.ts`. */
  DB: D1Database;
  /** One object per payment source: the only writer of its records. */
  SOURCE_CURSOR: DurableObjectNamespace;
  /** One object per provider base URL and key: leases calls, remembers bans. */
  PROVIDER_BUDGET: DurableObjectNamespace;
  /** Wakes the webhook dispatcher; the events themselves live in D1. */
  EVENTS: Queue<EventsWake>;
  /** Static files of the API reference at `/docs`. */
  ASSETS: Fetcher;

  /** Secret: at least 32 characters. API keys are stored as HMAC-SHA-256 under it. */
  API_KEY_SECRET: string;
  /**
   * Secret: `id:base64(32 bytes)`, comma separated, newest first. The first seals, all of them open.
   */
  SEALING_KEYS: string;
  /** Secret, optional: at least 15 characters, accepted as an Admin key with the id `env-admin`. */
  ADMIN_KEY?: string;

  /** Base URL of the provider for Preprod, without a trailing slash. */
  BLOCKFROST_URL_PREPROD: string;
  /** Base URL of the provider for Mainnet, without a trailing slash. */
  BLOCKFROST_URL_MAINNET: string;
  /** Confirmations a transaction needs before it is applied; decimal text, at least 1. */
  CONFIRMATION_THRESHOLD: string;
  /** Calls per second that a provider key allows, decimal text; the burst is fifty times that. */
  PROVIDER_CALLS_PER_SECOND: string;
  /** Calls per API key and minute; decimal text. */
  RATE_LIMIT_PER_MINUTE: string;
  /**
   * Development only: comma separated loopback origins that guarded fetches may reach
   * (devnet, receivers). Refused while any source is on Mainnet.
   */
  LOOPBACK_ORIGINS?: string;
}

/** The queue's message: it only wakes the dispatcher, since the events themselves are in D1. */
export interface EventsWake {
  /** Version of the message: two versions of the code run at once during a rollout. */
  v: 1;
  requestId: string;
}
