import { outputName, type WalletOutput } from "../../../chain/transaction/plan.ts";
import { largestOf, WalletShort } from "../../../chain/transaction/selection.ts";
import { LineWaits, type Task } from "../../work.ts";
import { groundOf, isUrgent, laneFor, MAX_LANES, MAX_UNCONFIRMED } from "../lanes.ts";
import { isWaiting } from "../life.ts";
import { headOf, mayMoveRoot } from "../line.ts";
import type { Run } from "../ports.ts";
import type { Purse } from "./compose.ts";
import { NotYet } from "./window.ts";

/** Where a transaction stands, and what pays for it. */
export interface Place {
  purse: Purse;
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
 * @param splits - see `Purse`
 * @throws LineWaits, WalletShort: there is none; NotYet: it is full
 */
export function placeOnLine(
  run: Run,
  outputs: readonly WalletOutput[],
  address: string,
  now: number,
  splits = 0,
): Place {
  const ground = groundOf(run.open);
  const { lineRoot, line } = lineFor(run, outputs, address);
  const lineIn = outputName(line);
  if (ground(lineIn).depth >= MAX_UNCONFIRMED)
    throw new NotYet("the wallet's line is full", now + FULL_MS);
  // What hangs on what others can overtake would fall with it.
  const last = new Set(outputs.map(outputName).filter((name) => ground(name).isShaky));
  const purse = { address, line, outputs, ...collateralOf(run), last, splits };
  return { purse, lineIn, lineRoot };
}

/**
 * A lane for steps; the end of the line while the wallet has none, whose change then makes them.
 *
 * @param steps - of one kind; see `together`
 * @throws as `placeOnLine`
 */
export function placeOnLane(
  run: Run,
  steps: readonly Task[],
  outputs: readonly WalletOutput[],
  address: string,
  now: number,
): Place {
  const { wallet, open } = run;
  const end = lineEnd(run, outputs);
  const free = outputs.filter((one) => one !== end);
  const step = {
    canBeOvertaken: steps.some((one) => one.canBeOvertaken),
    isUrgent: steps.some((one) => isUrgent(one, now)),
  };
  const lane = laneFor(
    step,
    free.filter((one) => outputName(one) !== wallet.collateral),
    open,
  );
  if (lane === "none") return placeOnLine(run, outputs, address, now, MAX_LANES);
  if (lane === "full") throw new NotYet("the wallet's lanes are full", now + FULL_MS);
  const { on, missing } = lane;
  return {
    purse: { address, line: on, outputs: free, ...collateralOf(run), splits: missing },
    lineIn: null,
    lineRoot: wallet.lineRoot,
  };
}

function collateralOf({ wallet: { collateral }, open }: Run) {
  const isCollateralNamed = open.some(
    (one) => isWaiting(one.phase) && one.collateral?.inputs.some((name) => name === collateral),
  );
  return { collateral, isCollateralNamed };
}

/** The output with which the line goes on, or begins; undefined: it is not there. */
function lineEnd(
  { wallet: { lineRoot, collateral }, open }: Run,
  outputs: readonly WalletOutput[],
): WalletOutput | undefined {
  const end = lineRoot === null ? null : headOf(lineRoot, open);
  const found = outputs.find((one) => outputName(one) === end);
  if (found || !mayMoveRoot(open)) return found;
  const ground = groundOf(open);
  const free = outputs.filter((one) => outputName(one) !== collateral);
  const firm = free.filter((one) => ground(outputName(one)).depth === 0);
  return largestOf(firm) ?? largestOf(free) ?? largestOf(outputs);
}

function lineFor(
  run: Run,
  outputs: readonly WalletOutput[],
  address: string,
): { lineRoot: string; line: WalletOutput } {
  const line = lineEnd(run, outputs);
  if (!line && !mayMoveRoot(run.open))
    throw new LineWaits("the wallet's earlier transactions are not final yet");
  if (!line)
    throw new WalletShort(
      `the wallet is empty: send ${FIRST_COIN} minor units of the native coin to ${address}, then try again`,
      { unit: "", amount: FIRST_COIN },
    );
  const { lineRoot } = run.wallet;
  const isSame = lineRoot !== null && outputName(line) === headOf(lineRoot, run.open);
  return { lineRoot: isSame ? lineRoot : outputName(line), line };
}
