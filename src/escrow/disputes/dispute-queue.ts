import type { TaskFeature } from "../../wallets/spending/task-queue.ts";
import { findWalletsWithSettlements, listReservedOutputs } from "./store.ts";
import { DISPUTE_FEATURE } from "./tables.ts";

/** Settlements of disputes in the queue of wallets. */
export const disputeQueue: TaskFeature = {
  feature: DISPUTE_FEATURE,
  // Nobody here knows what is due on a chain in another time: the wallets ask it.
  findDueWallets: (clock) => (clock === "wall" ? async () => [] : findWalletsWithSettlements),
  async createFeature({ database: db, source, wallets, vkey, chainTime }) {
    const { createDisputeFeature } = await import("./dispute-feature.ts");
    return createDisputeFeature({ db, source, wallets, vkey, chainTime });
  },
  async createPort(db) {
    const { createDisputePort } = await import("./dispute-feature.ts");
    return createDisputePort(db);
  },
  listReservedOutputs,
};
