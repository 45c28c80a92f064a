/** The life of a wallet's transaction: a table from (phase, event) to the next phase. */

export const TRANSACTION_PHASES = [
  /** Stored with all that it means; a node may have it or not. */
  "Stored",
  /** A node accepted it. */
  "Sent",
  "InBlock",
  /** As deep in the chain as the operator asks for. */
  "Confirmed",
  /** So deep that it stays. */
  "Final",
  /** Its block is gone; its bytes may come again. */
  "RolledBack",
  /** Its validity was over before a block showed it. */
  "Expired",
  /** A node refused its bytes, whatever the chain looks like. */
  "Refused",
  /** It spends from a transaction that ended badly, or what another one in a block has spent. */
  "Orphaned",
  /** In a block with a failed script: only its collateral was taken. */
  "Failed",
  /** It ended, and can never come. */
  "Dead",
] as const;
export type TransactionPhase = (typeof TRANSACTION_PHASES)[number];

/** What may happen to a transaction. */
export type PhaseEvent =
  | "Accepted"
  | "Refused"
  /** A block has it. */
  | "Seen"
  /** A block has it, and only its collateral was taken. */
  | "ScriptFailed"
  /** Its block has the confirmations that count. */
  | "Deep"
  /** Nothing above its block, or above the end of its validity, is undone any more. */
  | "Buried"
  /** Another block stands where its own stood. */
  | "Gone"
  /** Its validity is over, and no block has it. */
  | "Over"
  /** What it spends is taken by another, or was never made. */
  | "Displaced"
  /** What it spends is taken, or not made, for good. */
  | "Impossible";

type Transitions = Partial<Record<PhaseEvent, TransactionPhase>>;

/** Of a transaction that waits for a block. */
const PENDING_TRANSITIONS: Transitions = {
  Refused: "Refused",
  Seen: "InBlock",
  ScriptFailed: "Failed",
  Over: "Expired",
  Displaced: "Orphaned",
};
/** Of one that ended for us, and has not ended for the network: a block may show it all the same. */
const ENDED_TRANSITIONS: Transitions = {
  ...{ Seen: "InBlock", ScriptFailed: "Failed", Buried: "Dead", Impossible: "Dead" },
};

/** What is not in the table changes nothing: the event comes late, or twice. */
export const PHASE_TRANSITIONS: Record<TransactionPhase, Transitions> = {
  Stored: { ...PENDING_TRANSITIONS, Accepted: "Sent" },
  Sent: PENDING_TRANSITIONS,
  InBlock: { Deep: "Confirmed", Gone: "RolledBack", ScriptFailed: "Failed" },
  Confirmed: { Buried: "Final", Gone: "RolledBack", ScriptFailed: "Failed" },
  Final: { Gone: "RolledBack" },
  RolledBack: { ...PENDING_TRANSITIONS, Accepted: "Sent" },
  Expired: ENDED_TRANSITIONS,
  Refused: ENDED_TRANSITIONS,
  Orphaned: ENDED_TRANSITIONS,
  Failed: { Seen: "InBlock", Gone: "Orphaned", Buried: "Dead" },
  Dead: {},
};

/** What a phase means for the tasks of a transaction. */
export type TaskProgress = "UnderWay" | "Landed" | "Ended";

const TASK_PROGRESS_BY_PHASE: Record<TransactionPhase, TaskProgress> = {
  Stored: "UnderWay",
  Sent: "UnderWay",
  InBlock: "UnderWay",
  Confirmed: "Landed",
  Final: "Landed",
  RolledBack: "UnderWay",
  Expired: "Ended",
  Refused: "Ended",
  Orphaned: "Ended",
  Failed: "Ended",
  Dead: "Ended",
};

export const progressOf = (phase: TransactionPhase): TaskProgress => TASK_PROGRESS_BY_PHASE[phase];

/** Whether a block may still take the transaction, or be taken back with it. */
export const isOpen = (phase: TransactionPhase): boolean => phase !== "Final" && phase !== "Dead";

/** Whether it counts as happening: what it spends is spent, what it makes may be spent. */
export const isActive = (phase: TransactionPhase): boolean => progressOf(phase) !== "Ended";

/** Whether a block has it, and what it does is done. */
export const isInChain = (phase: TransactionPhase): boolean =>
  phase === "InBlock" || phase === "Confirmed" || phase === "Final";

/** Whether it lives and waits for a block. */
export const isPending = (phase: TransactionPhase): boolean => isActive(phase) && !isInChain(phase);
