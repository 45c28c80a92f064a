import type { PaymentSourceType } from "../../chain/network.ts";
import { TransactionTooLarge } from "../../chain/transaction/build-transaction.ts";
import type { WalletKeys } from "../../chain/wallet-keys.ts";
import type { Database } from "../../db/client.ts";
import { type Drives, drivesOf } from "../../sources/drives.ts";
import { progressOf } from "../../wallets/model/phases.ts";
import type { TaskUpdate } from "../../wallets/model/wallet-transaction.ts";
import { findEarliest } from "../../wallets/queue/backoff.ts";
import { DeadlinePassedError, MissingInputError, NotYetError } from "../../wallets/queue/errors.ts";
import type { WalletFeature } from "../../wallets/queue/feature.ts";
import { countFailure, type TryOutcome } from "../../wallets/queue/outcome.ts";
import { PENDING, type SourceWallet, waitForTurn } from "../../wallets/queue/store.ts";
import {
  createSubjectFeature,
  endWithoutSource,
  type SubjectOutcome,
  type SubjectPort,
} from "../../wallets/queue/subject-feature.ts";
import { StepImpossible } from "../model/read-escrow.ts";
import type { LiveOutput } from "../model/record.ts";
import type { Split } from "../model/split.ts";
import type { AdminSignature } from "./settlement-message.ts";
import { settlementPart } from "./settlement-part.ts";
import { signedSettlement } from "./signed-settlement.ts";
import {
  findWaitingProposals,
  isUnspent,
  listReservedOutputs,
  type ProposalChange,
  readProposals,
  updateProposal,
  utxoOf,
} from "./store.ts";
import { DISPUTE_FEATURE, type ProposalRow } from "./tables.ts";

interface DisputeContext {
  /** With `writes: "idempotent"`. */
  db: Database;
  source: {
    id: string;
    network: ProposalRow["network"];
    type: PaymentSourceType;
    contractAddress: string;
    drives: Drives;
  };
  /** The wallets in use of the source. */
  wallets: readonly { vkey: string; drives: Drives }[];
  /** Payment key hash, hex. */
  vkey: string;
  /** The time on the chain as of a time of the wall clock, epoch milliseconds. */
  chainTime(now: number): Promise<number>;
}

/** Settlements that a run considers. */
const MAX_OPEN = 1_000;
/** How long a settlement waits before it is looked at again whether its wallet may be driven. */
const UNDRIVEN_MS = 60_000;

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
  const feature = createSubjectFeature(db, portOf(db), { network, vkey, sourceId: source.id });
  /** What a wallet may do can be changed while signatures are gathered. @throws NotYetError */
  const requireDriven = (): void => {
    const wallet = wallets.find((one) => one.vkey === vkey);
    if (wallet && drivesOf(source, wallet) === "nothing")
      throw new NotYetError(
        "waits for its wallet or payment source: `drives` is `nothing`",
        Date.now() + UNDRIVEN_MS,
        "source",
      );
  };
  /**
   * Checks that the records still hold the output. A node gives the same answer for a spent output and for an
   * output that it has not seen yet.
   *
   * @throws MissingInputError
   */
  const requireHeld = async (row: ProposalRow): Promise<void> => {
    if (await isUnspent(db, row)) return;
    throw new MissingInputError("the escrow's output is not at the contract");
  };
  return {
    ...feature,
    placement: "lanes",
    maxTasks: 1,

    async due(now) {
      const open = await feature.readOpen(MAX_OPEN);
      if (open.length === 0) return { tasks: [], next: null };
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
        next: findEarliest(later),
      };
    },

    reservedOutputs: async () => [...(await listReservedOutputs(db, network))],

    ...(source.type === "Web3ChainV1" && {
      async prebuilt({ id }: { id: string }, keys: WalletKeys) {
        requireDriven();
        await requireHeld(feature.rowOf(id));
        return signedSettlement(feature.rowOf(id), keys);
      },
    }),

    async buildPart({ id }, { provider, parameters }) {
      requireDriven();
      const row = feature.rowOf(id);
      await requireHeld(row);
      const settlement = {
        source,
        output: JSON.parse(row.output) as LiveOutput,
        split: JSON.parse(row.split) as Split,
        signatures: JSON.parse(row.signatures) as AdminSignature[],
      };
      return settlementPart(settlement, provider, parameters);
    },
  };
}

/** Gives up the settlements of a payment source that was removed. */
export function endSettlementsWithoutSource(
  db: Database,
  wallet: SourceWallet,
  now: number,
): Promise<void> {
  return endWithoutSource(db, portOf(db), wallet, now);
}

/** A proposal, and whether another one waits in its place. */
type Settlement = ProposalRow & { isReplaced: boolean };
type Outcome = SubjectOutcome<ProposalChange>;

function portOf(db: Database): SubjectPort<Settlement, ProposalChange> {
  return {
    name: DISPUTE_FEATURE,
    revision: "dispute_proposal.revision",
    async read(ids) {
      const rows = await readProposals(db, ids);
      const waiting = await findWaitingProposals(db, rows);
      return rows.map((row) => {
        const other = waiting.get(`${row.sourceId}:${utxoOf(row)}`);
        return { ...row, isReplaced: other !== undefined && other !== row.id };
      });
    },
    update: (changed, now) =>
      changed.map(({ row, change }) => updateProposal(db, row, change, now)),
    hasSent: ({ txHash }) => txHash !== null,
    afterUpdate: proposalAfterUpdate,
    afterFailure: proposalAfterFailure,
    giveUp: (_, reason) => toEnd("Failed", reason),
  };
}

function proposalAfterUpdate(
  row: Settlement,
  { transaction: { hash, phase, error } }: TaskUpdate,
  now: number,
): Outcome | null {
  const attempts = row.task?.attempts ?? 0;
  switch (progressOf(phase)) {
    case "UnderWay":
      return {
        change: { state: "SettleInitiated", txHash: hash, error: null },
        task: { ...PENDING, attempts },
      };
    case "Landed":
      return { change: { state: "Settled", txHash: hash, error: null }, task: PENDING };
    case "Ended": {
      if (row.txHash !== hash) return null;
      const why = error ?? "the network did not accept the transaction";
      if (row.prepared !== null)
        return toEnd(phase === "Expired" ? "Expired" : "Failed", `${why}: ${PROPOSE_AGAIN}`);
      const outcome: TryOutcome =
        phase === "Orphaned"
          ? { task: { ...waitForTurn(now), attempts } }
          : countFailure(attempts, why, now);
      if ("givenUp" in outcome) return toEnd("Failed", outcome.givenUp);
      // Of an output only one proposal waits: this one gives way to what was proposed meanwhile.
      if (row.isReplaced) return toEnd("Replaced", null);
      return { change: { state: "SettleRequested" }, task: outcome.task };
    }
  }
}

/** What signatures were given for is over: another proposal needs new ones. */
const PROPOSE_AGAIN = "propose and sign again";

function proposalAfterFailure(row: Settlement, error: unknown, now: number): Outcome | null {
  if (error instanceof DeadlinePassedError)
    return toEnd("Expired", `the signatures or the transaction came too late: ${PROPOSE_AGAIN}`);
  if (error instanceof TransactionTooLarge || error instanceof StepImpossible)
    return toEnd("Failed", error.message);
  if (error instanceof MissingInputError) {
    const reason = "the escrow's output was spent by another transaction";
    const outcome = countFailure(row.task?.attempts ?? 0, reason, now);
    return "task" in outcome ? outcome : toEnd("Failed", outcome.givenUp);
  }
  return null;
}

const toEnd = (state: "Expired" | "Failed" | "Replaced", error: string | null): Outcome => ({
  change: { state, error },
  task: null,
});
