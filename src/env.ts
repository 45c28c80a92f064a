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
  /** Databases of final records, `ARCHIVE_1` first, numbered without a gap; none: nothing moves. */
  [archive: `ARCHIVE_${number}`]: D1Database | undefined;
  /** One object per provider base URL and key: leases calls, remembers bans. */
  PROVIDER_BUDGET: DurableObjectNamespace;
  /** One object per x402 authorization: settles it once. */
  PAYMENT_PAYLOAD: DurableObjectNamespace;
  /** One object per EVM chain and facilitator wallet: assigns its nonces. */
  FACILITATOR_WALLET: DurableObjectNamespace;
  /** One object per managed wallet's key: the only spender of its outputs. */
  HOT_WALLET: DurableObjectNamespace;
  /** One object per network: what its wallets handed to nodes, whatever becomes of the database. */
  SPENDING_JOURNAL: DurableObjectNamespace;
  /** One object: stores what a full database cannot, and how its size grows. */
  DATABASE_MONITOR: DurableObjectNamespace;
  /** Wakes the webhook dispatcher; the events themselves live in D1. */
  EVENTS: Queue<EventsWakeMessage>;
  /** Asks for webhook deliveries to be sent; the deliveries themselves live in D1. */
  DELIVERIES: Queue<DeliveryMessage>;
  /** What `EVENTS` gave up; bound so that a deployment makes the queue. */
  EVENTS_DEAD: Queue;
  /** The same of `DELIVERIES`. */
  DELIVERIES_DEAD: Queue;
  /** Calls per minute and API key, or unknown caller's address; absent (in benchmarks): none. */
  RATE_LIMIT?: RateLimit;
  /** The same per ten seconds, allowed even beyond the minute's limit. */
  RATE_LIMIT_BURST?: RateLimit;
  /**
   * The two limits as `RateLimit-Policy` tells them (draft-ietf-httpapi-ratelimit-headers); must say
   * what the bindings do, whose numbers the Worker cannot read. Absent: the header is not sent.
   */
  RATE_LIMIT_POLICY?: string;
  /** Static files: the documentation at `/docs`, and the console. */
  ASSETS: Fetcher;
  /** Which version of the Worker this is; absent where none was deployed. */
  CF_VERSION_METADATA?: { id: string };

  /** Secret: at least 32 characters. API keys are stored as HMAC-SHA-256 under it. */
  API_KEY_SECRET: string;
  /**
   * Secret: `id:base64(32 bytes)`, comma separated, newest first. The first seals, all open.
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
  /**
   * Seconds between two syncs of a payment source that nobody waits for, decimal text; default 20.
   * With 0, only the cron starts a sync.
   */
  SYNC_EVERY_SECONDS?: string;
  /** Calls per second that a provider key allows, decimal text; the burst is fifty times that. */
  PROVIDER_CALLS_PER_SECOND: string;
  /** Calls per UTC day that a provider key allows, decimal text; empty: no limit. */
  PROVIDER_CALLS_PER_DAY?: string;
  /**
   * Further places for transactions that Preprod's provider does not take: comma separated https URLs
   * of submit APIs. May hold keys, and can be set as a secret.
   */
  SUBMIT_URLS_PREPROD?: string;
  /** The same on Mainnet. */
  SUBMIT_URLS_MAINNET?: string;
  /**
   * Origins that further chain providers may have on private hosts and other ports, comma separated.
   */
  PROVIDER_ORIGINS?: string;
  /** Whether the service withdraws sellers' funds when due; `false`: it does not. */
  AUTO_WITHDRAW_PAYMENTS?: string;
  /** Whether buyers' refunds are; `false`: not. */
  AUTO_WITHDRAW_REFUNDS?: string;
  /** Minutes before a deadline at which the event is sent, decimal text; default 30. */
  DEADLINE_WARNING_MINUTES?: string;
  /**
   * Whether a wallet publishes a contract's script as soon as an escrow needs it on the chain;
   * `false`: the record reports the need instead.
   */
  AUTO_REFERENCE_SCRIPT?: string;
  /** Region in which objects are made, one of `OBJECT_LOCATIONS`; empty: where their first caller is. */
  OBJECT_LOCATION?: string;
  /** Bytes that the database may have, decimal text; default 10,000,000,000. */
  DATABASE_MAX_BYTES?: string;
  /** Minutes after which a final record may go to an archive, decimal text; default 43200, 30 days. */
  ARCHIVE_AFTER_MINUTES?: string;
  /** Milliseconds a webhook receiver has to answer, decimal text; default 15000, at most 25000. */
  WEBHOOK_TIMEOUT_MS?: string;
  /** Webhooks that an API key may have, decimal text, at least 1; default 20. */
  WEBHOOK_ENDPOINTS_PER_KEY?: string;
  /** Days that the service keeps events and their deliveries, decimal text; default 7. */
  EVENT_RETENTION_DAYS?: string;
  /** Seconds between two checks of an agent that answers as before, decimal text; default 1800. */
  HEALTH_CHECK_INTERVAL_S?: string;
  /** Which requests that only read are logged: `all`, a share such as `0.01` (default), or `off`. */
  LOG_POLLS?: string;
  /** DNS over HTTPS (JSON form) used to check user-supplied host names; default Cloudflare's. */
  DNS_OVER_HTTPS_URL?: string;
  /** Base URL of Preprod's default inbox provider, for tokens that name none; none when empty. */
  INBOX_PROVIDER_URL_PREPROD?: string;
  /** The same on Mainnet. */
  INBOX_PROVIDER_URL_MAINNET?: string;
  /** Optional: with `cardano`, names on the wire are those of other services; `wire-names.ts`. */
  WIRE_NAMES?: string;
  /**
   * Development only: comma separated loopback origins that guarded fetches may reach
   * (devnet, receivers). Refused while any source is on Mainnet.
   */
  LOOPBACK_ORIGINS?: string;
  /**
   * Development only: with `tip`, the chain's tip is the only clock for validity and deadlines, for
   * chains that live in another time. Refused while any source is on Mainnet.
   */
  CHAIN_CLOCK?: string;
  /**
   * Development only: scripts that contracts are derived from instead of the default deployment's,
   * JSON as `sources/contracts/templates.ts` reads it. No Mainnet source is created while it is set.
   */
  CONTRACT_TEMPLATES?: string;
  /** Optional: base URL of a price API, asked for end-of-month rates that are not stored. */
  PRICE_SOURCE_URL?: string;
  /** JSON: the API's coin id and the decimals of each unit, `{"": {"id": "…", "decimals": 6}}`. */
  PRICE_SOURCE_COINS?: string;
  /** Secret, optional: the price API's key. */
  PRICE_SOURCE_KEY?: string;
}

/** Confirmations that a transaction needs before it is applied: 1 where the setting is no number. */
export function readConfirmationThreshold(env: Env): number {
  return Math.max(Number(env.CONFIRMATION_THRESHOLD) || 1, 1);
}

/** Bytes that the database may have: D1's limit unless the setting is a number. */
export function readDatabaseMaxBytes({
  DATABASE_MAX_BYTES: bytes,
}: Pick<Env, "DATABASE_MAX_BYTES">) {
  return Number(bytes) > 0 ? Number(bytes) : 10_000_000_000;
}

const DEFAULT_ARCHIVE_AFTER_MINUTES = 30 * 24 * 60;

/** Milliseconds after which a final record may go to an archive: 30 days unless the setting is a number. */
export function readArchiveAfterMs({
  ARCHIVE_AFTER_MINUTES: minutes = "",
}: Pick<Env, "ARCHIVE_AFTER_MINUTES">): number {
  const isNumber = minutes.trim() !== "" && Number(minutes) >= 0;
  return (isNumber ? Number(minutes) : DEFAULT_ARCHIVE_AFTER_MINUTES) * 60_000;
}

const DEFAULT_EVENT_RETENTION_DAYS = 7;

/** How long the service keeps events, in milliseconds. */
export function readEventRetentionMs({
  EVENT_RETENTION_DAYS: days,
}: Pick<Env, "EVENT_RETENTION_DAYS">): number {
  return (Number(days) || DEFAULT_EVENT_RETENTION_DAYS) * 24 * 60 * 60_000;
}

/** Milliseconds between two looks at a payment source that nobody waits for; null: the cron's are enough. */
export function readSyncIntervalMs({ SYNC_EVERY_SECONDS: seconds = "" }: Env): number | null {
  if (Number(seconds) === 0 && seconds !== "") return null;
  return (Number(seconds) > 0 ? Number(seconds) : 20) * 1_000;
}

/**
 * Milliseconds before a deadline at which the event is sent: half an hour unless the setting is a
 * number.
 */
export function readDeadlineWarningMs({ DEADLINE_WARNING_MINUTES: minutes }: Env): number {
  return (Number(minutes) > 0 ? Number(minutes) : 30) * 60_000;
}

const DEFAULT_POLL_LOG_RATE = 0.01;

/** The share of the requests that only read which is logged, from 0 to 1: a hundredth by default. */
export function readPollLogRate({ LOG_POLLS: setting = "" }: Pick<Env, "LOG_POLLS">): number {
  if (setting === "all") return 1;
  if (setting === "off") return 0;
  const rate = Number(setting);
  return setting.trim() !== "" && rate >= 0 && rate <= 1 ? rate : DEFAULT_POLL_LOG_RATE;
}

/**
 * Which steps of escrows are automatic: all that neither the deployment nor the payment source
 * switches off.
 */
export function readAutomaticSteps(
  env: Pick<Env, "AUTO_WITHDRAW_PAYMENTS" | "AUTO_WITHDRAW_REFUNDS">,
  source?: { autoWithdrawPayments: boolean | null; autoWithdrawRefunds: boolean | null },
): { payments: boolean; refunds: boolean } {
  return {
    payments: source?.autoWithdrawPayments ?? env.AUTO_WITHDRAW_PAYMENTS !== "false",
    refunds: source?.autoWithdrawRefunds ?? env.AUTO_WITHDRAW_REFUNDS !== "false",
  };
}

/** The queue's message: it only wakes the dispatcher, since the events themselves are in D1. */
export interface EventsWakeMessage {
  /** Version of the message: two versions of the code run at once during a rollout. */
  v: 1;
  requestId: string;
}

/** Names an endpoint with due deliveries; a lost or duplicate message changes nothing. */
export interface DeliveryMessage extends EventsWakeMessage {
  endpointId: string;
}

/** The setting of where objects are made, for those who call objects. */
export type ObjectLocationEnv = Pick<Env, "OBJECT_LOCATION">;

/** Cloudflare's location hints: https://developers.cloudflare.com/durable-objects/reference/data-location/ */
const OBJECT_LOCATIONS = [
  "wnam",
  "enam",
  "sam",
  "weur",
  "eeur",
  "apac",
  "oc",
  "afr",
  "me",
] as const satisfies readonly DurableObjectLocationHint[];

/** The region in which objects are made; undefined where the setting names none. */
export function readObjectLocation({ OBJECT_LOCATION: location }: ObjectLocationEnv) {
  return OBJECT_LOCATIONS.find((one) => one === location);
}

/**
 * The calls of the object with a name. The caller names the interface that the object's class implements, so
 * that no code below the objects depends on their classes.
 */
export function getDurableObject<Calls extends object>(
  env: ObjectLocationEnv,
  namespace: DurableObjectNamespace,
  name: string,
): Calls & { readonly id: { toString(): string } } {
  const locationHint = readObjectLocation(env);
  const options = locationHint === undefined ? {} : { locationHint };
  return namespace.get(namespace.idFromName(name), options) as unknown as Calls & {
    id: { toString(): string };
  };
}
