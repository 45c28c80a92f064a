import type { TaskFeature } from "../spending/task-queue.ts";
import { TRANSFER_FEATURE, type TransferAsset } from "./tables.ts";

/** Transfers in the queue of wallets. */
export const transferQueue: TaskFeature = {
  feature: TRANSFER_FEATURE,
  async readNeeds(db, ids) {
    const rows = await db.all<{ id: string; coin: string; assets: string }>(
      "SELECT id, coin, assets FROM transfer WHERE id IN (SELECT value FROM json_each(?))",
      JSON.stringify(ids),
    );
    return new Map(
      rows.map(({ id, coin, assets }) => {
        const tokens = (JSON.parse(assets) as TransferAsset[]).map(({ unit, quantity }) => ({
          unit,
          amount: BigInt(quantity),
        }));
        return [id, [...tokens, { unit: "", amount: BigInt(coin) }]];
      }),
    );
  },
  async createFeature({ database, source: { id: sourceId, network }, vkey }) {
    const { createTransferFeature } = await import("./transfer-feature.ts");
    return createTransferFeature(database, { network, vkey, sourceId });
  },
  async createPort(db) {
    const { createTransferPort } = await import("./transfer-feature.ts");
    return createTransferPort(db);
  },
};
