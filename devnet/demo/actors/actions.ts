/**
 * What the parties of an escrow do on the chain: each call is one real, submitted transaction. They
 * obey the contracts' rules, and where a move has to wait, the chain's clock is moved.
 */
import { encodeEscrowDatum } from "../../../src/chain/escrow-datum.ts";
import type { Chain } from "../../ledger/chain.ts";
import { draftEscrow, type Escrow, type LockOrder } from "./escrow.ts";
import { continuingDatum, type Move, payouts, redeemerOf, signerOf, spentOutput } from "./moves.ts";
import type { PlannedOutput, PlannedSpend } from "./plan.ts";
import { publishedScript } from "./publish.ts";
import { buildTransaction } from "./transaction.ts";
import type { Wallet } from "./wallets.ts";
import { opensAt, windowOf } from "./window.ts";

/** One escrow for each order or move, in the same order. */
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
  const outputs = drafts.map(({ contract, datum, funds }) => ({
    address: contract.address,
    funds,
    datum: encodeEscrowDatum(datum),
  }));
  const txHash = chain.submit(buildTransaction(chain, { payer, outputs }));
  return drafts.map((draft, index) => ({ ...draft, txHash, index })) as EscrowFor<T>;
}

/**
 * Does one thing to one escrow.
 *
 * @returns the escrow as it stands then.
 * @throws LedgerRejection when the ledger refuses it, for example because the escrow has moved on.
 */
export function act(
  chain: Chain,
  escrow: Escrow,
  action: Move["action"],
  options: Omit<Move, "escrow" | "action"> = {},
): Escrow {
  const [moved] = actAll(chain, [{ escrow, action, ...options }]);
  return moved;
}

/**
 * Does several things in one transaction, signed by all whose moves they are.
 *
 * @param payer - as of `actAndLock`
 * @throws LedgerRejection when the ledger refuses it.
 */
export function actAll<const T extends readonly Move[]>(
  chain: Chain,
  moves: T,
  payer?: Wallet,
): EscrowFor<T> {
  return actAndLock(chain, moves, [], payer) as EscrowFor<T>;
}

/**
 * Does several things and locks several orders in one transaction, signed by all whose moves they
 * are. Moves the chain's clock to when all of it is possible.
 *
 * @param payer - pays fee, collateral and locks, and signs too; default: the first whose move it is
 * @returns the escrows that were moved, and then those that were locked.
 * @throws LedgerRejection when the ledger refuses it.
 */
export function actAndLock(
  chain: Chain,
  moves: readonly Move[],
  orders: readonly LockOrder[],
  payer = moves[0] && signerOf(moves[0]),
): Escrow[] {
  if (!payer) throw new Error("nothing to do");
  const coSigners = [...new Set(moves.map(signerOf))].filter((signer) => signer !== payer);
  if (chain.now() < opensAt(moves)) chain.moveTo(opensAt(moves));
  const now = chain.now();
  const validity = windowOf(moves, now);
  const outputs: PlannedOutput[] = [];
  const moved = moves.map((move) => {
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
  return [...moved, ...locked].map((escrow) => ({ ...escrow, txHash }));
}

const scriptsOf = (moves: readonly Move[]) => [
  ...new Set(moves.map(({ escrow }) => escrow.contract.escrow)),
];

/** @throws when the escrow has been paid out. */
export function spendOf(escrow: Escrow): Omit<PlannedSpend, "redeemer"> {
  return { ...spentOutput(escrow), funds: escrow.funds };
}
