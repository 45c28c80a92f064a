/** Test files of settlements, which other forms of a payment run again. Each import declares tests. */
export const FAULT_STORIES = [
  () => import("./settle/faults/node.test.ts"),
  () => import("./settle/faults/database.test.ts"),
  () => import("./settle/joins.test.ts"),
];

/** The long ones, by what they are about. */
export const LONG_FAULT_STORIES: [string, () => Promise<unknown>][] = [
  ["answers", () => import("./settle/faults/answers.long.test.ts")],
  ["eviction", () => import("./settle/faults/eviction.long.test.ts")],
  ["odd nodes", () => import("./settle/faults/odd-node.test.ts")],
  ["reorganizations", () => import("./settle/faults/reorg.long.test.ts")],
  ["transactions", () => import("./settle/faults/transaction.long.test.ts")],
  ["wallets", () => import("./settle/faults/wallet.long.test.ts")],
];
