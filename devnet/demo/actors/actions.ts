/**
 * Steps of an escrow's parties: each call is one real, submitted transaction. They obey the
 * contracts' rules. If a step is not allowed yet, the chain's clock advances.
 */
import { encodeEscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import { blake2b256 } from "../../blake2b.ts";
import type { Chain } from "../../ledger/chain.ts";
import { draftEscrow, type Escrow, type LockOrder } from "./escrow.ts";
import {
  continuingDatum,
  type DemoMove,
  payouts,
  redeemerOf,
  signerOf,
  spentOutput,
} from "./moves.ts";
import type { PlannedOutput, PlannedSpend } from "./plan.ts";
import { publishedScript } from "./publish.ts";
import { buildTransaction } from "./transaction.ts";
import type { Wallet } from "./wallets.ts";
import { opensAt, windowOf } from "./window.ts";

/** One escrow for each order or step, in the same order. */
type EscrowFor<T> = { [K in keyof T]: Escrow };

/**
 * Locks what a buyer orders.
 *
 * @throws LedgerRejection when the ledger refuses it.
 */
export function lock(chain: Chain, order: LockOrder): Escrow {
  const [escrow] = lockAll(chain, [order]);
  return escrow;
}

/**
 * Locks several orders in one transaction, paid by the buyer of the first.
 *
 * @throws LedgerRejection when the ledger refuses it.
 */
export function lockAll<const T extends readonly LockOrder[]>(
  chain: Chain,
  orders: T,
): EscrowFor<T> {
  const payer = orders[0]?.buyer;
  if (!payer) throw new Error("nothing to lock");
  const drafts = orders.map((order) => draftEscrow(order, chain.now()));
  const outputs = drafts.map(({ contract, datum, funds }, i) => {
    const cbor = encodeEscrowDatum(datum);
    const carried = orders[i]?.isByHash ? { datumHash: blake2b256(cbor) } : { datum: cbor };
    return { address: contract.address, funds, ...carried };
  });
  const txHash = chain.submit(buildTransaction(chain, { payer, outputs }));
  return drafts.map((draft, index) => ({ ...draft, txHash, index })) as EscrowFor<T>;
}

/**
 * Takes one step of one escrow.
 *
 * @returns the escrow after the step.
 * @throws LedgerRejection when the ledger refuses it, for example because the escrow was spent.
 */
export function act(
  chain: Chain,
  escrow: Escrow,
  action: DemoMove["action"],
  options: Omit<DemoMove, "escrow" | "action"> = {},
): Escrow {
  const [continued] = actAll(chain, [{ escrow, action, ...options }]);
  return continued;
}

/**
 * Takes several steps in one transaction, signed by all of their parties.
 *
 * @param payer - as of `actAndLock`
 * @throws LedgerRejection when the ledger refuses it.
 */
export function actAll<const T extends readonly DemoMove[]>(
  chain: Chain,
  moves: T,
  payer?: Wallet,
): EscrowFor<T> {
  return actAndLock(chain, moves, [], payer) as EscrowFor<T>;
}

/**
 * Takes several steps and locks several orders in one transaction, signed by all of their parties.
 * The chain's clock advances to the first time at which the transaction is valid.
 *
 * @param payer - pays fee, collateral and locks. Default: the first step's signer.
 * @returns the escrows of the steps, and then the locked ones
 * @throws LedgerRejection
 */
export function actAndLock(
  chain: Chain,
  moves: readonly DemoMove[],
  orders: readonly LockOrder[],
  payer = moves[0] && signerOf(moves[0]),
): Escrow[] {
  if (!payer) throw new Error("nothing to do");
  const coSigners = [...new Set(moves.map(signerOf))].filter((signer) => signer !== payer);
  if (chain.now() < opensAt(moves)) chain.moveTo(opensAt(moves));
  const now = chain.now();
  const validity = windowOf(moves, now);
  const outputs: PlannedOutput[] = [];
  const continued = moves.map((move) => {
    const datum = continuingDatum(move, validity.to);
    if (!datum) {
      outputs.push(...payouts(move));
      return { ...move.escrow, index: null };
    }
    const { contract, funds } = move.escrow;
    outputs.push({ address: contract.address, funds, datum: encodeEscrowDatum(datum) });
    return { ...move.escrow, datum, index: outputs.length - 1 };
  });
  const locked = orders.map((order) => {
    const draft = draftEscrow(order, now);
    const { contract, datum, funds } = draft;
    outputs.push({ address: contract.address, funds, datum: encodeEscrowDatum(datum) });
    return { ...draft, index: outputs.length - 1 };
  });
  const cbor = buildTransaction(chain, {
    payer,
    coSigners,
    outputs,
    spends: moves.map((move) => ({ ...spendOf(move.escrow), redeemer: redeemerOf(move) })),
    scripts: scriptsOf(moves.filter(({ isScriptRead }) => !isScriptRead)),
    reads: scriptsOf(moves.filter(({ isScriptRead }) => isScriptRead)).map((script) =>
      publishedScript(chain, script),
    ),
    validity,
  });
  const txHash = chain.submit(cbor);
  return [...continued, ...locked].map((escrow) => ({ ...escrow, txHash }));
}

const scriptsOf = (moves: readonly DemoMove[]) => [
  ...new Set(moves.map(({ escrow }) => escrow.contract.escrow)),
];

/** @throws when the escrow has been paid out. */
export function spendOf(escrow: Escrow): Omit<PlannedSpend, "redeemer"> {
  return { ...spentOutput(escrow), funds: escrow.funds };
}
