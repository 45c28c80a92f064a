import { hexToBytes } from "../../chain/hex.ts";
import { openDb } from "../../db/client.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { retryOnConflict } from "../../http/retry-on-conflict.ts";
import { createQueuedState, upsertTasks } from "../../wallets/queue/store.ts";
import type { WalletTask } from "../../wallets/queue/tables.ts";
import { wakeWallet } from "../../wallets/queue/wake-wallet.ts";
import type { SignatureRequest } from "./schemas.ts";
import {
  type AdminSignature,
  countGivenSignatures,
  readSignature,
  readWitnessSet,
} from "./settlement-message.ts";
import { type ProposalChange, requireProposal, toDisputeTask, updateProposal } from "./store.ts";
import { OPEN_PROPOSAL_STATES, type ProposalRow } from "./tables.ts";

/**
 * Takes an administrator's signature of a proposal: whoever hands it in, it is the proof. With enough of
 * them, the wallet settles the dispute as soon as the contract allows it.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 404, 409
 */
export async function addSignature(
  c: AppContext,
  { network, proposalId, ...cose }: SignatureRequest,
  now: number,
): Promise<ProposalRow> {
  const database = openDb(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  return retryOnConflict(
    async () => {
      const row = await requireProposal(database, { network, proposalId });
      const given = computeSignatureChange(row, cose, now);
      if (given === null) return row;
      const { vkeys, isEnough, change, task } = given;
      const audited = { action: "dispute.sign", target: row.id, detail: { vkeys }, now } as const;
      await commitWithAudit(c, database, audited, [
        updateProposal(database, row, change, now),
        ...upsertTasks(task ? [task] : []),
      ]);
      if (isEnough) await wakeWallet(c.env, network, row.walletVkey, c.var.requestId);
      return { ...row, ...change, task: task ?? row.task, updatedAt: now };
    },
    "dispute_proposal.revision",
    "proposalId: the proposal",
  );
}

/**
 * What signatures change of a proposal.
 *
 * @param now - epoch milliseconds
 * @returns null when it has them already
 * @throws ApiError 400, 409
 */
export function computeSignatureChange(
  row: ProposalRow,
  handed: Pick<SignatureRequest, "signature" | "key">,
  now: number,
): {
  vkeys: string[];
  isEnough: boolean;
  change: ProposalChange;
  /** The task that it opens; null: none. */
  task: WalletTask | null;
} | null {
  const { administrators, signatures } = row;
  const read = readSignatures(row, handed);
  const added = read.filter(({ vkey }) => !signatures.some((one) => one.vkey === vkey));
  if (added.length === 0) return null;
  if (!OPEN_PROPOSAL_STATES.includes(row.state))
    throw new ApiError("wrong_state", `proposalId: the proposal is ${row.state}`);
  const all = [...signatures, ...added];
  const isEnough = countGivenSignatures(administrators, all) >= row.required;
  const change = {
    signatures: all,
    // What is signed already is settled with the signatures that it has.
    ...(isEnough && { state: "SettleRequested" as const }),
  };
  const opens = isEnough && row.state !== "SettleRequested";
  const task = opens
    ? toDisputeTask(row, createQueuedState(Math.max(now, row.opensAt)), now)
    : null;
  return { vkeys: added.map(({ vkey }) => vkey), isEnough, change, task };
}

/**
 * The administrators' signatures in what was handed in.
 *
 * @throws ApiError 400
 */
function readSignatures(
  { message, prepared, administrators }: ProposalRow,
  { signature, key }: Pick<SignatureRequest, "signature" | "key">,
): AdminSignature[] {
  if (prepared !== null) {
    const read = readWitnessSet(message, administrators, signature);
    if ("problem" in read) throw new ApiError(400, `signature: ${read.problem}`);
    return read;
  }
  if (key === undefined) throw new ApiError(400, "key: is required for Web3ChainV2");
  const read = readSignature(hexToBytes(message), { signature, key });
  if ("problem" in read) throw new ApiError(400, `signature: ${read.problem}`);
  if (!administrators.includes(read.vkey))
    throw new ApiError(
      400,
      `signature: the signer ${read.vkey} is no administrator of the contract`,
    );
  return [read];
}
