import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

/**
 * Two projects: `workers` runs inside workerd with the bindings of wrangler.toml, `node` drives
 * the local chain and the running service from outside. One local chain serves both
 * (test/global-setup.ts).
 */
export default defineConfig({
  test: {
    // The service's own log lines: tests that fail things on purpose would bury everything else.
    // Many tests wait for blocks or receivers, and two files are run per core's worth of work.
    maxWorkers: 2,
    onConsoleLog: (text) => !text.startsWith('{"'),
    projects: [
      {
        plugins: [
          cloudflareTest(async ({ inject }) => ({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              // Tests ask more often than a key may; what the limits do is tested with small ones.
              ratelimits: {
                RATE_LIMIT: { namespace_id: "1", simple: { limit: 1_000_000, period: 60 } },
                SMALL_RATE_LIMIT: { namespace_id: "2", simple: { limit: 3, period: 60 } },
                SMALL_RATE_LIMIT_BURST: { namespace_id: "3", simple: { limit: 2, period: 10 } },
              },
              bindings: {
                TEST_MIGRATIONS: await readD1Migrations("./migrations"),
                TEST_SEARCH_MIGRATIONS: await readD1Migrations("./migrations-search"),
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
                // The local chain has no quota; what the budget does is tested at the usual one.
                PROVIDER_CALLS_PER_SECOND: "10000",
              },
            },
          })),
        ],
        test: {
          name: "workers",
          include: ["test/**/*.test.ts"],
          exclude: ["test/devnet/**", "test/e2e/**"],
          globalSetup: ["./test/global-setup.ts"],
          setupFiles: ["./test/setup.ts"],
          // Each file has the modules it needs sent to a runtime of its own: one for each of these
          // packages instead of hundreds.
          deps: {
            optimizer: {
              ssr: {
                enabled: true,
                include: [
                  "@hono/zod-openapi",
                  "drizzle-orm",
                  "drizzle-orm/d1",
                  "drizzle-orm/sqlite-core",
                  "fast-check",
                  "hono",
                  "hono/cors",
                  "viem",
                  "viem/accounts",
                  "zod",
                ],
              },
            },
          },
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: "node",
          include: ["test/devnet/**/*.test.ts", "test/e2e/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
