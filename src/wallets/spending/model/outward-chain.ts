/**
 * The outward chain of a wallet. Payments spend no output that would exclude a second payment. So each
 * payment also spends the change of the previous one. Their transactions form a tree: those that spend the
 * same output exclude each other. The network takes one path of the tree.
 *
 * Invariant: no path contains a task twice. Hence no task lands twice, whatever nodes, crashes and
 * rollbacks do.
 */
import { isActive, isOpen } from "../../model/phases.ts";
import { toTaskKey, type WalletTransaction } from "../../model/wallet-transaction.ts";

/** What the chain needs of a transaction; one outside the chain has no `chainedInput`. */
export type OutwardTransaction = Pick<
  WalletTransaction,
  "phase" | "chainedInput" | "changeOutput" | "tasks"
>;

/** The output that the next transaction of the chain spends, or what it has to wait for. */
export type OutwardPosition =
  | { output: string }
  /** A task is on its way already. */
  | { waitsFor: "itself" }
  /** A former transaction of a task stands on another tree, and may still land. */
  | { waitsFor: "former" };

/** The end of the living path from the root: the output that continues the chain. */
export function findChainHead(root: string, transactions: readonly OutwardTransaction[]): string {
  return listPath(root, transactions).at(-1)?.changeOutput ?? root;
}

/**
 * Finds the position in the chain for a transaction of these tasks (keys). Every ended transaction conflicts
 * with the living path, or lies beyond its head. So within one tree, the path contains no earlier
 * transaction of the tasks.
 *
 * @param root - the output with which the chain's last final transaction continued it.
 * @param transactions - all transactions that are not final.
 */
export function findOutwardPosition(
  tasks: readonly string[],
  root: string,
  transactions: readonly OutwardTransaction[],
): OutwardPosition {
  const mine = transactions.filter(({ tasks: theirs }) =>
    theirs.some((one) => tasks.includes(toTaskKey(one))),
  );
  if (mine.some(({ phase }) => isActive(phase))) return { waitsFor: "itself" };
  const tree = collectTree(root, transactions);
  const isOutsideTree = (one: OutwardTransaction) => one.chainedInput !== null && !tree.has(one);
  if (mine.some((former) => isOpen(former.phase) && isOutsideTree(former)))
    return { waitsFor: "former" };
  return { output: findChainHead(root, transactions) };
}

/** The root once some transactions of the chain are final: the change of the last one. */
export function advanceChainRoot(
  root: string,
  transactions: readonly OutwardTransaction[],
): string {
  const final = transactions.filter(({ phase }) => phase === "Final");
  const next = final.find(({ chainedInput }) => chainedInput === root)?.changeOutput;
  return next == null ? root : advanceChainRoot(next, final);
}

/** Whether the chain may begin anew from another output. */
export function mayMoveChainRoot(transactions: readonly OutwardTransaction[]): boolean {
  return transactions.every(({ chainedInput, phase }) => chainedInput === null || !isOpen(phase));
}

/** The living transactions of the chain, oldest first. Of those that spend one output, at most one lives. */
function listPath(root: string, transactions: readonly OutwardTransaction[]): OutwardTransaction[] {
  const living = new Map(
    transactions.flatMap((one) =>
      one.chainedInput !== null && isActive(one.phase) ? [[one.chainedInput, one] as const] : [],
    ),
  );
  const path: OutwardTransaction[] = [];
  for (let next = living.get(root); next; next = living.get(next.changeOutput ?? ""))
    path.push(next);
  return path;
}

/** All that stands on the root, whatever became of it. */
function collectTree(
  root: string,
  transactions: readonly OutwardTransaction[],
): ReadonlySet<OutwardTransaction> {
  const standing = Map.groupBy(transactions, ({ chainedInput }) => chainedInput);
  const tree = new Set<OutwardTransaction>();
  const outputs = [root];
  for (let output = outputs.pop(); output !== undefined; output = outputs.pop())
    for (const one of standing.get(output) ?? []) {
      tree.add(one);
      if (one.changeOutput !== null) outputs.push(one.changeOutput);
    }
  return tree;
}
