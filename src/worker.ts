import { createApp } from "./app.ts";
import type { Env } from "./env.ts";
import { runSchedule } from "./schedule.ts";
import { consumeQueue } from "./webhooks/delivery/consume-queue.ts";

export { DatabaseMonitor } from "../durable-objects/database-monitor.ts";
export { FacilitatorWallet } from "../durable-objects/facilitator-wallet.ts";
export { HotWallet } from "../durable-objects/hot-wallet.ts";
export { PaymentPayload } from "../durable-objects/payment-payload.ts";
export { ProviderBudget } from "../durable-objects/provider-budget.ts";
export { RegistryCursor } from "../durable-objects/registry-cursor.ts";
export { SourceCursor } from "../durable-objects/source-cursor.ts";
export { SpendingJournal } from "../durable-objects/spending-journal.ts";

const app = createApp();

export default {
  fetch: app.fetch,

  async scheduled(_controller, env) {
    await runSchedule(env);
  },

  async queue(batch, env, ctx) {
    await consumeQueue(batch, env, ctx);
  },
} satisfies ExportedHandler<Env>;
