import { hexToBytes } from "../../chain/hex.ts";
import type { Network } from "../../chain/network.ts";
import { db, violates } from "../../db/client.ts";
import { commitAudited } from "../../http/audit.ts";
import { permitNetwork } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { wakeWallet } from "../../wallets/wake.ts";
import { type AdminSignature, readSignature } from "./message.ts";
import { readProposals, updateProposal } from "./store.ts";
import type { ProposalRow } from "./tables.ts";

export interface SignatureGiven {
  network: Network;
  proposalId: string;
  /** COSE_Sign1 and COSE_Key, hex. */
  signature: string;
  key: string;
}

/** How many of a proposal's required signatures were given: who has several places counts as often. */
export function agreeingOf(administrators: readonly string[], signed: readonly AdminSignature[]) {
  return administrators.filter((vkey) => signed.some((one) => one.vkey === vkey)).length;
}

const ATTEMPTS = 3;

/**
 * Takes an administrator's signature of a proposal: whoever hands it in, it is the proof. With enough of
 * them, the wallet settles the dispute as soon as the contract allows it.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 404, 409
 */
export async function takeSignature(
  c: AppContext,
  { network, proposalId, ...cose }: SignatureGiven,
  now: number,
): Promise<ProposalRow> {
  permitNetwork(c.var.caller, network);
  const ledger = db(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  for (let attempt = 1; ; attempt++) {
    const [row] = await readProposals(ledger, [proposalId]);
    if (!row || row.network !== network)
      throw new ApiError(404, "proposalId: there is no such proposal");
    const administrators = JSON.parse(row.administrators) as string[];
    const read = readSignature(hexToBytes(row.message), cose);
    if ("problem" in read) throw new ApiError(400, `signature: ${read.problem}`);
    if (!administrators.includes(read.vkey))
      throw new ApiError(400, `signature: is of ${read.vkey}, who is no administrator`);
    const signed = JSON.parse(row.signatures) as AdminSignature[];
    if (signed.some(({ vkey }) => vkey === read.vkey)) return row;
    if (row.state !== "Collecting" && row.state !== "SettleRequested")
      throw new ApiError("wrong_state", `proposalId: the proposal is ${row.state}`);
    const all = [...signed, read];
    const isEnough = agreeingOf(administrators, all) >= row.required;
    const change = {
      signatures: JSON.stringify(all),
      // What is signed already is settled with the signatures that it has.
      ...(isEnough && {
        state: "SettleRequested" as const,
        dueAt: row.dueAt ?? Math.max(now, row.opensAt),
      }),
    };
    try {
      await commitAudited(
        c,
        ledger,
        { action: "dispute.sign", target: row.id, detail: { vkey: read.vkey }, now },
        [updateProposal(ledger, row, change, now)],
      );
    } catch (error) {
      if (!violates(error, "dispute_proposal.rev")) throw error;
      if (attempt < ATTEMPTS) continue;
      throw new ApiError("changed_concurrently", "proposalId: the proposal was changed meanwhile");
    }
    if (isEnough) await wakeWallet(c.env, network, row.walletVkey, c.var.requestId);
    return { ...row, ...change, updatedAt: now };
  }
}
