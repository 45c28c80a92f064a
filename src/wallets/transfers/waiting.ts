import { ITS_TURN, type WaitingTasks, waitingRecords } from "../waiting.ts";
import { TRANSFER_WORK } from "./due.ts";
import type { TransferAsset } from "./tables.ts";

/** The coin and the assets of a transfer as one list. */
const PAYS = "json_insert(assets, '$[#]', json_object('unit', '', 'quantity', coin))";
const PENDING = { table: "transfer", states: "Pending", pays: PAYS };

/** Transfers whose transaction is not built yet, and those given up that may still land. */
export const waitingTransfers: WaitingTasks = async (...asked) => {
  const records = await waitingRecords(PENDING, ...asked);
  return records.map(({ error, state: _, pays, ...record }) => ({
    ...record,
    feature: TRANSFER_WORK,
    reason: error ?? ITS_TURN,
    needs: (JSON.parse(pays ?? "[]") as TransferAsset[]).map(({ unit, quantity }) => ({
      unit,
      amount: BigInt(quantity),
    })),
  }));
};
