import type { WalletKeys } from "../../chain/keys.ts";
import type { PaymentSourceType } from "../../chain/network.ts";
import { TransactionTooLarge } from "../../chain/transaction/build.ts";
import type { Database, Statement } from "../../db/client.ts";
import { log } from "../../log.ts";
import { type Drives, drivesOf } from "../../sources/drives.ts";
import { noteOnRecords } from "../../wallets/note-on-records.ts";
import type { Move } from "../../wallets/spending/history.ts";
import { meaningOf } from "../../wallets/spending/life.ts";
import { DeadlinePassed, NotYet } from "../../wallets/spending/making/window.ts";
import { afterTry, waitOf } from "../../wallets/waits.ts";
import { InputMissing, messageOf, WalletGone, type WalletWork } from "../../wallets/work.ts";
import { StepImpossible } from "../actions/escrow.ts";
import type { Split } from "../actions/split.ts";
import type { LiveOutput } from "../record.ts";
import type { AdminSignature } from "./message.ts";
import { settlementPart } from "./part.ts";
import { signedSettlement } from "./signed.ts";
import {
  changeProposals,
  isHeld,
  openProposals,
  outputsSetAside,
  type ProposalChange,
  readProposals,
  updateProposal,
  utxoOf,
  waitingFor,
} from "./store.ts";
import { DISPUTE_WORK, type ProposalRow } from "./tables.ts";

interface Place {
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

/** How long a settlement waits before it is looked at again whether its wallet may be driven. */
const UNDRIVEN_MS = 60_000;

/**
 * How a wallet settles disputes that enough administrators have decided, and pays the network for it. On
 * Web3ChainV2 anybody may submit what they signed; on Web3ChainV1 they signed the transaction itself.
 */
export function disputeWork({ db, source, wallets, vkey, chainTime }: Place): WalletWork {
  const { network } = source;
  /** As they were last read. */
  const rows = new Map<string, ProposalRow>();
  const rowOf = (id: string): ProposalRow => {
    const row = rows.get(id);
    if (row === undefined) throw new Error(`the proposal ${id} was not read`);
    return row;
  };
  /** What a wallet may do can be changed while signatures are gathered. @throws NotYet */
  const requireDriven = (): void => {
    const wallet = wallets.find((one) => one.vkey === vkey);
    if (wallet && drivesOf(source, wallet) === "nothing")
      throw new NotYet(
        "waits: by `drives` of its wallet or payment source nothing is done with the wallet",
        Date.now() + UNDRIVEN_MS,
      );
  };
  /**
   * An output that the records do not know any more is not asked for at all: of one that another has spent a
   * node says the same as of one that it has not seen yet.
   *
   * @throws InputMissing
   */
  const requireHeld = async (row: ProposalRow): Promise<void> => {
    if (await isHeld(db, row)) return;
    throw new InputMissing("it is not at the contract");
  };
  return {
    name: DISPUTE_WORK,
    stands: "lanes",
    most: 1,
    revision: "dispute_proposal.rev",

    takenOver: async () => [],

    async due(now) {
      const open = await openProposals(db, { network, vkey, sourceId: source.id });
      if (open.length === 0) return { tasks: [], next: null };
      for (const row of open) rows.set(row.id, row);
      const latest = Math.max(now, await chainTime(now));
      // A chain that is ahead gets there as much earlier; a pause passes by the wall clock.
      const timed = open.map((row) => ({
        row,
        at: (row.dueAt ?? now) - (row.error === null ? latest - now : 0),
      }));
      const later = timed.filter(({ at }) => at > now).map(({ at }) => at);
      return {
        tasks: timed
          .filter(({ at }) => at <= now)
          .map(({ row: { id, opensAt, expiresAt } }) => ({
            id,
            begins: opensAt,
            ...(expiresAt !== null && { deadline: expiresAt }),
            canBeOvertaken: true,
          })),
        next: later.length > 0 ? Math.min(...later) : null,
      };
    },

    setAside: async () => [...(await outputsSetAside(db, network))],

    ...(source.type === "Web3ChainV1" && {
      async prepared({ id }: { id: string }, keys: WalletKeys) {
        requireDriven();
        await requireHeld(rowOf(id));
        return signedSettlement(rowOf(id), keys);
      },
    }),

    async part({ id }, { provider, parameters }) {
      requireDriven();
      const row = rowOf(id);
      await requireHeld(row);
      const settlement = {
        source,
        output: JSON.parse(row.output) as LiveOutput,
        split: JSON.parse(row.split) as Split,
        signatures: JSON.parse(row.signatures) as AdminSignature[],
      };
      return settlementPart(settlement, provider, parameters);
    },

    async moved(moves, now) {
      const found = await readProposals(
        db,
        moves.map(({ task }) => task.id),
      );
      const waiting = await waitingFor(db, found);
      return moves.flatMap((move): Statement[] => {
        const row = found.find(({ id }) => id === move.task.id);
        const change = row && unlessReplaced(row, changeBy(row, move, now), waiting);
        return row && change ? [updateProposal(db, row, change, now)] : [];
      });
    },

    async notBuilt(tasks, error, now) {
      await changeProposals(
        db,
        tasks.map(({ id }) => {
          const row = rowOf(id);
          return updateProposal(db, row, afterFailure(row, error, now), now);
        }),
      );
    },

    onUpdateFailure(tasks, message, now) {
      const ids = tasks.map(({ id }) => id);
      return noteOnRecords(db, "dispute_proposal", ids, message, now);
    },
  };
}

function changeBy(
  row: ProposalRow,
  { transaction: { hash, phase, error } }: Move,
  now: number,
): ProposalChange | null {
  switch (meaningOf(phase)) {
    case "UnderWay":
      return { state: "SettleInitiated", txHash: hash, error: null, dueAt: null };
    case "Landed":
      return { state: "Settled", txHash: hash, error: null, failures: 0, dueAt: null };
    case "Ended": {
      if (row.txHash !== hash) return null;
      const why = error ?? "the network did not take it";
      if (row.prepared !== null) return over(phase === "Expired" ? "Expired" : "Failed", why);
      const again = { state: "SettleRequested", dueAt: now } as const;
      if (phase === "Orphaned") return again;
      return { ...again, ...tryAgain(row, why, now) };
    }
  }
}

/** What signatures were given for is over: another proposal needs new ones. */
function over(state: "Expired" | "Failed", why: string): ProposalChange {
  return { state, error: `${why}: propose again, and have it signed again`, dueAt: null };
}

/** Of an output only one proposal waits: one that would again gives way to what was proposed meanwhile. */
function unlessReplaced(
  row: ProposalRow,
  change: ProposalChange | null,
  waiting: ReadonlyMap<string, string>,
): ProposalChange | null {
  const other = waiting.get(`${row.sourceId}:${utxoOf(row)}`);
  const isReplaced = change?.state === "SettleRequested" && other !== undefined && other !== row.id;
  return isReplaced ? { state: "Replaced", error: null, dueAt: null } : change;
}

function afterFailure(row: ProposalRow, error: unknown, now: number): ProposalChange {
  const message = messageOf(error);
  const isHopeless =
    error instanceof WalletGone ||
    error instanceof TransactionTooLarge ||
    error instanceof StepImpossible;
  if (error instanceof DeadlinePassed)
    return over("Expired", "not enough administrators signed, or it could not be sent, in time");
  if (isHopeless) return { state: "Failed", error: message, dueAt: null };
  const wait = waitOf(error, now);
  if (wait) return wait;
  if (error instanceof InputMissing)
    return tryAgain(row, "the escrow's output is spent: somebody else moved it", now);
  log("warn", "dispute.failed", { id: row.id, error: String(error) });
  return tryAgain(row, message, now);
}

function tryAgain(row: ProposalRow, error: string, now: number): ProposalChange {
  return afterTry(row.failures, error, now, "Failed");
}
