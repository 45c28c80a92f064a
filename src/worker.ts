import { createApp } from "./app.ts";
import type { Env, EventsWake } from "./env.ts";
import { runSchedule } from "./schedule.ts";

export { ProviderBudget } from "../durable-objects/provider-budget.ts";
export { SourceCursor } from "../durable-objects/source-cursor.ts";

const app = createApp();

export default {
  fetch: app.fetch,

  async scheduled(_controller, env) {
    await runSchedule(env);
  },

  /** A message only wakes: the events are in D1, so one that is lost or doubled changes nothing. */
  async queue(batch) {
    batch.ackAll();
  },
} satisfies ExportedHandler<Env, EventsWake>;
