import { bytesToHex } from "../../chain/hex.ts";
import type { Network } from "../../chain/network.ts";
import { sumOf } from "../../chain/transaction/value.ts";
import { type Database, db, type Statement, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { commitAudited } from "../../http/audit.ts";
import { permitNetwork } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { activeSource } from "../../sources/active.ts";
import { drivesOf } from "../../sources/drives.ts";
import type { SourceRow } from "../../sources/record.ts";
import { walletsOf } from "../../wallets/managed/find.ts";
import type { WalletRow } from "../../wallets/managed/tables.ts";
import { touchWallet } from "../../wallets/spending/stored/wallet.ts";
import { fundsOf, hashOf } from "../fold/escrow-outputs.ts";
import type { EscrowRecord, LiveOutput, StoredFunds } from "../record.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../row.ts";
import { administratorKeys, firstSigners } from "./administrators.ts";
import { type Split, settlementMessage } from "./message.ts";
import { proposalsOf, updateProposal } from "./store.ts";
import {
  disputeProposal,
  type PreparedSettlement,
  type ProposalRow,
  WAITING_STATES,
} from "./tables.ts";

export interface ProposalAsked {
  network: Network;
  blockchainIdentifier: string;
  BuyerFunds: StoredFunds[];
  SellerFunds: StoredFunds[];
  /** Payment key hashes of the administrators who sign; of Web3ChainV1 alone. */
  Signers?: string[] | undefined;
}

/** What is proposed, and for what. */
interface Proposed {
  id: string;
  source: SourceRow;
  records: readonly EscrowRecord[];
  output: LiveOutput;
  opensAt: number;
  split: Split;
  /** Proposals of which it takes the place. */
  former: readonly ProposalRow[];
}

type Terms = Pick<
  ProposalRow,
  | "walletVkey"
  | "message"
  | "prepared"
  | "setAside"
  | "expiresAt"
  | "administrators"
  | "required"
  | "dueAt"
>;

/**
 * Proposes how a dispute is settled. It replaces the escrow's earlier proposal, unless that is on its way:
 * an escrow's output is paid out once.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 403, 404, 409, 503; ProviderError
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
  requireWhole(asked, output);
  const split = { buyer: paying(asked.BuyerFunds), seller: paying(asked.SellerFunds) };
  const opensAt = Number(record.terms.externalDisputeUnlockTime);
  const proposed = { id: newId(now), source, records, output, opensAt, split };
  for (let attempt = 1; ; attempt++) {
    const former = await formerOf(ledger, record.identifierHash, source.id, output);
    const place = { ...proposed, former };
    const payers = await payersOf(core, source, records);
    const { terms, guards } =
      source.type === "Web3ChainV1"
        ? await transactionToSign(c, ledger, place, payers, asked.Signers, now)
        : messageToSign(place, payers, asked.Signers);
    const row: ProposalRow = {
      ...terms,
      ...{ id: proposed.id, network, sourceId: source.id },
      identifierHash: record.identifierHash,
      output: JSON.stringify(output),
      split: JSON.stringify(split),
      ...{ signatures: "[]", opensAt, state: "Collecting" },
      ...{ txHash: null, error: null, failures: 0 },
      ...{ createdById: caller.id, createdAt: now, updatedAt: now, rev: 0 },
    };
    const detail = { ...split, utxo: output.utxo };
    try {
      await commitAudited(c, ledger, { action: "dispute.propose", target: row.id, detail, now }, [
        ...guards,
        ...former.map((one) =>
          updateProposal(ledger, one, { state: "Replaced", dueAt: null }, now),
        ),
        ledger.orm.insert(disputeProposal).values(row).toSQL(),
      ]);
      return row;
    } catch (error) {
      const isOther = CHANGES.some((column) => violates(error, column));
      if (!isOther) throw error;
      // A wallet that is at work moves on while the transaction is built.
      if (violates(error, "hot_wallet.version") && attempt < ATTEMPTS) continue;
      throw new ApiError(
        "changed_concurrently",
        "blockchainIdentifier: another proposal was made meanwhile, or the wallet that pays is busy: try again",
      );
    }
  }
}

const ATTEMPTS = 5;
const CHANGES = [
  "dispute_proposal.rev",
  "dispute_proposal.source_id",
  "hot_wallet.version",
] as const;

/** @throws ApiError 409 when one of them is on its way */
async function formerOf(
  ledger: Database,
  identifierHash: string,
  sourceId: string,
  { utxo }: LiveOutput,
): Promise<ProposalRow[]> {
  const all = await proposalsOf(ledger, [identifierHash]);
  const same = all.filter((one) => one.sourceId === sourceId && utxoOf(one) === utxo);
  if (same.some(({ state }) => state === "SettleInitiated" || state === "Settled"))
    throw new ApiError("wrong_state", "blockchainIdentifier: the dispute is being settled already");
  return same.filter(({ state }) => WAITING_STATES.includes(state));
}

/** Web3ChainV2: how the funds are divided is what is signed. */
function messageToSign(
  { source, output, split }: Proposed,
  [payer]: readonly WalletRow[],
  signers: readonly string[] | undefined,
): { terms: Terms; guards: Statement[] } {
  if (signers) throw new ApiError(400, "Signers: is for Web3ChainV1 alone: here any may sign");
  const administrators = administratorKeys(source);
  const required = source.requiredAdminSignatures;
  if (required === null || administrators.length < required) throw unknownAdministrators();
  const [txHash = "", index] = output.utxo.split("#");
  return {
    terms: {
      walletVkey: payer?.vkey ?? "",
      message: bytesToHex(settlementMessage({ txHash, index: Number(index) }, split)),
      administrators: JSON.stringify(administrators),
      required,
      ...{ prepared: null, setAside: null, expiresAt: null, dueAt: null },
    },
    guards: [],
  };
}

/** Web3ChainV1: a transaction is what is signed, and one output of a wallet is set aside for it. */
async function transactionToSign(
  c: AppContext,
  ledger: Database,
  { id, source, output, split, opensAt, former }: Proposed,
  payers: readonly WalletRow[],
  asked: readonly string[] | undefined,
  now: number,
): Promise<{ terms: Terms; guards: Statement[] }> {
  const known = administratorKeys(source);
  const stranger = asked?.find((one) => known.length > 0 && !known.includes(one));
  if (stranger) throw new ApiError(400, `Signers: ${stranger} is no administrator of the contract`);
  const required = source.requiredAdminSignatures;
  if (!asked && (required === null || known.length < required)) throw unknownAdministrators();
  const signers = asked ? [...new Set(asked)] : firstSigners(known, required ?? 0);
  const { prepareSettlement } = await import("./prepare.ts");
  const prepared = await prepareSettlement(
    c,
    {
      ...{ ledger, source, id, output, split, opensAt, signers, payers },
      replaces: former.map((one) => one.id),
    },
    now,
  );
  const { payer, setAside, unsigned, content, hash, expiresAt } = prepared;
  return {
    terms: {
      walletVkey: payer.vkey,
      message: hash,
      prepared: JSON.stringify({ unsigned, content } satisfies PreparedSettlement),
      ...{ setAside, expiresAt, dueAt: expiresAt },
      administrators: JSON.stringify(signers),
      required: signers.length,
    },
    guards: [touchWallet(payer)],
  };
}

function unknownAdministrators(): ApiError {
  return new ApiError(
    "wrong_state",
    "blockchainIdentifier: its payment source does not say who the contract's administrators are, or how many have to agree",
  );
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

/** Wallets that may pay the network: the escrow's own first, then any of its payment source. @throws ApiError 409 */
async function payersOf(
  core: Database,
  source: SourceRow,
  records: readonly EscrowRecord[],
): Promise<WalletRow[]> {
  const wallets = await walletsOf(core, [source.id]);
  const driven = wallets.filter((wallet) => drivesOf(source, wallet) !== "nothing");
  if (driven.length === 0)
    throw new ApiError(
      "wrong_state",
      "blockchainIdentifier: its payment source has no wallet that may be driven, to pay the network",
    );
  const isOwn = ({ vkey }: WalletRow) => records.some(({ wallet }) => wallet?.vkey === vkey);
  return driven.toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a)));
}
