import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { peerModules } from "./test/clients/peer-modules.ts";
import type { Effort } from "./test/support/effort.ts";
import { loadAtOnce } from "./test/support/load-at-once.ts";
import { makeScratch } from "./test/support/scratch.ts";

/**
 * What `npm run test:long` says in its environment. Other runs take the same sample each, so that what
 * they say of a change depends on the change alone.
 */
const EFFORT: Effort = {
  isLong: process.env.LONG_TESTS === "1",
  seed: Number(process.env.TEST_SEED ?? 1),
};

process.env.TMPDIR ??= makeScratch();

/**
 * Milliseconds that a test may take: it ends one that hangs. No test measures time, so that a busy
 * machine, which is ten times as slow, fails none. A test of a long run may try very much.
 */
const PATIENCE_MS = EFFORT.isLong ? 3_600_000 : 300_000;
/** What a poll may take, however long its test is: the test's own limit would not say what was waited for. */
const POLL_MS = 240_000;

const PATIENCE = {
  testTimeout: PATIENCE_MS,
  hookTimeout: PATIENCE_MS,
  expect: { poll: { timeout: POLL_MS } },
};

/** Begins with the files that start the service as a process, and mostly wait for it, a minute each. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isWaiting = ({ moduleId }: TestSpecification) => /\/test\/(console|e2e)\//.test(moduleId);
    return sorted.sort((a, b) => Number(isWaiting(b)) - Number(isWaiting(a)));
  }
}

/** A runtime is sent the modules of its tests one by one: each of these packages as one of them. */
const MODULES = {
  optimizer: {
    ssr: {
      enabled: true,
      include: [
        "@noble/curves/ed25519.js",
        "@noble/ed25519",
        "@noble/hashes/blake2.js",
        "@noble/hashes/hmac.js",
        "@noble/hashes/sha2.js",
        "@noble/hashes/utils.js",
        "@scure/base",
        "@scure/bip39",
        "@scure/bip39/wordlists/english.js",
        "drizzle-orm",
        "drizzle-orm/d1",
        "drizzle-orm/sqlite-core",
        "fast-check",
        "hono",
        "hono/cors",
        "ipaddr.js",
        "lz-string",
        "viem",
        "viem/accounts",
        "zod",
      ],
    },
  },
};

/** Runs tests inside workerd, with the bindings of wrangler.toml and on a local chain of theirs. */
const inWorkerd = () =>
  cloudflareTest(async ({ inject }) => ({
    wrangler: { configPath: "./wrangler.toml" },
    miniflare: {
      // Queues that nobody consumes: what a test leaves in one would be done in the midst of the next
      // test. What consumers do is fired by hand (test/support/webhooks), and by the platform in
      // test/e2e.
      queueProducers: {
        EVENTS: { queueName: "unattended-events" },
        DELIVERIES: { queueName: "unattended-deliveries" },
      },
      // A test binds them as ARCHIVE_2 and ARCHIVE_3.
      d1Databases: ["TEST_ARCHIVE_2", "TEST_ARCHIVE_3"],
      // Tests ask more often than a key may; what the limits do is tested with small ones.
      ratelimits: {
        RATE_LIMIT: { namespace_id: "1", simple: { limit: 1_000_000, period: 60 } },
        SMALL_RATE_LIMIT: { namespace_id: "2", simple: { limit: 3, period: 60 } },
        SMALL_RATE_LIMIT_BURST: { namespace_id: "3", simple: { limit: 2, period: 10 } },
      },
      bindings: {
        TEST_MIGRATIONS: await readD1Migrations("./migrations"),
        TEST_SEARCH_MIGRATIONS: await readD1Migrations("./migrations-search"),
        TEST_ARCHIVE_MIGRATIONS: await readD1Migrations("./migrations-archive"),
        DEVNET_URL: inject("devnetUrl"),
        RECEIVER_URL: inject("receiverUrl"),
        BYSTANDER_URL: inject("bystanderUrl"),
        AGENTS_URL: inject("agentsUrl"),
        INBOX_URL: inject("inboxUrl"),
        PRICES_URL: inject("pricesUrl"),
        EVM_URL: inject("evmUrl"),
        // No test asks the internet for a name.
        DNS_OVER_HTTPS_URL: `${inject("resolverUrl")}/dns-query`,
        LOOPBACK_ORIGINS: `${inject("devnetUrl")},${inject("evmUrl")}`,
        API_KEY_SECRET: "test-only-api-key-secret-0123456789",
        SEALING_KEYS: "k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
        ADMIN_KEY: "test-only-admin-key",
        BLOCKFROST_URL_PREPROD: inject("devnetUrl"),
        BLOCKFROST_URL_MAINNET: inject("devnetUrl"),
        // A first PDF takes a busy machine longer than users are kept waiting.
        REQUEST_DEADLINE_MS: "100000",
        // Passes are run by hand, one after the other.
        SYNC_EVERY_SECONDS: "0",
        // The local chain has no quota; what the budget does is tested at the usual one.
        PROVIDER_CALLS_PER_SECOND: "10000",
      },
    },
  }));

/** Files that only a long run has: `LONG_TESTS=1` runs one of them. */
const LONG_ONLY = EFFORT.isLong ? [] : ["**/*.long.test.ts"];

/**
 * Loads the service anew, which ends the objects of whatever else runs there, or runs other files' tests
 * once more.
 */
const ALONE = [
  "test/compatibility/*.test.ts",
  "test/http/names/*.test.ts",
  "test/x402/sponsoring/stories*.test.ts",
  "test/x402/upto/stories*.test.ts",
  "test/x402/version-1/*.test.ts",
];

/** What the projects in workerd have in common. */
const IN_WORKERD = {
  globalSetup: ["./test/global-setup.ts"],
  setupFiles: ["./test/support/seed.ts", "./test/setup.ts"],
  deps: MODULES,
  ...PATIENCE,
};

/**
 * Three projects: `workers` runs in a few runtimes, which need not start and load modules for each file
 * (test/setup.ts); `alone` in one for each file; `node` drives the local chain and the
 * running service from outside, and runs models of what needs no runtime.
 */
export default defineConfig({
  test: {
    provide: { effort: EFFORT },
    // One more than the cores of a small machine: many tests wait for blocks or receivers.
    maxWorkers: 3,
    sequence: { sequencer: WaitingFirst },
    // The service's own log lines: tests that fail things on purpose would bury everything else.
    onConsoleLog: (text) => !text.startsWith('{"'),
    projects: [
      {
        plugins: [loadAtOnce(), inWorkerd()],
        test: {
          name: "workers",
          include: ["test/**/*.test.ts"],
          exclude: [
            "test/{clients,console,devnet,e2e,long,model,structure}/**",
            ...ALONE,
            ...LONG_ONLY,
          ],
          isolate: false,
          ...IN_WORKERD,
        },
      },
      {
        plugins: [loadAtOnce(), inWorkerd()],
        test: { name: "alone", include: ALONE, exclude: LONG_ONLY, isolate: true, ...IN_WORKERD },
      },
      {
        plugins: [peerModules()],
        test: {
          name: "node",
          include: ["test/{clients,console,devnet,e2e,long,model,structure}/**/*.test.ts"],
          exclude: LONG_ONLY,
          isolate: false,
          setupFiles: ["./test/support/seed.ts"],
          ...PATIENCE,
        },
      },
    ],
  },
});
