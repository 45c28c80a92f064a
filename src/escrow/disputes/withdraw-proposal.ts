import { openDb, violates } from "../../db/client.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { createConflictError } from "../../http/retry-on-conflict.ts";
import { deleteTasks } from "../../wallets/queue/store.ts";
import type { WithdrawalRequest } from "./schemas.ts";
import { requireProposal, updateProposal } from "./store.ts";
import { DISPUTE_FEATURE, OPEN_PROPOSAL_STATES, type ProposalRow } from "./tables.ts";

/**
 * Takes a proposal back that is not on its way.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403, 404, 409
 */
export async function withdrawProposal(
  c: AppContext,
  named: WithdrawalRequest,
  now: number,
): Promise<ProposalRow> {
  const database = openDb(c.env, named.network, { writes: "idempotent", deadline: c.var.deadline });
  const row = await requireProposal(database, named);
  const change = computeWithdrawalChange(row);
  if (change === null) return row;
  try {
    await commitWithAudit(c, database, { action: "dispute.withdraw", target: row.id, now }, [
      updateProposal(database, row, change, now),
      ...deleteTasks(DISPUTE_FEATURE, [row.id]),
    ]);
  } catch (error) {
    if (!violates(error, "dispute_proposal.revision")) throw error;
    throw createConflictError("proposalId: the proposal");
  }
  return { ...row, ...change, task: null, updatedAt: now };
}

/**
 * What a row becomes that is taken back; null: it was already.
 *
 * @throws ApiError 409: its settlement is on its way, or it has ended
 */
export function computeWithdrawalChange({ state }: Pick<ProposalRow, "state">) {
  if (state === "Withdrawn") return null;
  if (!OPEN_PROPOSAL_STATES.includes(state))
    throw new ApiError("wrong_state", `proposalId: the proposal is ${state}`);
  return { state: "Withdrawn", error: null } as const;
}
