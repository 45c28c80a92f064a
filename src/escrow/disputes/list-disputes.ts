import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { Caller } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { type EscrowRecord, findLock } from "../model/escrow-record.ts";
import { readRecords } from "../store/load-records.ts";
import { countGivenSignatures } from "./settlement-message.ts";
import { listProposals } from "./store.ts";
import type { ProposalRow } from "./tables.ts";

interface DisputeQuery {
  network: Network;
  limit: number;
  cursorId?: string | undefined;
}

/** Disputed records, newest first: of a key its own, of an Admin's all. */
export async function listDisputes(database: Database, caller: Caller, query: DisputeQuery) {
  const records = await readRecords(
    database,
    `WHERE side IN ('payment', 'purchase') AND network = ?1 AND on_chain_state = 'Disputed'
       AND (?2 IS NULL OR id < ?2) AND (?3 IS NULL OR requested_by_id = ?3)
       AND (?4 IS NULL OR wallet_id IN (SELECT value FROM json_each(?4)))
     ORDER BY id DESC LIMIT ${query.limit}`,
    query.network,
    query.cursorId ?? null,
    caller.permission === "Admin" ? null : caller.id,
    caller.permission === "Admin" || !caller.scope?.walletIds
      ? null
      : JSON.stringify(caller.scope.walletIds),
  );
  const proposals = await listProposals(
    database,
    records.map(({ identifierHash }) => identifierHash),
  );
  return records.map((record) => {
    const isSameEscrow = ({ identifierHash, sourceId }: ProposalRow) =>
      identifierHash === record.identifierHash && sourceId === record.sourceId;
    const proposal = proposals.find(
      (one) => isSameEscrow(one) && one.output.utxo === record.state.utxo,
    );
    return toDisputeResponse(record, proposal);
  });
}

function toDisputeResponse(record: EscrowRecord, proposal: ProposalRow | undefined) {
  const { terms, state, output } = record;
  const lock = findLock(record);
  return {
    id: record.id,
    kind: record.side === "payment" ? ("Payment" as const) : ("Purchase" as const),
    network: record.network,
    paymentSourceId: record.sourceId,
    paymentSourceType: record.sourceType,
    blockchainIdentifier: record.blockchainIdentifier,
    agentIdentifier: terms.agentIdentifier,
    agentName: terms.agentName ?? null,
    sellerAddress: lock?.sellerReturnAddress ?? terms.seller,
    buyerAddress: lock?.buyerReturnAddress ?? lock?.buyer ?? null,
    resultHash: state.resultHash,
    settleFrom: terms.externalDisputeUnlockTime,
    Funds: (output?.value ?? terms.funds).map(({ unit, amount }) => ({ unit, amount })),
    Proposal: proposal ? toProposalResponse(proposal) : null,
  };
}

/** A proposal as answers show it. */
export function toProposalResponse(row: ProposalRow) {
  const { split, administrators, signatures } = row;
  return {
    id: row.id,
    createdAt: toIsoTime(row.createdAt),
    updatedAt: toIsoTime(Math.max(row.updatedAt, row.task?.updatedAt ?? 0)),
    state: row.state,
    message: row.message,
    // Only while there is something to sign: with its script the transaction is long.
    unsignedTxCbor: row.state === "Collecting" ? (row.prepared?.unsigned ?? null) : null,
    expiresAt: row.expiresAt === null ? null : String(row.expiresAt),
    BuyerFunds: [...split.buyer],
    SellerFunds: [...split.seller],
    Administrators: [...administrators],
    SignedBy: signatures.map(({ vkey }) => vkey),
    requiredSignatures: row.required,
    missingSignatures: Math.max(row.required - countGivenSignatures(administrators, signatures), 0),
    settleFrom: String(row.opensAt),
    txHash: row.txHash,
    error: row.error ?? row.task?.reason ?? null,
  };
}
