import {
  findLargestOutput,
  InsufficientFundsError,
} from "../../../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type WalletOutput,
} from "../../../chain/transaction/transaction-plan.ts";
import { isPending } from "../../model/phases.ts";
import { OutwardChainPendingError, RetryLaterError } from "../../queue/errors.ts";
import type { Task } from "../../queue/feature.ts";
import { MIN_FUNDING_COIN } from "../../queue/waiting-tasks.ts";
import type { WalletRun } from "../context/wallet-ports.ts";
import {
  ancestryOf,
  chooseParallelOutput,
  isUrgent,
  MAX_PARALLEL_OUTPUTS,
  MAX_UNCONFIRMED_TRANSACTIONS,
} from "../model/choose-parallel-output.ts";
import { findChainHead, mayMoveChainRoot } from "../model/outward-chain.ts";
import type { FundingSource } from "./compose-transaction.ts";

/** The outputs that pay for a transaction, and its position in the outward chain. */
export interface TransactionPlacement {
  funding: FundingSource;
  /** See `WalletTransaction`. */
  chainedInput: string | null;
  /** See `WalletState`. */
  chainRoot: string | null;
}

/** How long a full chain or parallel output is left alone. */
const FULL_RETRY_DELAY_MS = 5_000;

/**
 * Places a transaction at the head of the outward chain.
 *
 * @param outputs - all that the wallet can spend
 * @param splits - see `FundingSource`
 * @throws OutwardChainPendingError, InsufficientFundsError: there is none; RetryLaterError: it is full
 */
export function placeChained(
  run: WalletRun,
  outputs: readonly WalletOutput[],
  address: string,
  now: number,
  splits = 0,
): TransactionPlacement {
  const ancestry = ancestryOf(run.openTransactions);
  const { chainRoot, head } = requireHeadOutput(run, outputs, address);
  const chainedInput = formatOutputReference(head);
  if (ancestry(chainedInput).depth >= MAX_UNCONFIRMED_TRANSACTIONS)
    throw new RetryLaterError(
      "waits for blocks: the wallet has too many pending transactions",
      now + FULL_RETRY_DELAY_MS,
    );
  // Descendants of replaceable transactions would be invalidated with them.
  const spendLast = new Set(
    outputs.map(formatOutputReference).filter((name) => ancestry(name).isReplaceable),
  );
  const funding = {
    address,
    placementOutput: head,
    outputs,
    ...findCollateral(run),
    spendLast,
    splits,
  };
  return { funding, chainedInput, chainRoot };
}

/**
 * Places steps on a parallel output. While the wallet has none, chains the steps: their change then makes
 * parallel outputs.
 *
 * @param steps - of one kind; see `selectTasksForTransaction`
 * @throws as `placeChained`
 */
export function placeParallel(
  run: WalletRun,
  steps: readonly Task[],
  outputs: readonly WalletOutput[],
  address: string,
  now: number,
): TransactionPlacement {
  const { wallet, openTransactions: open } = run;
  const head = findHeadOutput(run, outputs);
  const free = outputs.filter((one) => one !== head);
  const step = {
    isReplaceable: steps.some((one) => one.isReplaceable),
    isUrgent: steps.some((one) => isUrgent(one, now)),
  };
  const parallel = chooseParallelOutput(
    step,
    free.filter((one) => formatOutputReference(one) !== wallet.collateral),
    open,
  );
  if (parallel === "none") return placeChained(run, outputs, address, now, MAX_PARALLEL_OUTPUTS);
  if (parallel === "full")
    throw new RetryLaterError(
      "waits for blocks: the wallet has too many pending transactions",
      now + FULL_RETRY_DELAY_MS,
    );
  return {
    funding: {
      address,
      placementOutput: parallel.output,
      outputs: free,
      ...findCollateral(run),
      splits: parallel.missingOutputCount,
    },
    chainedInput: null,
    chainRoot: wallet.chainRoot,
  };
}

function findCollateral({ wallet: { collateral }, openTransactions: open }: WalletRun) {
  const isCollateralNamed = open.some(
    (one) => isPending(one.phase) && one.collateral?.inputs.some((name) => name === collateral),
  );
  return { collateral, isCollateralNamed };
}

/** The output with which the outward chain continues, or begins; undefined: it is not there. */
function findHeadOutput(
  { wallet: { chainRoot, collateral }, openTransactions: open }: WalletRun,
  outputs: readonly WalletOutput[],
): WalletOutput | undefined {
  const head = chainRoot === null ? null : findChainHead(chainRoot, open);
  const found = outputs.find((one) => formatOutputReference(one) === head);
  if (found || !mayMoveChainRoot(open)) return found;
  const ancestry = ancestryOf(open);
  const free = outputs.filter((one) => formatOutputReference(one) !== collateral);
  const firm = free.filter((one) => ancestry(formatOutputReference(one)).depth === 0);
  return findLargestOutput(firm) ?? findLargestOutput(free) ?? findLargestOutput(outputs);
}

function requireHeadOutput(
  run: WalletRun,
  outputs: readonly WalletOutput[],
  address: string,
): { chainRoot: string; head: WalletOutput } {
  const head = findHeadOutput(run, outputs);
  if (!head && !mayMoveChainRoot(run.openTransactions))
    throw new OutwardChainPendingError("the wallet's earlier transactions are not final yet");
  if (!head)
    throw new InsufficientFundsError(
      `the wallet is empty: send ${MIN_FUNDING_COIN} minor units of the native coin to ${address}`,
      { unit: "", amount: MIN_FUNDING_COIN },
    );
  const { chainRoot } = run.wallet;
  const isSame =
    chainRoot !== null &&
    formatOutputReference(head) === findChainHead(chainRoot, run.openTransactions);
  return { chainRoot: isSame ? chainRoot : formatOutputReference(head), head };
}
