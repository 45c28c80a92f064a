import {
  ITS_TURN,
  type WaitingTask,
  type WaitingTasks,
  waitingRecords,
} from "../wallets/waiting.ts";
import { purposeOfState, type RegistrationState, taskIdOf } from "./states.ts";

const REQUESTED = { table: "registration", states: "*Requested" };

/** Registrations and deregistrations whose transaction is not built yet. */
export const waitingRegistrations: WaitingTasks = async (...asked) => {
  const records = await waitingRecords<RegistrationState>(REQUESTED, ...asked);
  return records.flatMap(({ id, vkey, state, error, dueAt }): WaitingTask[] => {
    const purpose = purposeOfState(state);
    if (purpose === null) return [];
    const reason = error ?? ITS_TURN;
    return [{ vkey, feature: "registration", id: taskIdOf(id, purpose), reason, dueAt }];
  });
};
