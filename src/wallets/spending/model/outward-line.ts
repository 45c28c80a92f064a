/**
 * The outward line of a wallet. Payments spend no output that would exclude a second payment. So each
 * payment also spends the output with which the previous one continued the line. Their transactions form a
 * tree: those that spend the same output exclude each other. The network takes one path of the tree.
 *
 * Invariant: no path contains a task twice. Hence no task lands twice, whatever nodes, crashes and
 * rollbacks do.
 */
import { isLiving, isOpen } from "../../model/phases.ts";
import { taskKey, type WalletTransaction } from "../../model/wallet-transaction.ts";

/** A transaction as the line sees it; one that is not of the line has no `lineIn`. */
export type LineTransaction = Pick<WalletTransaction, "phase" | "lineIn" | "lineOut" | "tasks">;

/** Where the next transaction of the line stands, or what it has to wait for. */
export type LinePosition =
  | { output: string }
  /** A task is on its way already. */
  | { waitsFor: "itself" }
  /** A former transaction of a task stands on another tree, and may still land. */
  | { waitsFor: "former" };

/** The end of the living path from the root: the output that continues the line. */
export function findHead(root: string, transactions: readonly LineTransaction[]): string {
  return pathFrom(root, transactions).at(-1)?.lineOut ?? root;
}

/**
 * Finds the position on the line for a transaction of these tasks (keys). Every ended transaction conflicts
 * with the living path, or lies beyond its head. So within one tree, the path contains no earlier
 * transaction of the tasks.
 *
 * @param root - the line's output that its last final transaction made.
 * @param transactions - all transactions that are not final.
 */
export function findPosition(
  tasks: readonly string[],
  root: string,
  transactions: readonly LineTransaction[],
): LinePosition {
  const mine = transactions.filter(({ tasks: theirs }) =>
    theirs.some((one) => tasks.includes(taskKey(one))),
  );
  if (mine.some(({ phase }) => isLiving(phase))) return { waitsFor: "itself" };
  const tree = treeFrom(root, transactions);
  const isElsewhere = (one: LineTransaction) => one.lineIn !== null && !tree.has(one);
  if (mine.some((former) => isOpen(former.phase) && isElsewhere(former)))
    return { waitsFor: "former" };
  return { output: findHead(root, transactions) };
}

/** The root once some of the line's transactions are final: their last one's output. */
export function advanceRoot(root: string, transactions: readonly LineTransaction[]): string {
  const final = transactions.filter(({ phase }) => phase === "Final");
  const next = final.find(({ lineIn }) => lineIn === root)?.lineOut;
  return next == null ? root : advanceRoot(next, final);
}

/** Whether the line may begin anew from another output. */
export function mayMoveRoot(transactions: readonly LineTransaction[]): boolean {
  return transactions.every(({ lineIn, phase }) => lineIn === null || !isOpen(phase));
}

/** Those of the line that live, the oldest first. At most one of those that spend an output lives. */
function pathFrom(root: string, transactions: readonly LineTransaction[]): LineTransaction[] {
  const living = new Map(
    transactions.flatMap((one) =>
      one.lineIn !== null && isLiving(one.phase) ? [[one.lineIn, one] as const] : [],
    ),
  );
  const path: LineTransaction[] = [];
  for (let next = living.get(root); next; next = living.get(next.lineOut ?? "")) path.push(next);
  return path;
}

/** All that stands on the root, whatever became of it. */
function treeFrom(
  root: string,
  transactions: readonly LineTransaction[],
): ReadonlySet<LineTransaction> {
  const standing = Map.groupBy(transactions, ({ lineIn }) => lineIn);
  const tree = new Set<LineTransaction>();
  const outputs = [root];
  for (let output = outputs.pop(); output !== undefined; output = outputs.pop())
    for (const one of standing.get(output) ?? []) {
      tree.add(one);
      if (one.lineOut !== null) outputs.push(one.lineOut);
    }
  return tree;
}
