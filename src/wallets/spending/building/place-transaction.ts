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

/** Where a transaction stands, and what pays for it. */
export interface TransactionPlacement {
  funding: FundingSource;
  /** The output of the line that it continues; null on a lane. */
  chainedInput: string | null;
  /** See `WalletState`. */
  chainRoot: string | null;
}

/** How long a line or a lane that is full is left alone. */
const FULL_RETRY_DELAY_MS = 5_000;

/**
 * The end of the wallet's line.
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
  const { lineRoot, line } = requireChainTail(run, outputs, address);
  const lineIn = formatOutputReference(line);
  if (ancestry(lineIn).depth >= MAX_UNCONFIRMED_TRANSACTIONS)
    throw new RetryLaterError(
      "waits for blocks: the wallet has too many pending transactions",
      now + FULL_RETRY_DELAY_MS,
    );
  // Descendants of replaceable transactions would be invalidated with them.
  const last = new Set(
    outputs.map(formatOutputReference).filter((name) => ancestry(name).isReplaceable),
  );
  const funding = {
    address,
    baseOutput: line,
    outputs,
    ...findCollateral(run),
    spendLast: last,
    splits,
  };
  return { funding: funding, chainedInput: lineIn, chainRoot: lineRoot };
}

/**
 * A lane for steps; the end of the line while the wallet has none, whose change then makes them.
 *
 * @param steps - of one kind; see `selectForTransaction`
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
  const end = findChainTail(run, outputs);
  const free = outputs.filter((one) => one !== end);
  const step = {
    isReplaceable: steps.some((one) => one.isReplaceable),
    isUrgent: steps.some((one) => isUrgent(one, now)),
  };
  const lane = chooseParallelOutput(
    step,
    free.filter((one) => formatOutputReference(one) !== wallet.collateral),
    open,
  );
  if (lane === "none") return placeChained(run, outputs, address, now, MAX_PARALLEL_OUTPUTS);
  if (lane === "full")
    throw new RetryLaterError(
      "waits for blocks: the wallet has too many pending transactions",
      now + FULL_RETRY_DELAY_MS,
    );
  const { output: on, missingOutputCount: missing } = lane;
  return {
    funding: { address, baseOutput: on, outputs: free, ...findCollateral(run), splits: missing },
    chainedInput: null,
    chainRoot: wallet.lineRoot,
  };
}

function findCollateral({ wallet: { collateral }, openTransactions: open }: WalletRun) {
  const isCollateralNamed = open.some(
    (one) => isPending(one.phase) && one.collateral?.inputs.some((name) => name === collateral),
  );
  return { collateral, isCollateralNamed };
}

/** The output with which the line goes on, or begins; undefined: it is not there. */
function findChainTail(
  { wallet: { lineRoot, collateral }, openTransactions: open }: WalletRun,
  outputs: readonly WalletOutput[],
): WalletOutput | undefined {
  const end = lineRoot === null ? null : findChainHead(lineRoot, open);
  const found = outputs.find((one) => formatOutputReference(one) === end);
  if (found || !mayMoveChainRoot(open)) return found;
  const ancestry = ancestryOf(open);
  const free = outputs.filter((one) => formatOutputReference(one) !== collateral);
  const firm = free.filter((one) => ancestry(formatOutputReference(one)).depth === 0);
  return findLargestOutput(firm) ?? findLargestOutput(free) ?? findLargestOutput(outputs);
}

function requireChainTail(
  run: WalletRun,
  outputs: readonly WalletOutput[],
  address: string,
): { lineRoot: string; line: WalletOutput } {
  const line = findChainTail(run, outputs);
  if (!line && !mayMoveChainRoot(run.openTransactions))
    throw new OutwardChainPendingError("the wallet's earlier transactions are not final yet");
  if (!line)
    throw new InsufficientFundsError(
      `the wallet is empty: send ${MIN_FUNDING_COIN} minor units of the native coin to ${address}`,
      { unit: "", amount: MIN_FUNDING_COIN },
    );
  const { lineRoot } = run.wallet;
  const isSame =
    lineRoot !== null &&
    formatOutputReference(line) === findChainHead(lineRoot, run.openTransactions);
  return { lineRoot: isSame ? lineRoot : formatOutputReference(line), line };
}
