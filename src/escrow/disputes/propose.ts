import { parseAddress } from "../../chain/address.ts";
import { bytesToHex } from "../../chain/hex.ts";
import type { Network } from "../../chain/network.ts";
import { sumOf } from "../../chain/transaction/value.ts";
import { type Database, db, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { commitAudited } from "../../http/audit.ts";
import { permitNetwork } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { activeSource } from "../../sources/active.ts";
import { drivesOf } from "../../sources/drives.ts";
import type { SourceRow } from "../../sources/record.ts";
import { walletsOf } from "../../wallets/managed/find.ts";
import { fundsOf, hashOf } from "../fold/escrow-outputs.ts";
import type { EscrowRecord, LiveOutput, StoredFunds } from "../record.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../row.ts";
import { settlementMessage } from "./message.ts";
import { proposalsOf, updateProposal } from "./store.ts";
import { disputeProposal, type ProposalRow } from "./tables.ts";

export interface ProposalAsked {
  network: Network;
  blockchainIdentifier: string;
  BuyerFunds: StoredFunds[];
  SellerFunds: StoredFunds[];
}

/**
 * Proposes how a dispute is settled. It replaces the escrow's earlier proposal, unless that is on its way:
 * an escrow's output is paid out once.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 404, 409
 */
export async function propose(
  c: AppContext,
  asked: ProposalAsked,
  now: number,
): Promise<ProposalRow> {
  const { network, blockchainIdentifier } = asked;
  const { caller, deadline } = c.var;
  permitNetwork(caller, network);
  const ledger = db(c.env, network, { writes: "idempotent", deadline });
  const core = db(c.env, undefined, { deadline });
  const records = await disputedRecords(ledger, network, blockchainIdentifier);
  const [record] = records;
  const output = records.find((one) => one.output !== null)?.output;
  if (!record || !output) throw await notDisputed(ledger, network, blockchainIdentifier);
  const source = await activeSource(core, record.sourceId);
  if (!source) throw new ApiError(404, "blockchainIdentifier: its payment source was removed");
  const { administrators, required } = administratorsOf(source);
  requireWhole(asked, output);
  const split = { buyer: paying(asked.BuyerFunds), seller: paying(asked.SellerFunds) };
  const [txHash = "", index] = output.utxo.split("#");
  const row: ProposalRow = {
    id: newId(now),
    network,
    sourceId: source.id,
    identifierHash: record.identifierHash,
    output: JSON.stringify(output),
    walletVkey: await payerOf(core, source, records),
    split: JSON.stringify(split),
    message: bytesToHex(settlementMessage({ txHash, index: Number(index) }, split)),
    administrators: JSON.stringify(administrators),
    required,
    signatures: "[]",
    opensAt: Number(record.terms.externalDisputeUnlockTime),
    state: "Collecting",
    ...{ txHash: null, error: null, failures: 0, dueAt: null },
    createdById: caller.id,
    createdAt: now,
    updatedAt: now,
    rev: 0,
  };
  const former = (await proposalsOf(ledger, [record.identifierHash])).filter(
    (one) => one.sourceId === source.id && utxoOf(one) === output.utxo,
  );
  if (former.some(({ state }) => state === "SettleInitiated" || state === "Settled"))
    throw new ApiError("wrong_state", "blockchainIdentifier: the dispute is being settled already");
  try {
    await commitAudited(
      c,
      ledger,
      { action: "dispute.propose", target: row.id, detail: { ...split, utxo: output.utxo }, now },
      [
        ...former.map((one) =>
          updateProposal(ledger, one, { state: "Replaced", dueAt: null }, now),
        ),
        ledger.orm.insert(disputeProposal).values(row).toSQL(),
      ],
    );
  } catch (error) {
    if (!violates(error, "dispute_proposal.rev") && !violates(error, "dispute_proposal.source_id"))
      throw error;
    throw new ApiError(
      "changed_concurrently",
      "blockchainIdentifier: another proposal was made meanwhile",
    );
  }
  return row;
}

const utxoOf = ({ output }: ProposalRow) => (JSON.parse(output) as LiveOutput).utxo;

/** Both sides' records of a disputed escrow, as far as they are ours. */
async function disputedRecords(
  ledger: Database,
  network: Network,
  blockchainIdentifier: string,
): Promise<EscrowRecord[]> {
  const rows = await ledger.all<EscrowRow>(
    `SELECT ${ESCROW_COLUMNS} FROM escrow
     WHERE identifier_hash = ?1 AND network = ?2 AND on_chain_state = 'Disputed'
     ORDER BY terms->>'isRequested' IS NULL, side, id`,
    hashOf(blockchainIdentifier),
    network,
  );
  const records = rows.map(recordOfRow);
  return records.filter(({ sourceId }) => sourceId === records[0]?.sourceId);
}

async function notDisputed(
  ledger: Database,
  network: Network,
  blockchainIdentifier: string,
): Promise<ApiError> {
  const [found] = await ledger.all<{ state: string | null }>(
    "SELECT on_chain_state AS state FROM escrow WHERE identifier_hash = ? AND network = ? LIMIT 1",
    hashOf(blockchainIdentifier),
    network,
  );
  if (!found) return new ApiError(404, "blockchainIdentifier: there is no such escrow");
  const why =
    found.state === "Disputed"
      ? "its output is not known again yet after a rollback"
      : `it is ${found.state ?? "not locked"}, not Disputed`;
  return new ApiError("wrong_state", `blockchainIdentifier: nothing can be settled: ${why}`);
}

/** The contract's administrators, as often as each counts. @throws ApiError 409 */
function administratorsOf(source: SourceRow): { administrators: string[]; required: number } {
  if (source.type !== "Web3ChainV2")
    throw new ApiError(
      "wrong_state",
      "blockchainIdentifier: administrators settle a dispute of Web3ChainV1 by signing a transaction of their own, which this service does not make",
    );
  const required = source.requiredAdminSignatures;
  const wallets = JSON.parse(source.adminWallets) as { walletAddress: string }[];
  const administrators = wallets.flatMap(
    ({ walletAddress }) => parseAddress(walletAddress)?.payment.hash ?? [],
  );
  if (required === null || administrators.length < required)
    throw new ApiError(
      "wrong_state",
      "blockchainIdentifier: its payment source does not say who the contract's administrators are, or how many have to agree",
    );
  return { administrators, required };
}

/** @throws ApiError 400 when the parts are not all that is locked, unit by unit */
function requireWhole({ BuyerFunds, SellerFunds }: ProposalAsked, { value }: LiveOutput): void {
  const held = sumOf(value.map(fundsOf));
  const given = sumOf([...BuyerFunds, ...SellerFunds].map(fundsOf));
  for (const unit of new Set([...held.keys(), ...given.keys()])) {
    const [has, gets] = [held.get(unit) ?? 0n, given.get(unit) ?? 0n];
    if (has !== gets)
      throw new ApiError(
        400,
        `BuyerFunds: must with SellerFunds sum to all that is locked: ${has} of the unit "${unit}", not ${gets}`,
      );
  }
}

/** One entry for each unit that is not nothing. */
function paying(funds: StoredFunds[]): StoredFunds[] {
  return [...sumOf(funds.map(fundsOf))]
    .filter(([, amount]) => amount > 0n)
    .map(([unit, amount]) => ({ unit, amount: String(amount) }));
}

/** The wallet that pays the network: one of the escrow's, or any of its payment source. @throws ApiError 409 */
async function payerOf(
  core: Database,
  source: SourceRow,
  records: readonly EscrowRecord[],
): Promise<string> {
  const wallets = await walletsOf(core, [source.id]);
  const driven = wallets.filter((wallet) => drivesOf(source, wallet) !== "nothing");
  const own = driven.find(({ vkey }) => records.some(({ wallet }) => wallet?.vkey === vkey));
  const payer = own ?? driven[0];
  if (!payer)
    throw new ApiError(
      "wrong_state",
      "blockchainIdentifier: its payment source has no wallet that may be driven, to pay the network",
    );
  return payer.vkey;
}
