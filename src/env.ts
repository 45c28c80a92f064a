/** Bindings, variables and secrets of the Worker; see `wrangler.toml` and docs/operating.md. */
export interface Env {
  /** The ledger and the core database; one D1 today, told apart by `db/client.ts`. */
  DB: D1Database;
  /** One object per payment source: the only writer of its records. */
  SOURCE_CURSOR: DurableObjectNamespace;
  /** One object per registry source and job, and one per network for the search index. */
  REGISTRY_CURSOR: DurableObjectNamespace;
  /** The registry's search index, rebuilt from the ledger when it is lost. */
  SEARCH_DB: D1Database;
  /** One object per provider base URL and key: leases calls, remembers bans. */
  PROVIDER_BUDGET: DurableObjectNamespace;
  /** One object per x402 authorization: settles it once. */
  PAYMENT_PAYLOAD: DurableObjectNamespace;
  /** One object per EVM chain and facilitator wallet: gives out its nonces. */
  FACILITATOR_WALLET: DurableObjectNamespace;
  /** One object per managed wallet's key: the only spender of its outputs. */
  HOT_WALLET: DurableObjectNamespace;
  /** Wakes the webhook dispatcher; the events themselves live in D1. */
  EVENTS: Queue<EventsWake>;
  /** Asks for webhook deliveries to be sent; the deliveries themselves live in D1. */
  DELIVERIES: Queue<DeliveryMessage>;
  /** Calls per API key, or a stranger's address, and minute; absent (in benchmarks): nobody is braked. */
  RATE_LIMIT?: RateLimit;
  /** The same in ten seconds, let through even past those of the minute. */
  RATE_LIMIT_BURST?: RateLimit;
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
  /** Milliseconds a webhook receiver has to answer, decimal text; default 15000, at most 25000. */
  WEBHOOK_TIMEOUT_MS?: string;
  /** Seconds between two checks of an agent that answers as before, decimal text; default 1800. */
  HEALTH_CHECK_INTERVAL_S?: string;
  /** DNS over HTTPS (JSON form) by which addresses that others chose are judged; default Cloudflare's. */
  DNS_OVER_HTTPS_URL?: string;
  /** Base URL of the inbox provider that tokens without one mean on Preprod; none when empty. */
  INBOX_PROVIDER_URL_PREPROD?: string;
  /** The same on Mainnet. */
  INBOX_PROVIDER_URL_MAINNET?: string;
  /**
   * Development only: comma separated loopback origins that guarded fetches may reach
   * (devnet, receivers). Refused while any source is on Mainnet.
   */
  LOOPBACK_ORIGINS?: string;
  /**
   * Development only: scripts that contracts are derived from instead of the default deployment's,
   * JSON as `sources/templates.ts` reads it. No Mainnet source is created while it is set.
   */
  CONTRACT_TEMPLATES?: string;
  /** Optional: base URL of a price API, asked for end-of-month rates that are not stored. */
  PRICE_SOURCE_URL?: string;
  /** JSON: the API's coin id and the decimals of each unit, `{"": {"id": "…", "decimals": 6}}`. */
  PRICE_SOURCE_COINS?: string;
  /** Secret, optional: the price API's key. */
  PRICE_SOURCE_KEY?: string;
}

/** The queue's message: it only wakes the dispatcher, since the events themselves are in D1. */
export interface EventsWake {
  /** Version of the message: two versions of the code run at once during a rollout. */
  v: 1;
  requestId: string;
}

/** Names a delivery that is due; one that is lost or doubled changes nothing. */
export interface DeliveryMessage {
  v: 1;
  requestId: string;
  endpointId: string;
  eventId: string;
}
