import type { ChainTime } from "../../chain/chain-time.ts";
import { bytesToHex } from "../../chain/hex.ts";
import {
  EvaluationUnavailableError,
  type Provider,
  ScriptFailedError,
} from "../../chain/provider/provider.ts";
import { firstSlotAtOrAfter, slotAt, timeOfSlot } from "../../chain/slots.ts";
import {
  buildUnsignedTransaction,
  draftTransaction,
  TransactionTooLargeError,
} from "../../chain/transaction/build-transaction.ts";
import { sumExecutionUnits } from "../../chain/transaction/minimum-fee.ts";
import {
  createInputSelector,
  InsufficientFundsError,
  toWalletOutputs,
} from "../../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type TransactionPlan,
  type WalletOutput,
} from "../../chain/transaction/transaction-plan.ts";
import type { Database } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { openSourceProvider } from "../../sources/open-source-provider.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import type { WalletRow } from "../../wallets/managed/tables.ts";
import { UNSEEN_FIELDS } from "../../wallets/model/wallet-transaction.ts";
import { MAX_FEE } from "../../wallets/spending/building/build-transaction.ts";
import { toStoredFields } from "../../wallets/spending/building/compose-transaction.ts";
import { listUnreservedOutputs } from "../../wallets/spending/list-unreserved-outputs.ts";
import { serializeContent } from "../../wallets/spending/model/serialize-transaction.ts";
import { readOpenTransactions } from "../../wallets/spending/store/transactions.ts";
import { readWallet, type WalletState } from "../../wallets/spending/store/wallet.ts";
import type { LiveOutput } from "../model/escrow-record.ts";
import type { SettlementSplit } from "../model/split.ts";
import { readLiveChainTime } from "../terms/escrow-times.ts";
import { buildSettlementPart } from "./build-settlement-part.ts";
import { listReservedOutputs } from "./store.ts";
import { DISPUTE_FEATURE, type ProposalRow } from "./tables.ts";

/** How long administrators have to sign. Nodes cannot place a later end (36 hours ahead) in time. */
const VALIDITY_SLOTS = 24 * 3600;
/** How long before it can be settled a transaction is made, so that half its validity is left then. */
const MAX_LEAD_TIME_MS = 12 * 3_600_000;
/** Slots before now from which it is valid: allows for clock skew. */
const CLOCK_SKEW_SLOTS = 300;
/** Native minor units that are enough for its fee, its collateral and small parts. */
const RECOMMENDED_OUTPUT_COINS = 10_000_000n;

/** A settlement of Web3ChainV1, which administrators sign as a transaction. */
export interface UnsignedSettlement {
  /** The wallet that pays. Its reserved output is the collateral, too. */
  feePayer: WalletState;
  terms: Pick<ProposalRow, "message" | "prepared" | "reservedOutput" | "expiresAt">;
}

/** What shall be settled, by whom, and who pays for it. */
export interface SettlementRequest {
  database: Database;
  source: SourceRow;
  /** The proposal. */
  id: string;
  output: LiveOutput;
  split: SettlementSplit;
  /** From when the contract allows it, epoch milliseconds. */
  opensAt: number;
  /** Payment key hashes of the administrators who sign, each once. */
  signers: readonly string[];
  /** Wallets that may pay the network, the best first. */
  feePayers: readonly WalletRow[];
  /** Proposals whose place it takes: what they set aside is free. */
  replacedProposalIds: readonly string[];
}

/**
 * Builds a settlement, as `buildSettlement` does, with the provider and the chain time of its source.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 409, 503; ProviderError
 */
export async function prepareSettlement(
  c: AppContext,
  asked: SettlementRequest,
  now: number,
): Promise<UnsignedSettlement> {
  const { source } = asked;
  const provider = await openSourceProvider(c.env, source, { caller: c.var.caller.id });
  const time = await readLiveChainTime(c, provider, source.id, now, true);
  return buildSettlement(asked, provider, time, now);
}

/**
 * Builds the transaction that settles a dispute of Web3ChainV1, for administrators to sign. One output of
 * a wallet pays for it and is its collateral, so that it stays valid whatever else the wallet does.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 409, 503; ProviderError
 */
export async function buildSettlement(
  asked: SettlementRequest,
  provider: Pick<Provider, "protocolParameters" | "scriptCbor" | "addressUtxos" | "evaluate">,
  time: ChainTime,
  now: number,
): Promise<UnsignedSettlement> {
  const { database, source, output, split, opensAt, signers, feePayers: payers } = asked;
  const { network } = source;
  if (time.latestTime < opensAt - MAX_LEAD_TIME_MS)
    throw new ApiError(
      "wrong_state",
      `blockchainIdentifier: on Web3ChainV1, propose a settlement from ${new Date(opensAt - MAX_LEAD_TIME_MS).toISOString()} on, 12 hours before its earliest time`,
    );
  const parameters = await provider.protocolParameters();
  const part = await buildSettlementPart(
    { source, output, split, signatures: [] },
    provider,
    parameters,
  );
  const most = parameters.maxUnits;
  const plan: TransactionPlan = {
    scriptInputs: part.scriptInputs.map((input) => ({ ...input, units: most })),
    ...{ mints: [], outputs: part.outputs, metadata: part.metadata, parameters },
    requiredSigners: signers,
    validity: {
      from: Math.max(
        slotAt(network, time.earliestTime) - CLOCK_SKEW_SLOTS,
        firstSlotAtOrAfter(network, opensAt),
      ),
      to: slotAt(network, time.latestTime) + VALIDITY_SLOTS,
    },
  };
  const held = await listReservedOutputs(database, network, asked.replacedProposalIds);
  for (const { vkey, address } of payers) {
    const shown = toWalletOutputs(await provider.addressUtxos(address));
    const payer = await readWallet(database, network, vkey);
    const unreserved = listUnreservedOutputs(
      shown,
      payer,
      await readOpenTransactions(database, network, vkey),
      held,
    );
    const count = new Set([...signers, vkey]).size;
    for (const one of unreserved) {
      const pays = { address, outputs: [one], mustSpend: [one], collateral: one };
      const exact = await measurePlan(provider, plan, pays, count);
      if (exact === null) continue;
      const built = buildUnsignedTransaction(exact, createInputSelector(pays, exact), count);
      if (built.fee > MAX_FEE)
        throw new ApiError(
          503,
          `The chain provider's parameters lead to a fee of ${built.fee} minor units. Try again later.`,
        );
      const content = serializeContent({
        ...toStoredFields(built, pays),
        ...{ phase: "Stored", sequence: 0, sourceId: source.id, chainedInput: null },
        tasks: [{ feature: DISPUTE_FEATURE, id: asked.id, detail: part.detail }],
        isReplaceable: true,
        memory: Number(sumExecutionUnits(exact).memory),
        ...{ validFrom: exact.validity.from, validTo: exact.validity.to },
        ...UNSEEN_FIELDS,
        movedAt: now,
      });
      return {
        feePayer: payer,
        terms: {
          message: built.hash,
          prepared: { unsigned: bytesToHex(built.cbor), content },
          reservedOutput: formatOutputReference(one),
          expiresAt: timeOfSlot(network, exact.validity.to),
        },
      };
    }
  }
  throw new ApiError(
    "insufficient_balance",
    `no wallet of the payment source has a free output for the network fee: send ${RECOMMENDED_OUTPUT_COINS} minor units of the native coin in one output to ${payers[0]?.address}, then propose again`,
  );
}

/**
 * The plan with what its script uses, as the node measures it; null: the output does not pay for it.
 *
 * @throws ApiError 400, 409; ProviderError
 */
async function measurePlan(
  provider: Pick<Provider, "evaluate">,
  plan: TransactionPlan,
  pays: Parameters<typeof createInputSelector>[0] & { mustSpend: readonly WalletOutput[] },
  signers: number,
): Promise<TransactionPlan | null> {
  try {
    const draft = draftTransaction(plan, createInputSelector(pays, plan), signers);
    return draft.withMeasuredUnits(await provider.evaluate(draft.cbor));
  } catch (error) {
    if (error instanceof InsufficientFundsError) return null;
    if (error instanceof TransactionTooLargeError)
      throw new ApiError(400, `BuyerFunds: ${error.message}`);
    if (error instanceof ScriptFailedError)
      throw new ApiError(
        "wrong_state",
        `blockchainIdentifier: the contract refuses the settlement. Check that Signers has enough administrators.`,
      );
    if (error instanceof EvaluationUnavailableError && error.obstacle === "UnknownInput")
      throw new ApiError(
        "changed_concurrently",
        "blockchainIdentifier: another transaction has spent an input. Read the escrow, then propose again.",
      );
    throw error;
  }
}
