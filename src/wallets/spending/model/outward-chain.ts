/**
 * The outward line of a wallet. Payments spend no output that would exclude a second payment. So each
 * payment also spends the output with which the previous one continued the line. Their transactions form a
 * tree: those that spend the same output exclude each other. The network takes one path of the tree.
 *
 * Invariant: no path contains a task twice. Hence no task lands twice, whatever nodes, crashes and
 * rollbacks do.
 */
import { isActive, isOpen } from "../../model/phases.ts";
import { toTaskKey, type WalletTransaction } from "../../model/wallet-transaction.ts";

/** A transaction as the line sees it; one that is not of the line has no `lineIn`. */
export type OutwardTransaction = Pick<WalletTransaction, "phase" | "lineIn" | "lineOut" | "tasks">;

/** Where the next transaction of the line stands, or what it has to wait for. */
export type OutwardPosition =
  | { output: string }
  /** A task is on its way already. */
  | { waitsFor: "itself" }
  /** A former transaction of a task stands on another tree, and may still land. */
  | { waitsFor: "former" };

/** The end of the living path from the root: the output that continues the line. */
export function findChainHead(root: string, transactions: readonly OutwardTransaction[]): string {
  return listPath(root, transactions).at(-1)?.lineOut ?? root;
}

/**
 * Finds the position on the line for a transaction of these tasks (keys). Every ended transaction conflicts
 * with the living path, or lies beyond its head. So within one tree, the path contains no earlier
 * transaction of the tasks.
 *
 * @param root - the line's output that its last final transaction made.
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
  const isOutsideTree = (one: OutwardTransaction) => one.lineIn !== null && !tree.has(one);
  if (mine.some((former) => isOpen(former.phase) && isOutsideTree(former)))
    return { waitsFor: "former" };
  return { output: findChainHead(root, transactions) };
}

/** The root once some of the line's transactions are final: their last one's output. */
export function advanceChainRoot(
  root: string,
  transactions: readonly OutwardTransaction[],
): string {
  const final = transactions.filter(({ phase }) => phase === "Final");
  const next = final.find(({ lineIn }) => lineIn === root)?.lineOut;
  return next == null ? root : advanceChainRoot(next, final);
}

/** Whether the line may begin anew from another output. */
export function mayMoveChainRoot(transactions: readonly OutwardTransaction[]): boolean {
  return transactions.every(({ lineIn, phase }) => lineIn === null || !isOpen(phase));
}

/** Those of the line that live, the oldest first. At most one of those that spend an output lives. */
function listPath(root: string, transactions: readonly OutwardTransaction[]): OutwardTransaction[] {
  const living = new Map(
    transactions.flatMap((one) =>
      one.lineIn !== null && isActive(one.phase) ? [[one.lineIn, one] as const] : [],
    ),
  );
  const path: OutwardTransaction[] = [];
  for (let next = living.get(root); next; next = living.get(next.lineOut ?? "")) path.push(next);
  return path;
}

/** All that stands on the root, whatever became of it. */
function collectTree(
  root: string,
  transactions: readonly OutwardTransaction[],
): ReadonlySet<OutwardTransaction> {
  const standing = Map.groupBy(transactions, ({ lineIn }) => lineIn);
  const tree = new Set<OutwardTransaction>();
  const outputs = [root];
  for (let output = outputs.pop(); output !== undefined; output = outputs.pop())
    for (const one of standing.get(output) ?? []) {
      tree.add(one);
      if (one.lineOut !== null) outputs.push(one.lineOut);
    }
  return tree;
}
