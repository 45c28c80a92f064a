/** How far the copies of an archive have come, as the archive and the database know. */
import { type Statement, statement } from "../db/client.ts";

/** The last copy of a kind and a network, or `Core`. */
export interface LastCopy {
  kind: string;
  network: string;
  /** Number of the copy. */
  operation: number;
}

/** Selects the last copies that an archive has. */
export function selectLastCopies(): Statement {
  return statement("SELECT kind, network, operation FROM archive_operation");
}

/** Number of the last copy; 0: none. */
export function findOperation(
  copies: readonly LastCopy[],
  { kind, network }: Omit<LastCopy, "operation">,
): number {
  return copies.find((one) => one.kind === kind && one.network === network)?.operation ?? 0;
}

/** Whether an archive lacks copies that the database moved there: the archive was set back. */
export function isBehind(moves: readonly LastCopy[], copies: readonly LastCopy[]): boolean {
  return moves.some((one) => findOperation(copies, one) < one.operation);
}
