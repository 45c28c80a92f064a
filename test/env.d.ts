import type { D1Migration } from "cloudflare:test";
import type { DatabaseMonitor } from "../durable-objects/database-monitor.ts";
import type { FacilitatorWallet } from "../durable-objects/facilitator-wallet.ts";
import type { HotWallet } from "../durable-objects/hot-wallet.ts";
import type { PaymentPayload } from "../durable-objects/payment-payload.ts";
import type { ProviderBudget } from "../durable-objects/provider-budget.ts";
import type { RegistryCursor } from "../durable-objects/registry-cursor.ts";
import type { SourceCursor } from "../durable-objects/source-cursor.ts";
import type { SpendingJournal } from "../durable-objects/spending-journal.ts";
import type { Env as WorkerEnv } from "../src/env.ts";

declare global {
  namespace Cloudflare {
    /** The Worker's bindings with the classes of their objects, and what vitest.config.ts adds to them. */
    interface Env extends WorkerEnv {
      SOURCE_CURSOR: DurableObjectNamespace<SourceCursor>;
      REGISTRY_CURSOR: DurableObjectNamespace<RegistryCursor>;
      PROVIDER_BUDGET: DurableObjectNamespace<ProviderBudget>;
      PAYMENT_PAYLOAD: DurableObjectNamespace<PaymentPayload>;
      FACILITATOR_WALLET: DurableObjectNamespace<FacilitatorWallet>;
      HOT_WALLET: DurableObjectNamespace<HotWallet>;
      SPENDING_JOURNAL: DurableObjectNamespace<SpendingJournal>;
      DATABASE_MONITOR: DurableObjectNamespace<DatabaseMonitor>;
      TEST_MIGRATIONS: D1Migration[];
      TEST_SEARCH_MIGRATIONS: D1Migration[];
      TEST_ARCHIVE_MIGRATIONS: D1Migration[];
      ARCHIVE_1: D1Database;
      TEST_ARCHIVE_2: D1Database;
      TEST_ARCHIVE_3: D1Database;
      /** Three calls a minute. */
      SMALL_RATE_LIMIT: RateLimit;
      /** Two calls in ten seconds. */
      SMALL_RATE_LIMIT_BURST: RateLimit;
      /** Origin of the local chain's server. */
      DEVNET_URL: string;
      /** Origin of EVM nodes, by name. */
      EVM_URL: string;
      /** Origin of a webhook receiver; see devnet/demo/receiver.ts. */
      RECEIVER_URL: string;
      /** Origin of another one, where receivers redirect to: nothing may arrive there. */
      BYSTANDER_URL: string;
      /** Origin of agents; see devnet/demo/agents.ts. */
      AGENTS_URL: string;
      /** Origin of an inbox provider. */
      INBOX_URL: string;
      /** Origin of a price API; see devnet/demo/price-source.ts. */
      PRICES_URL: string;
    }
    /** What makes `exports.default` of `cloudflare:workers` the Worker's own. */
    interface GlobalProps {
      mainModule: typeof import("../src/worker.ts");
    }
  }
}
