import { ProviderError } from "../../../chain/provider/provider.ts";
import type { Task, TaskFailure, TransactionPart } from "../../queue/feature.ts";
import { isTransientError } from "../../queue/isolate-failures.ts";

/** A task and what it puts into a transaction. */
export interface TransactionMember {
  task: Task;
  part: TransactionPart;
}

/** It is known which of some members have no place in a transaction. */
export class BadMembersError extends Error {
  override name = "BadMembersError";
  readonly members: readonly TransactionMember[];

  constructor(members: readonly TransactionMember[], cause: unknown) {
    super("some members have no place in the transaction", { cause });
    this.members = members;
  }
}

/**
 * Builds something of as many members as it can be built of. Those that are known to be bad leave, and
 * the others go on; when it is not known which are, the first half is tried. One that is bad alone has
 * failed: the others of its half are tried without it another time.
 *
 * @throws transient errors
 */
export async function excludeBadMembers<Built>(
  members: readonly TransactionMember[],
  build: (members: readonly TransactionMember[]) => Promise<Built>,
): Promise<{ built: Built | null; failures: TaskFailure[] }> {
  const failures: TaskFailure[] = [];
  let left = members;
  while (left.length > 0) {
    try {
      return { built: await build(left), failures };
    } catch (error) {
      const bad = error instanceof BadMembersError ? error.members : [];
      const cause = error instanceof BadMembersError ? error.cause : error;
      if (bad.length === 0 && isTransientError(cause)) throw cause;
      const leaving = bad.length > 0 || left.length > 1 ? bad : left;
      failures.push(...leaving.map(({ task }) => ({ task, error: cause })));
      left =
        leaving.length > 0
          ? left.filter((one) => !leaving.includes(one))
          : left.slice(0, Math.ceil(left.length / 2));
    }
  }
  return { built: null, failures };
}

/**
 * Makes a provider's permanent error transient. The error came before any call for a task, such as
 * an expired key or a firewall, so the tasks wait.
 */
export function toTransientError(error: unknown): unknown {
  if (!(error instanceof ProviderError) || !error.permanent) return error;
  const { message, status, cause } = error;
  return new ProviderError(message, { ...(status !== null && { status }), cause });
}
