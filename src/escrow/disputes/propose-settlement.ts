import type { ArchiveEnv } from "../../archive/open-archives.ts";
import type { Network } from "../../chain/network.ts";
import { type Database, openDb, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { findActiveSource } from "../../sources/find-source.ts";
import { listActiveWallets } from "../../wallets/managed/find-wallet.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import { loadByIdentifier } from "../store/load-by-identifier.ts";
import { buildProposal, type DisputedEscrow, type ProposalContext } from "./build-proposal.ts";
import type { ProposalRequest } from "./schemas.ts";
import type { ProposalRow } from "./tables.ts";

/**
 * Proposes how a dispute is settled. It replaces the escrow's earlier proposal, unless that is on its way:
 * an escrow's output is paid out once.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 403, 404, 409, 503; ProviderError
 */
export async function proposeSettlement(
  c: AppContext,
  asked: ProposalRequest,
  now: number,
): Promise<ProposalRow> {
  const { network, blockchainIdentifier } = asked;
  const { caller, deadline } = c.var;
  const database = openDb(c.env, network, { writes: "idempotent", deadline });
  const core = openDb(c.env, undefined, { deadline });
  const disputed = await loadDisputedEscrow(c, database, network, blockchainIdentifier);
  const source = await findActiveSource(core, disputed.records[0].sourceId);
  if (!source) throw new ApiError(404, "blockchainIdentifier: the payment source was removed");
  const place: Omit<ProposalContext, "wallets"> = {
    ...{ id: newId(now), database, source, createdById: caller.id },
    async prepare(settlement) {
      const { prepareSettlement } = await import("./prepare-settlement.ts");
      return prepareSettlement(c, settlement, now);
    },
  };
  for (let attempt = 1; ; attempt++) {
    const wallets = await listActiveWallets(core, [source.id]);
    const { row, statements } = await buildProposal({ ...place, wallets }, disputed, asked, now);
    const detail = { ...row.split, utxo: disputed.output.utxo };
    try {
      await commitWithAudit(
        c,
        database,
        { action: "dispute.propose", target: row.id, detail, now },
        statements,
      );
      return row;
    } catch (error) {
      const isOther = CONFLICT_COLUMNS.some((column) => violates(error, column));
      if (!isOther) throw error;
      // A wallet that is at work moves on while the transaction is built.
      if (violates(error, "hot_wallet.version") && attempt < MAX_ATTEMPTS) continue;
      throw new ApiError(
        "changed_concurrently",
        "blockchainIdentifier: another proposal came first, or the wallet is busy. Try again.",
      );
    }
  }
}

const MAX_ATTEMPTS = 5;
const CONFLICT_COLUMNS = [
  "dispute_proposal.revision",
  "dispute_proposal.source_id",
  "hot_wallet.version",
] as const;

/**
 * The disputed escrow of an identifier: of several the one that is meant.
 *
 * @throws ApiError 404, 409
 */
export async function loadDisputedEscrow(
  { env, var: { deadline } }: { env: ArchiveEnv; var: { deadline: number } },
  database: Database,
  network: Network,
  blockchainIdentifier: string,
): Promise<DisputedEscrow> {
  const found = await loadByIdentifier(env, database, { network, blockchainIdentifier }, deadline);
  const all = found.map((one) => one.record);
  const disputed = all.filter(({ state }) => state.onChainState === "Disputed");
  const records = disputed.filter(({ sourceId }) => sourceId === disputed[0]?.sourceId);
  const [record, ...others] = records;
  const output = records.find((one) => one.output !== null)?.output;
  if (!record || !output) throw createNotDisputedError(all[0]);
  return { records: [record, ...others], output };
}

function createNotDisputedError(record: EscrowRecord | undefined): ApiError {
  if (!record) return new ApiError(404, "blockchainIdentifier: there is no such escrow");
  const { onChainState } = record.state;
  const why =
    onChainState === "Disputed"
      ? "the escrow's output is not known yet after a rollback. Try again later."
      : `the escrow is ${onChainState ?? "not locked"}, not Disputed`;
  return new ApiError("wrong_state", `blockchainIdentifier: ${why}`);
}
