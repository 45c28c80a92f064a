import { InsufficientFundsError, largestOf } from "../../../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type WalletOutput,
} from "../../../chain/transaction/transaction-plan.ts";
import { isWaiting } from "../../model/phases.ts";
import { LineBlockedError, NotYetError } from "../../queue/errors.ts";
import type { Task } from "../../queue/feature.ts";
import type { WalletRun } from "../context/wallet-ports.ts";
import {
  ancestryOf,
  chooseLane,
  isUrgent,
  MAX_LANES,
  MAX_UNCONFIRMED,
} from "../model/choose-lane.ts";
import { findHead, mayMoveRoot } from "../model/outward-line.ts";
import type { FundingSource } from "./compose.ts";

/** Where a transaction stands, and what pays for it. */
export interface TransactionPlace {
  funding: FundingSource;
  /** The output of the line that it continues; null on a lane. */
  lineIn: string | null;
  /** See `WalletState`. */
  lineRoot: string | null;
}

/** How long a line or a lane that is full is left alone. */
const FULL_MS = 5_000;
/** Native minor units that an empty wallet asks for. */
const FIRST_COIN = 10_000_000n;

/**
 * The end of the wallet's line.
 *
 * @param outputs - all that the wallet can spend
 * @param splits - see `FundingSource`
 * @throws LineBlockedError, InsufficientFundsError: there is none; NotYetError: it is full
 */
export function placeOnLine(
  run: WalletRun,
  outputs: readonly WalletOutput[],
  address: string,
  now: number,
  splits = 0,
): TransactionPlace {
  const ancestry = ancestryOf(run.open);
  const { lineRoot, line } = lineFor(run, outputs, address);
  const lineIn = formatOutputReference(line);
  if (ancestry(lineIn).depth >= MAX_UNCONFIRMED)
    throw new NotYetError(
      "waits for blocks: the wallet has too many pending transactions",
      now + FULL_MS,
    );
  // Descendants of replaceable transactions would be invalidated with them.
  const last = new Set(
    outputs.map(formatOutputReference).filter((name) => ancestry(name).isReplaceable),
  );
  const funding = {
    address,
    baseOutput: line,
    outputs,
    ...collateralOf(run),
    spendLast: last,
    splits,
  };
  return { funding: funding, lineIn, lineRoot };
}

/**
 * A lane for steps; the end of the line while the wallet has none, whose change then makes them.
 *
 * @param steps - of one kind; see `selectForOne`
 * @throws as `placeOnLine`
 */
export function placeOnLane(
  run: WalletRun,
  steps: readonly Task[],
  outputs: readonly WalletOutput[],
  address: string,
  now: number,
): TransactionPlace {
  const { wallet, open } = run;
  const end = lineEnd(run, outputs);
  const free = outputs.filter((one) => one !== end);
  const step = {
    isReplaceable: steps.some((one) => one.isReplaceable),
    isUrgent: steps.some((one) => isUrgent(one, now)),
  };
  const lane = chooseLane(
    step,
    free.filter((one) => formatOutputReference(one) !== wallet.collateral),
    open,
  );
  if (lane === "none") return placeOnLine(run, outputs, address, now, MAX_LANES);
  if (lane === "full")
    throw new NotYetError(
      "waits for blocks: the wallet has too many pending transactions",
      now + FULL_MS,
    );
  const { output: on, missing } = lane;
  return {
    funding: { address, baseOutput: on, outputs: free, ...collateralOf(run), splits: missing },
    lineIn: null,
    lineRoot: wallet.lineRoot,
  };
}

function collateralOf({ wallet: { collateral }, open }: WalletRun) {
  const isCollateralNamed = open.some(
    (one) => isWaiting(one.phase) && one.collateral?.inputs.some((name) => name === collateral),
  );
  return { collateral, isCollateralNamed };
}

/** The output with which the line goes on, or begins; undefined: it is not there. */
function lineEnd(
  { wallet: { lineRoot, collateral }, open }: WalletRun,
  outputs: readonly WalletOutput[],
): WalletOutput | undefined {
  const end = lineRoot === null ? null : findHead(lineRoot, open);
  const found = outputs.find((one) => formatOutputReference(one) === end);
  if (found || !mayMoveRoot(open)) return found;
  const ancestry = ancestryOf(open);
  const free = outputs.filter((one) => formatOutputReference(one) !== collateral);
  const firm = free.filter((one) => ancestry(formatOutputReference(one)).depth === 0);
  return largestOf(firm) ?? largestOf(free) ?? largestOf(outputs);
}

function lineFor(
  run: WalletRun,
  outputs: readonly WalletOutput[],
  address: string,
): { lineRoot: string; line: WalletOutput } {
  const line = lineEnd(run, outputs);
  if (!line && !mayMoveRoot(run.open))
    throw new LineBlockedError("the wallet's earlier transactions are not final yet");
  if (!line)
    throw new InsufficientFundsError(
      `the wallet is empty: send ${FIRST_COIN} minor units of the native coin to ${address}, then try again`,
      { unit: "", amount: FIRST_COIN },
    );
  const { lineRoot } = run.wallet;
  const isSame = lineRoot !== null && formatOutputReference(line) === findHead(lineRoot, run.open);
  return { lineRoot: isSame ? lineRoot : formatOutputReference(line), line };
}
