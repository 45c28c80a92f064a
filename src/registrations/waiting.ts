import {
  ITS_TURN,
  type WaitingTask,
  type WaitingTasks,
  waitingRecords,
} from "../wallets/waiting.ts";
import { purposeOfState, type RegistrationState, taskIdOf } from "./states.ts";
import { MIN_FUNDING } from "./token.ts";

const REQUESTED = { table: "registration", states: "*Requested", pays: "send_funding" };

/** Registrations and deregistrations whose transaction is not built yet. */
export const waitingRegistrations: WaitingTasks = async (...asked) => {
  const records = await waitingRecords<RegistrationState>(REQUESTED, ...asked);
  return records.flatMap(({ id, vkey, state, error, dueAt, pays }): WaitingTask[] => {
    const purpose = purposeOfState(state);
    if (purpose === null) return [];
    const reason = error ?? ITS_TURN;
    const funding = BigInt(pays ?? 0);
    const amount = funding > MIN_FUNDING ? funding : MIN_FUNDING;
    const needs = purpose === "Registration" ? [{ unit: "", amount }] : [];
    return [{ vkey, feature: "registration", id: taskIdOf(id, purpose), reason, dueAt, needs }];
  });
};
