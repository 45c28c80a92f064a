import { ITS_TURN, type WaitingTasks, waitingRecords } from "../waiting.ts";

const REQUESTED = { table: "reference_script", states: "*Requested", pays: "NULL" };

/** Scripts to be published or withdrawn whose transaction is not built yet. */
export const waitingReferenceScripts: WaitingTasks = async (...asked) => {
  const records = await waitingRecords(REQUESTED, ...asked);
  return records.map(({ id, vkey, state, error, dueAt }) => ({
    ...{ vkey, dueAt },
    feature: "reference-script",
    id: `${id}:${state.startsWith("Withdraw") ? "Withdraw" : "Publish"}`,
    reason: error ?? ITS_TURN,
  }));
};
