import type { TaskFeature } from "../spending/task-queue.ts";
import { REFERENCE_SCRIPT_FEATURE } from "./tables.ts";

/** Reference scripts in the queue of wallets. */
export const referenceScriptQueue: TaskFeature = {
  feature: REFERENCE_SCRIPT_FEATURE,
  async createFeature({ database, source: { id: sourceId, network }, vkey }) {
    const { createReferenceScriptFeature } = await import("./reference-script-feature.ts");
    return createReferenceScriptFeature(database, { network, vkey, sourceId });
  },
  async createPort(db) {
    const { createReferenceScriptPort } = await import("./reference-script-feature.ts");
    return createReferenceScriptPort(db);
  },
};
