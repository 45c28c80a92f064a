/** What goes wrong within the Worker. Numbers are shares from 0 to 1. */
export interface WorkerFaults {
  /** D1 calls that fail without effect. */
  d1Before: number;
  /** D1 calls that fail after they took effect. */
  d1After: number;
  /** No database has room: insertions and updates fail. */
  isD1Full: boolean;
  /** Milliseconds that a D1 call takes longer, at most. */
  d1SlowMs: number;
  /** Milliseconds that replicas are behind the primary, at most. */
  replicaLagMs: number;
  /** Queue messages that come twice, late, or never. */
  queueDoubled: number;
  queueLate: number;
  queueLost: number;
  /** Calls of an object that lose its memory before they begin, or when they are done. */
  evictedBefore: number;
  evictedAfter: number;
}

export const NO_FAULTS: WorkerFaults = {
  d1Before: 0,
  d1After: 0,
  isD1Full: false,
  d1SlowMs: 0,
  replicaLagMs: 0,
  queueDoubled: 0,
  queueLate: 0,
  queueLost: 0,
  evictedBefore: 0,
  evictedAfter: 0,
};

export const FAULTS_PATH = "/v1/soak-faults";
