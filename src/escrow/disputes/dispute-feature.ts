import { hexToBytes } from "../../chain/hex.ts";
import { TransactionTooLargeError } from "../../chain/transaction/build-transaction.ts";
import { addWitnesses } from "../../chain/transaction/witnesses.ts";
import { signExtended, type WalletKeys } from "../../chain/wallet-keys.ts";
import type { Database } from "../../db/client.ts";
import { selectAutomationMode } from "../../sources/automation-mode.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import type { WalletRow } from "../../wallets/managed/tables.ts";
import { progressOf } from "../../wallets/model/phases.ts";
import { type TaskUpdate, UNSEEN_FIELDS } from "../../wallets/model/wallet-transaction.ts";
import { findEarliestTime } from "../../wallets/queue/backoff.ts";
import {
  DeadlinePassedError,
  MissingInputError,
  RetryLaterError,
} from "../../wallets/queue/errors.ts";
import type { PrebuiltTransaction, WalletFeature } from "../../wallets/queue/feature.ts";
import {
  countFailure,
  decideEndOutcome,
  NOT_ACCEPTED_REASON,
} from "../../wallets/queue/outcome.ts";
import { PENDING_STATE } from "../../wallets/queue/store.ts";
import {
  createSubjectFeature,
  type SubjectOutcome,
  type SubjectPort,
} from "../../wallets/queue/subject-feature.ts";
import { parseTransaction } from "../../wallets/spending/model/serialize-transaction.ts";
import { StepImpossibleError } from "../model/read-escrow.ts";
import { buildSettlementPart } from "./build-settlement-part.ts";
import { countGivenSignatures } from "./settlement-message.ts";
import {
  findOpenProposals,
  isOutputUnspent,
  listReservedOutputs,
  type ProposalChange,
  readProposals,
  updateProposal,
} from "./store.ts";
import { DISPUTE_FEATURE, type ProposalRow } from "./tables.ts";

interface DisputeContext {
  /** With `writes: "idempotent"`. */
  db: Database;
  source: Pick<SourceRow, "id" | "network" | "type" | "contractAddress" | "drives">;
  /** The wallets in use of the source. */
  wallets: readonly Pick<WalletRow, "vkey" | "drives">[];
  /** Payment key hash, hex. */
  vkey: string;
  /** The time on the chain as of a time of the wall clock, epoch milliseconds. */
  chainTime(now: number): Promise<number>;
}

/** Settlements that a run considers. */
const MAX_OPEN_SETTLEMENTS = 1_000;
/** How long a settlement waits before it is looked at again whether its wallet may be driven. */
const AUTOMATION_RECHECK_INTERVAL_MS = 60_000;

/**
 * How a wallet settles disputes that enough administrators have decided, and pays the network for it. On
 * Web3ChainV2 anybody may submit what they signed; on Web3ChainV1 they signed the transaction itself.
 */
export function createDisputeFeature({
  db,
  source,
  wallets,
  vkey,
  chainTime,
}: DisputeContext): WalletFeature {
  const { network } = source;
  const feature = createSubjectFeature(db, createDisputePort(db), {
    network,
    vkey,
    sourceId: source.id,
  });
  /** What a wallet may do can be changed while signatures are gathered. @throws RetryLaterError */
  const requireAutomatedWallet = (): void => {
    const wallet = wallets.find((one) => one.vkey === vkey);
    if (wallet && selectAutomationMode(source, wallet) === "nothing")
      throw new RetryLaterError(
        "waits for its wallet or payment source: `drives` is `nothing`",
        Date.now() + AUTOMATION_RECHECK_INTERVAL_MS,
        "source",
      );
  };
  /**
   * Checks that the records still hold the output. A node gives the same answer for a spent output and for an
   * output that it has not seen yet.
   *
   * @throws MissingInputError
   */
  const requireUnspentOutput = async (row: ProposalRow): Promise<void> => {
    if (await isOutputUnspent(db, row)) return;
    throw new MissingInputError("the escrow's output is not at the contract");
  };
  return {
    ...feature,
    placement: "parallel",
    maxTasks: 1,

    async listDue(now) {
      const open = await feature.readOpen(MAX_OPEN_SETTLEMENTS);
      if (open.length === 0) return { tasks: [], nextDueAt: null };
      const latest = Math.max(now, await chainTime(now));
      // A chain that is ahead gets there as much earlier; a pause passes by the wall clock.
      const timed = open.map((row) => ({
        row,
        at: (row.task.dueAt ?? now) - (row.task.reason === null ? latest - now : 0),
      }));
      const later = timed.filter(({ at }) => at > now).map(({ at }) => at);
      return {
        tasks: timed
          .filter(({ at }) => at <= now)
          .map(({ row: { id, opensAt, expiresAt } }) => ({
            id,
            notBefore: opensAt,
            ...(expiresAt !== null && { deadline: expiresAt }),
            isReplaceable: true,
          })),
        nextDueAt: findEarliestTime(later),
      };
    },

    listReservedOutputs: async () => [...(await listReservedOutputs(db, network))],

    ...(source.type === "Web3ChainV1" && {
      async loadPrebuilt({ id }: { id: string }, keys: WalletKeys) {
        requireAutomatedWallet();
        await requireUnspentOutput(feature.requireRow(id));
        return signSettlement(feature.requireRow(id), keys);
      },
    }),

    async buildPart({ id }, { provider, parameters }) {
      requireAutomatedWallet();
      const row = feature.requireRow(id);
      await requireUnspentOutput(row);
      return buildSettlementPart({ ...row, source }, provider, parameters);
    },
  };
}

/**
 * The transaction that administrators have signed, signed by the wallet that pays for it as well.
 *
 * @throws RetryLaterError: not all have
 */
function signSettlement(row: ProposalRow, keys: WalletKeys): PrebuiltTransaction {
  const { message, prepared, expiresAt, administrators, signatures } = row;
  if (prepared === null) throw new Error(`proposal ${row.id} has no transaction`);
  if (countGivenSignatures(administrators, signatures) < row.required)
    throw new RetryLaterError("waits for signatures", expiresAt ?? 0, "person");
  const byAdministrators = signatures.map(({ publicKey, signature }) => ({
    publicKey: hexToBytes(publicKey),
    signature: hexToBytes(signature),
  }));
  const own = {
    publicKey: keys.paymentPublicKey,
    signature: signExtended(keys, hexToBytes(message)),
  };
  const isAdministrator = signatures.some(({ vkey }) => vkey === keys.vkey);
  const all = isAdministrator ? byAdministrators : [...byAdministrators, own];
  const cbor = addWitnesses(hexToBytes(prepared.unsigned), all);
  const transaction = parseTransaction({
    ...{ hash: message, phase: "Stored", sequence: 0, sourceId: row.sourceId },
    content: prepared.content,
    ...UNSEEN_FIELDS,
    movedAt: Date.now(),
  });
  return { cbor, transaction: { ...transaction, size: cbor.length } };
}

/** A proposal, and whether another one waits in its place. */
type SettlementRow = ProposalRow & { isReplaced: boolean };
type SettlementOutcome = SubjectOutcome<ProposalChange>;

/** What the queue knows of settlements. */
export function createDisputePort(db: Database): SubjectPort<SettlementRow, ProposalChange> {
  return {
    name: DISPUTE_FEATURE,
    revision: "dispute_proposal.revision",
    async read(ids) {
      const rows = await readProposals(db, ids);
      const waiting = await findOpenProposals(db, rows);
      return rows.map((row) => {
        const other = waiting.get(`${row.sourceId}:${row.output.utxo}`);
        return { ...row, isReplaced: other !== undefined && other !== row.id };
      });
    },
    update: (changed, now) =>
      changed.map(({ row, change }) => updateProposal(db, row, change, now)),
    hasSent: ({ txHash }) => txHash !== null,
    decideAfterUpdate: decideProposalOutcome,
    decideAfterFailure: decideProposalFailure,
    giveUp: (_, reason) => toEndedOutcome("Failed", reason),
  };
}

function decideProposalOutcome(
  row: SettlementRow,
  { transaction }: TaskUpdate,
  now: number,
): SettlementOutcome | null {
  const { hash, phase, error } = transaction;
  const attempts = row.task?.attempts ?? 0;
  switch (progressOf(phase)) {
    case "UnderWay":
      return {
        change: { state: "SettleInitiated", txHash: hash, error: null },
        task: { ...PENDING_STATE, attempts },
      };
    case "Landed":
      return { change: { state: "Settled", txHash: hash, error: null }, task: PENDING_STATE };
    case "Ended": {
      if (row.txHash !== hash) return null;
      if (row.prepared !== null)
        return toEndedOutcome(
          phase === "Expired" ? "Expired" : "Failed",
          `${error ?? NOT_ACCEPTED_REASON}: ${PROPOSE_AGAIN_HINT}`,
        );
      const outcome = decideEndOutcome(attempts, transaction, now);
      if ("givenUp" in outcome) return toEndedOutcome("Failed", outcome.givenUp);
      // Of an output only one proposal waits: this one gives way to what was proposed meanwhile.
      if (row.isReplaced) return toEndedOutcome("Replaced", null);
      return { change: { state: "SettleRequested" }, task: outcome.task };
    }
  }
}

/** What signatures were given for is over: another proposal needs new ones. */
const PROPOSE_AGAIN_HINT = "propose and sign again";

function decideProposalFailure(
  row: SettlementRow,
  error: unknown,
  now: number,
): SettlementOutcome | null {
  if (error instanceof DeadlinePassedError)
    return toEndedOutcome(
      "Expired",
      `the signatures or the transaction came too late: ${PROPOSE_AGAIN_HINT}`,
    );
  if (error instanceof TransactionTooLargeError || error instanceof StepImpossibleError)
    return toEndedOutcome("Failed", error.message);
  if (error instanceof MissingInputError) {
    const reason = "the escrow's output was spent by another transaction";
    const outcome = countFailure(row.task?.attempts ?? 0, reason, now);
    return "task" in outcome ? outcome : toEndedOutcome("Failed", outcome.givenUp);
  }
  return null;
}

const toEndedOutcome = (
  state: "Expired" | "Failed" | "Replaced",
  error: string | null,
): SettlementOutcome => ({
  change: { state, error },
  task: null,
});
