import { parseAddress } from "../../chain/address.ts";
import { bytesToHex } from "../../chain/hex.ts";
import type { PaymentSourceType } from "../../chain/network.ts";
import { scriptOfHash } from "../../chain/plutus/script.ts";
import { type Provider, ProviderError } from "../../chain/provider/provider.ts";
import { ownReferenceDatum } from "../../chain/redeemer.ts";
import { TransactionTooLarge } from "../../chain/transaction/build.ts";
import type { PlannedOutput, ScriptSource } from "../../chain/transaction/plan.ts";
import { sumOf } from "../../chain/transaction/value.ts";
import type { Database, Statement } from "../../db/client.ts";
import { log } from "../../log.ts";
import { type Drives, drivesOf } from "../../sources/drives.ts";
import type { Move } from "../../wallets/spending/history.ts";
import { meaningOf } from "../../wallets/spending/life.ts";
import { NotYet } from "../../wallets/spending/making/window.ts";
import { afterTry, waitOf } from "../../wallets/waits.ts";
import {
  InputMissing,
  type TransactionPart,
  WalletGone,
  type WalletWork,
} from "../../wallets/work.ts";
import { readEscrow, StepImpossible } from "../actions/escrow.ts";
import { atLeastMinimum } from "../actions/payouts.ts";
import { fundsOf } from "../fold/escrow-outputs.ts";
import type { LiveOutput } from "../record.ts";
import { type AdminSignature, type Split, settlementRedeemer } from "./message.ts";
import {
  changeProposals,
  openProposals,
  type ProposalChange,
  readProposals,
  updateProposal,
} from "./store.ts";
import type { ProposalRow } from "./tables.ts";

/** The name of the feature in stored transactions. */
export const DISPUTE_WORK = "dispute";

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
 * How a wallet settles disputes of Web3ChainV2 that enough administrators have decided: anybody may
 * submit what they signed, and the wallet pays the network for it.
 */
export function disputeWork({ db, source, wallets, vkey, chainTime }: Place): WalletWork {
  const { network, contractAddress } = source;
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
          .map(({ row: { id, opensAt } }) => ({ id, begins: opensAt, canBeOvertaken: true })),
        next: later.length > 0 ? Math.min(...later) : null,
      };
    },

    async part({ id }, { provider, parameters }) {
      requireDriven();
      const row = rowOf(id);
      const output = JSON.parse(row.output) as LiveOutput;
      const split = JSON.parse(row.split) as Split;
      const { txHash, index, value, datum } = readEscrow(output, {
        ...{ network, contractAddress, sourceType: source.type },
      });
      const script = await scriptOf(contractAddress, provider);
      const tag = ownReferenceDatum(txHash, index);
      const paid = (address: string, funds: Split["buyer"]): PlannedOutput[] =>
        funds.length === 0 ? [] : [{ address, value: sumOf(funds.map(fundsOf)), datum: tag }];
      const redeemer = settlementRedeemer(split, JSON.parse(row.signatures) as AdminSignature[]);
      return {
        scriptInputs: [{ txHash, index, value, script, redeemer }],
        mints: [],
        spends: [],
        outputs: [
          ...paid(datum.buyerReturnAddress ?? datum.buyer, split.buyer),
          ...paid(datum.sellerReturnAddress ?? datum.seller, split.seller),
        ].map((one) => atLeastMinimum(one, parameters)),
        metadata: new Map(),
        most: 1,
        detail: { spends: output.utxo },
      } satisfies TransactionPart;
    },

    async moved(moves, now) {
      const found = await readProposals(
        db,
        moves.map(({ task }) => task.id),
      );
      return moves.flatMap((move): Statement[] => {
        const row = found.find(({ id }) => id === move.task.id);
        const change = row && changeBy(row, move, now);
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
      const again = { state: "SettleRequested", dueAt: now } as const;
      if (phase === "Orphaned") return again;
      return { ...again, ...tryAgain(row, error ?? "the network did not take it", now) };
    }
  }
}

function afterFailure(row: ProposalRow, error: unknown, now: number): ProposalChange {
  const message = error instanceof Error ? error.message : String(error);
  const isHopeless =
    error instanceof WalletGone ||
    error instanceof TransactionTooLarge ||
    error instanceof StepImpossible;
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

/** The contract's script, as the chain shows it. @throws ProviderError */
async function scriptOf(
  contractAddress: string,
  provider: Pick<Provider, "scriptCbor">,
): Promise<ScriptSource> {
  const hash = parseAddress(contractAddress)?.payment.hash ?? "";
  const shown = await provider.scriptCbor(hash);
  const script = shown === null ? null : scriptOfHash(hash, shown);
  if (script === null)
    throw new ProviderError(`provider: does not show the script ${hash} of the contract`);
  return { from: "witness", hash, cbor: bytesToHex(script) };
}
