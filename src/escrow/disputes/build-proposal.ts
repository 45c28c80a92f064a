import { bytesToHex } from "../../chain/hex.ts";
import { parseOutputReference } from "../../chain/transaction/transaction-plan.ts";
import { sumToValue } from "../../chain/transaction/value.ts";
import type { Database, Statement } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import { selectAutomationMode } from "../../sources/automation-mode.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import type { WalletRow } from "../../wallets/managed/tables.ts";
import { createQueuedState, deleteTasks } from "../../wallets/queue/store.ts";
import { bumpWalletVersion } from "../../wallets/spending/store/wallet.ts";
import {
  type EscrowRecord,
  fundsOf,
  hasSharedPayee,
  type LiveOutput,
  payeeOf,
  type StoredFunds,
} from "../model/escrow-record.ts";
import { computeSettlementMemoryUnits, MAX_MEMORY_UNITS } from "../model/payout-memory.ts";
import type { SettlementSplit } from "../model/split.ts";
import { parseAdministratorKeys, selectDefaultSigners } from "./administrators.ts";
import type { SettlementRequest, UnsignedSettlement } from "./prepare-settlement.ts";
import type { ProposalRequest } from "./schemas.ts";
import { buildSettlementMessage } from "./settlement-message.ts";
import { insertProposal, listProposals, toDisputeTask, updateProposal } from "./store.ts";
import { DISPUTE_FEATURE, OPEN_PROPOSAL_STATES, type ProposalRow } from "./tables.ts";

/** A disputed escrow. */
export interface DisputedEscrow {
  /** Both sides', as far as they are ours; at least one. */
  records: readonly [EscrowRecord, ...EscrowRecord[]];
  output: LiveOutput;
}

/** For whom, and with what, a proposal is made. */
export interface ProposalContext {
  /** Of the proposal. */
  id: string;
  database: Database;
  source: SourceRow;
  /** The wallets in use of the source. */
  wallets: readonly WalletRow[];
  /** Id of the key that asks for it. */
  createdById: string;
  /** See `prepareSettlement`. */
  prepare(asked: SettlementRequest): Promise<UnsignedSettlement>;
}

/** What is proposed, and for what. */
interface ProposalInput extends ProposalContext {
  output: LiveOutput;
  opensAt: number;
  split: SettlementSplit;
  /** Proposals of which it takes the place. */
  previousProposals: readonly ProposalRow[];
}

type ProposalTerms = Pick<
  ProposalRow,
  | "walletVkey"
  | "message"
  | "prepared"
  | "reservedOutput"
  | "expiresAt"
  | "administrators"
  | "required"
>;

/**
 * A proposal of how a dispute is settled, and the statements that store it.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 409, 503; ProviderError
 */
export async function buildProposal(
  place: ProposalContext,
  { records, output }: DisputedEscrow,
  asked: ProposalRequest,
  now: number,
): Promise<{ row: ProposalRow; statements: Statement[] }> {
  const { id, database, source, createdById } = place;
  const [record] = records;
  requireFullAmounts(asked, output);
  const split = {
    buyer: toNonZeroFunds(asked.BuyerFunds),
    seller: toNonZeroFunds(asked.SellerFunds),
  };
  refuseSharedPayee(record, split);
  refuseTooManyTokens(source, split);
  const opensAt = Number(record.terms.externalDisputeUnlockTime);
  const former = await loadPreviousProposals(database, record.identifierHash, source.id, output);
  const payers = selectFeePayers(place, records);
  const what = { ...place, output, opensAt, split, previousProposals: former };
  const { terms, guards } =
    source.type === "Web3ChainV1"
      ? await buildTransactionTerms(what, payers, asked.Signers)
      : buildMessageTerms(what, payers, asked.Signers);
  const proposal: Omit<ProposalRow, "task"> = {
    ...terms,
    ...{ id, network: source.network, sourceId: source.id },
    identifierHash: record.identifierHash,
    ...{ output, split, signatures: [], opensAt, state: "Collecting" },
    ...{ txHash: null, error: null },
    ...{ createdById, createdAt: now, updatedAt: now, revision: 0 },
  };
  const { expiresAt } = terms;
  // Its wallet reserves an output for it, until the end of the transaction's validity.
  const waiting = { ...createQueuedState(expiresAt ?? 0), reasonCode: "person" } as const;
  const row = {
    ...proposal,
    task: expiresAt === null ? null : toDisputeTask(proposal, waiting, now),
  };
  return {
    row,
    statements: [
      ...guards,
      ...former.map((one) => updateProposal(database, one, { state: "Replaced" }, now)),
      ...deleteTasks(
        DISPUTE_FEATURE,
        former.map((one) => one.id),
      ),
      ...insertProposal(database, row),
    ],
  };
}

/** @throws ApiError 409 when one of them is on its way */
async function loadPreviousProposals(
  database: Database,
  identifierHash: string,
  sourceId: string,
  { utxo }: LiveOutput,
): Promise<ProposalRow[]> {
  const all = await listProposals(database, [identifierHash]);
  const same = all.filter((one) => one.sourceId === sourceId && one.output.utxo === utxo);
  if (same.some(({ state }) => state === "SettleInitiated" || state === "Settled"))
    throw new ApiError(
      "wrong_state",
      "blockchainIdentifier: the settlement of the dispute has begun",
    );
  return same.filter(({ state }) => OPEN_PROPOSAL_STATES.includes(state));
}

/** Web3ChainV2: how the funds are divided is what is signed. */
function buildMessageTerms(
  { source, output, split }: ProposalInput,
  [payer]: readonly WalletRow[],
  signers: readonly string[] | undefined,
): { terms: ProposalTerms; guards: Statement[] } {
  if (signers)
    throw new ApiError(
      400,
      "Signers: must be omitted for Web3ChainV2, where any administrator may sign",
    );
  const administrators = parseAdministratorKeys(source);
  const required = source.requiredAdminSignatures;
  if (required === null || administrators.length < required)
    throw createUnknownAdministratorsError();
  return {
    terms: {
      walletVkey: payer?.vkey ?? "",
      message: bytesToHex(buildSettlementMessage(parseOutputReference(output.utxo), split)),
      administrators,
      required,
      ...{ prepared: null, reservedOutput: null, expiresAt: null },
    },
    guards: [],
  };
}

/** Web3ChainV1: a transaction is what is signed, and one output of a wallet is set aside for it. */
async function buildTransactionTerms(
  { id, database, source, prepare, output, split, opensAt, previousProposals }: ProposalInput,
  payers: readonly WalletRow[],
  asked: readonly string[] | undefined,
): Promise<{ terms: ProposalTerms; guards: Statement[] }> {
  const known = parseAdministratorKeys(source);
  const stranger = asked?.find((one) => known.length > 0 && !known.includes(one));
  if (stranger) throw new ApiError(400, `Signers: ${stranger} is no administrator of the contract`);
  const required = source.requiredAdminSignatures;
  if (!asked && (required === null || known.length < required))
    throw createUnknownAdministratorsError();
  const signers = asked ? [...new Set(asked)] : selectDefaultSigners(known, required ?? 0);
  const { feePayer, terms } = await prepare({
    ...{ database, source, id, output, split, opensAt, signers, feePayers: payers },
    replacedProposalIds: previousProposals.map((one) => one.id),
  });
  return {
    terms: {
      ...terms,
      walletVkey: feePayer.vkey,
      administrators: signers,
      required: signers.length,
    },
    guards: [bumpWalletVersion(feePayer)],
  };
}

function createUnknownAdministratorsError(): ApiError {
  return new ApiError(
    "wrong_state",
    "blockchainIdentifier: the payment source lacks the contract's administrators, or how many of them must sign",
  );
}

/** @throws ApiError 400 when the parts are not all that is locked, unit by unit */
function requireFullAmounts(
  { BuyerFunds, SellerFunds }: ProposalRequest,
  { value }: LiveOutput,
): void {
  const held = sumToValue(value.map(fundsOf));
  const given = sumToValue([...BuyerFunds, ...SellerFunds].map(fundsOf));
  for (const unit of new Set([...held.keys(), ...given.keys()])) {
    const [has, gets] = [held.get(unit) ?? 0n, given.get(unit) ?? 0n];
    if (has !== gets)
      throw new ApiError(
        400,
        `BuyerFunds: the sum with SellerFunds must be the locked ${has} of the unit "${unit}", not ${gets}`,
      );
  }
}

/**
 * Of two parts at one address, whoever sends what was signed pays the larger alone, and keeps the other. A
 * transaction of Web3ChainV1 is signed with its outputs.
 *
 * @throws ApiError 400
 */
function refuseSharedPayee(record: EscrowRecord, { buyer, seller }: SettlementSplit): void {
  const isDivided = buyer.length > 0 && seller.length > 0;
  if (!isDivided || record.sourceType === "Web3ChainV1" || !hasSharedPayee(record)) return;
  throw new ApiError(
    400,
    `BuyerFunds: both parties have the address ${payeeOf(record, "buyer")}, and the contract counts one output for both. Give everything to one party, which then pays the other.`,
  );
}

/** @throws ApiError 400 where the contract could never pay both parts in a transaction */
function refuseTooManyTokens({ type }: Pick<SourceRow, "type">, split: SettlementSplit): void {
  const memory = computeSettlementMemoryUnits(split, type);
  if (memory <= MAX_MEMORY_UNITS) return;
  throw new ApiError(
    400,
    `BuyerFunds: the settlement needs about ${memory} units of memory, more than the allowed ${MAX_MEMORY_UNITS}. Give each token to one party only.`,
  );
}

/** One entry for each unit that is not nothing. */
function toNonZeroFunds(funds: StoredFunds[]): StoredFunds[] {
  return [...sumToValue(funds.map(fundsOf))]
    .filter(([, amount]) => amount > 0n)
    .map(([unit, amount]) => ({ unit, amount: String(amount) }));
}

/** Wallets that may pay the network: the escrow's own first, then any of its payment source. @throws ApiError 409 */
function selectFeePayers(
  { source, wallets }: ProposalContext,
  records: readonly EscrowRecord[],
): WalletRow[] {
  const driven = wallets.filter((wallet) => selectAutomationMode(source, wallet) !== "nothing");
  if (driven.length === 0)
    throw new ApiError(
      "wrong_state",
      "blockchainIdentifier: no wallet of the payment source may pay the network fee. Change the drives of a wallet.",
    );
  const isOwn = ({ vkey }: WalletRow) => records.some(({ wallet }) => wallet?.vkey === vkey);
  return driven.toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a)));
}
