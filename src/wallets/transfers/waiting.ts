import { ITS_TURN, type WaitingTasks, waitingRecords } from "../waiting.ts";
import { TRANSFER_WORK } from "./due.ts";

const PENDING = { table: "transfer", states: "Pending" };

/** Transfers whose transaction is not built yet, and those given up that may still land. */
export const waitingTransfers: WaitingTasks = async (...asked) => {
  const records = await waitingRecords(PENDING, ...asked);
  return records.map(({ error, state: _, ...record }) => ({
    ...record,
    feature: TRANSFER_WORK,
    reason: error ?? ITS_TURN,
  }));
};
