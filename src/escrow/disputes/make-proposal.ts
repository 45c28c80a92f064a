import { bytesToHex } from "../../chain/hex.ts";
import type { Network } from "../../chain/network.ts";
import { parseOutputReference } from "../../chain/transaction/transaction-plan.ts";
import { sumOf } from "../../chain/transaction/value.ts";
import type { Database, Statement } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import { drivesOf } from "../../sources/drives.ts";
import type { SourceRow } from "../../sources/record.ts";
import type { WalletRow } from "../../wallets/managed/tables.ts";
import { endTasks, waitForTurn } from "../../wallets/queue/store.ts";
import { bumpWallet } from "../../wallets/spending/store/wallet.ts";
import { MAX_MEMORY, settlementMemory } from "../model/ending-memory.ts";
import {
  type EscrowRecord,
  fundsOf,
  type LiveOutput,
  payeeOf,
  type StoredFunds,
  sharesPayee,
} from "../model/record.ts";
import type { Split } from "../model/split.ts";
import { administratorKeys, firstSigners } from "./administrators.ts";
import type { SettlementRequest, SettlementToSign } from "./prepare-settlement.ts";
import { settlementMessage } from "./settlement-message.ts";
import { insertProposal, proposalsOf, toTask, updateProposal, utxoOf } from "./store.ts";
import {
  DISPUTE_FEATURE,
  type PreparedSettlement,
  type ProposalRow,
  WAITING_STATES,
} from "./tables.ts";

export interface ProposalRequest {
  network: Network;
  blockchainIdentifier: string;
  BuyerFunds: StoredFunds[];
  SellerFunds: StoredFunds[];
  /** Payment key hashes of the administrators who sign; of Web3ChainV1 alone. */
  Signers?: string[] | undefined;
}

/** A disputed escrow. */
export interface Disputed {
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
  prepare(asked: SettlementRequest): Promise<SettlementToSign>;
}

/** What is proposed, and for what. */
interface ProposalInput {
  place: ProposalContext;
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
export async function makeProposal(
  place: ProposalContext,
  { records, output }: Disputed,
  asked: ProposalRequest,
  now: number,
): Promise<{ row: ProposalRow; statements: Statement[] }> {
  const { id, database, source, createdById } = place;
  const [record] = records;
  requireWhole(asked, output);
  const split = { buyer: paying(asked.BuyerFunds), seller: paying(asked.SellerFunds) };
  refuseOnePayee(record, split);
  refuseTooManyTokens(source, split);
  const opensAt = Number(record.terms.externalDisputeUnlockTime);
  const former = await formerOf(database, record.identifierHash, source.id, output);
  const payers = payersOf(place, records);
  const what = { place, output, opensAt, split, former };
  const { terms, guards } =
    source.type === "Web3ChainV1"
      ? await transactionToSign(what, payers, asked.Signers)
      : messageToSign(what, payers, asked.Signers);
  const proposal: Omit<ProposalRow, "task"> = {
    ...terms,
    ...{ id, network: source.network, sourceId: source.id },
    identifierHash: record.identifierHash,
    output: JSON.stringify(output),
    split: JSON.stringify(split),
    ...{ signatures: "[]", opensAt, state: "Collecting" },
    ...{ txHash: null, error: null },
    ...{ createdById, createdAt: now, updatedAt: now, revision: 0 },
  };
  const { expiresAt } = terms;
  // Its wallet reserves an output for it, until the end of the transaction's validity.
  const waiting = { ...waitForTurn(expiresAt ?? 0), reasonCode: "person" } as const;
  const row = { ...proposal, task: expiresAt === null ? null : toTask(proposal, waiting, now) };
  return {
    row,
    statements: [
      ...guards,
      ...former.map((one) => updateProposal(database, one, { state: "Replaced" }, now)),
      ...endTasks(
        DISPUTE_FEATURE,
        former.map((one) => one.id),
      ),
      ...insertProposal(database, row),
    ],
  };
}

/** @throws ApiError 409 when one of them is on its way */
async function formerOf(
  database: Database,
  identifierHash: string,
  sourceId: string,
  { utxo }: LiveOutput,
): Promise<ProposalRow[]> {
  const all = await proposalsOf(database, [identifierHash]);
  const same = all.filter((one) => one.sourceId === sourceId && utxoOf(one) === utxo);
  if (same.some(({ state }) => state === "SettleInitiated" || state === "Settled"))
    throw new ApiError(
      "wrong_state",
      "blockchainIdentifier: the settlement of the dispute has begun",
    );
  return same.filter(({ state }) => WAITING_STATES.includes(state));
}

/** Web3ChainV2: how the funds are divided is what is signed. */
function messageToSign(
  { place: { source }, output, split }: ProposalInput,
  [payer]: readonly WalletRow[],
  signers: readonly string[] | undefined,
): { terms: Terms; guards: Statement[] } {
  if (signers)
    throw new ApiError(
      400,
      "Signers: must be omitted for Web3ChainV2, where any administrator may sign",
    );
  const administrators = administratorKeys(source);
  const required = source.requiredAdminSignatures;
  if (required === null || administrators.length < required) throw unknownAdministrators();
  return {
    terms: {
      walletVkey: payer?.vkey ?? "",
      message: bytesToHex(settlementMessage(parseOutputReference(output.utxo), split)),
      administrators: JSON.stringify(administrators),
      required,
      ...{ prepared: null, reservedOutput: null, expiresAt: null },
    },
    guards: [],
  };
}

/** Web3ChainV1: a transaction is what is signed, and one output of a wallet is set aside for it. */
async function transactionToSign(
  { place: { id, database, source, prepare }, output, split, opensAt, former }: ProposalInput,
  payers: readonly WalletRow[],
  asked: readonly string[] | undefined,
): Promise<{ terms: Terms; guards: Statement[] }> {
  const known = administratorKeys(source);
  const stranger = asked?.find((one) => known.length > 0 && !known.includes(one));
  if (stranger) throw new ApiError(400, `Signers: ${stranger} is no administrator of the contract`);
  const required = source.requiredAdminSignatures;
  if (!asked && (required === null || known.length < required)) throw unknownAdministrators();
  const signers = asked ? [...new Set(asked)] : firstSigners(known, required ?? 0);
  const settlement = await prepare({
    ...{ database, source, id, output, split, opensAt, signers, payers },
    replaces: former.map((one) => one.id),
  });
  const { payer, reservedOutput, unsigned, content, hash, expiresAt } = settlement;
  return {
    terms: {
      walletVkey: payer.vkey,
      message: hash,
      prepared: JSON.stringify({ unsigned, content } satisfies PreparedSettlement),
      ...{ reservedOutput, expiresAt },
      administrators: JSON.stringify(signers),
      required: signers.length,
    },
    guards: [bumpWallet(payer)],
  };
}

function unknownAdministrators(): ApiError {
  return new ApiError(
    "wrong_state",
    "blockchainIdentifier: the payment source lacks the contract's administrators, or how many of them must sign",
  );
}

/** @throws ApiError 400 when the parts are not all that is locked, unit by unit */
function requireWhole({ BuyerFunds, SellerFunds }: ProposalRequest, { value }: LiveOutput): void {
  const held = sumOf(value.map(fundsOf));
  const given = sumOf([...BuyerFunds, ...SellerFunds].map(fundsOf));
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
function refuseOnePayee(record: EscrowRecord, { buyer, seller }: Split): void {
  const isDivided = buyer.length > 0 && seller.length > 0;
  if (!isDivided || record.sourceType === "Web3ChainV1" || !sharesPayee(record)) return;
  throw new ApiError(
    400,
    `BuyerFunds: both parties have the address ${payeeOf(record, "buyer")}, and the contract counts one output for both. Give everything to one party, which then pays the other.`,
  );
}

/** @throws ApiError 400 where the contract could never pay both parts in a transaction */
function refuseTooManyTokens({ type }: Pick<SourceRow, "type">, split: Split): void {
  const memory = settlementMemory(split, type);
  if (memory <= MAX_MEMORY) return;
  throw new ApiError(
    400,
    `BuyerFunds: the settlement needs about ${memory} units of memory, more than the allowed ${MAX_MEMORY}. Give each token to one party only.`,
  );
}

/** One entry for each unit that is not nothing. */
function paying(funds: StoredFunds[]): StoredFunds[] {
  return [...sumOf(funds.map(fundsOf))]
    .filter(([, amount]) => amount > 0n)
    .map(([unit, amount]) => ({ unit, amount: String(amount) }));
}

/** Wallets that may pay the network: the escrow's own first, then any of its payment source. @throws ApiError 409 */
function payersOf(
  { source, wallets }: ProposalContext,
  records: readonly EscrowRecord[],
): WalletRow[] {
  const driven = wallets.filter((wallet) => drivesOf(source, wallet) !== "nothing");
  if (driven.length === 0)
    throw new ApiError(
      "wrong_state",
      "blockchainIdentifier: no wallet of the payment source may pay the network fee. Change the drives of a wallet.",
    );
  const isOwn = ({ vkey }: WalletRow) => records.some(({ wallet }) => wallet?.vkey === vkey);
  return driven.toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a)));
}
