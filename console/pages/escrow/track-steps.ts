/** The states that an escrow had, has, and will have when nobody objects. */
import type { OnChainState } from "../../../src/chain/network.ts";
import { toEpochMs } from "../../ui/format.ts";
import { textAt } from "../../ui/path.ts";
import { toWords } from "../../ui/words.ts";
import type { EscrowRow } from "./sides.ts";
import { toSeconds, transactionsOf } from "./transactions.ts";

/** The states that follow when nobody objects. */
const AHEAD: Readonly<Record<OnChainState, readonly OnChainState[]>> = {
  FundsLocked: ["ResultSubmitted", "Withdrawn"],
  FundsOrDatumInvalid: [],
  ResultSubmitted: ["Withdrawn"],
  RefundRequested: ["RefundWithdrawn"],
  Disputed: ["DisputedWithdrawn"],
  WithdrawAuthorized: ["Withdrawn"],
  RefundAuthorized: ["RefundWithdrawn"],
  Withdrawn: [],
  RefundWithdrawn: [],
  DisputedWithdrawn: [],
};

export interface TrackStep {
  label: string;
  time: number | null;
  phase: "past" | "present" | "ahead";
  isBad?: boolean;
}

/** The steps of a record's track. */
export function listTrackSteps(row: EscrowRow, now: number): TrackStep[] {
  const created: TrackStep = {
    label: "Quoted",
    time: toEpochMs(textAt(row, "createdAt")),
    phase: "past",
  };
  const { onChainState: state } = row;
  if (state === null) {
    const isOver = row.NextAction.requestedAction === "None";
    if (isOver) return [created, { label: "Ended without a lock", time: null, phase: "present" }];
    const ahead = ["FundsLocked", ...AHEAD.FundsLocked].map(toWords);
    return [
      { ...created, phase: "present" },
      ...ahead.map((label): TrackStep => ({ label, time: null, phase: "ahead" })),
    ];
  }
  const reached = transactionsOf(row)
    .filter(({ state: next, isBad }) => next !== "" && !isBad)
    .sort((a, b) => (a.time ?? 0) - (b.time ?? 0))
    .filter(({ state: next }, i, all) => next !== all[i - 1]?.state);
  const past = reached.map(({ state: next, time }, i): TrackStep => {
    const isLast = i === reached.length - 1;
    return {
      label: toWords(next),
      time,
      phase: isLast && next === state ? "present" : "past",
      isBad: isLast && /Invalid|^Disputed$/.test(next),
    };
  });
  if (past.at(-1)?.phase !== "present")
    past.push({ label: toWords(state), time: null, phase: "present" });
  const isLate = state === "FundsLocked" && Number(textAt(row, "submitResultTime")) < now;
  const ahead = isLate ? (["RefundWithdrawn"] as const) : AHEAD[state];
  // A record that was read from the chain is younger than its lock.
  const lockTime = past[0]?.time ?? Number.POSITIVE_INFINITY;
  const isYounger = toSeconds(created.time ?? 0) > toSeconds(lockTime);
  return [
    { ...created, time: isYounger ? null : created.time },
    ...past,
    ...ahead.map((next): TrackStep => ({ label: toWords(next), time: null, phase: "ahead" })),
  ];
}
