/** What the parties of an escrow do on the chain: each call is one real, submitted transaction. */
import { encodeEscrowDatum } from "../../src/chain/escrow-datum.ts";
import type { Chain } from "../chain.ts";
import { draftEscrow, type Escrow, type LockOrder } from "./escrow.ts";
import { continuingDatum, type Move, payouts, redeemerOf, signerOf } from "./moves.ts";
import type { PlannedOutput, PlannedSpend } from "./plan.ts";
import { buildTransaction } from "./transaction.ts";

/** Room for clock differences on both sides of a validity interval. */
const VALIDITY_MS = 5 * 60_000;

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
 * Does several things in one transaction, signed by the party whose move comes first.
 *
 * @throws LedgerRejection when the ledger refuses it.
 */
export function actAll<const T extends readonly Move[]>(chain: Chain, moves: T): EscrowFor<T> {
  return actAndLock(chain, moves, []) as EscrowFor<T>;
}

/**
 * Does several things and locks several orders in one transaction, signed and paid by the party
 * whose move comes first.
 *
 * @returns the escrows that were moved, and then those that were locked.
 * @throws LedgerRejection when the ledger refuses it.
 */
export function actAndLock(
  chain: Chain,
  moves: readonly Move[],
  orders: readonly LockOrder[],
): Escrow[] {
  const payer = moves[0] && signerOf(moves[0]);
  if (!payer) throw new Error("nothing to do");
  const now = chain.now();
  const outputs: PlannedOutput[] = [];
  const moved = moves.map((move) => {
    const datum = continuingDatum(move, now);
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
    outputs,
    spends: moves.map((move) => ({ ...spendOf(move.escrow), redeemer: redeemerOf(move) })),
    scripts: [...new Set(moves.map(({ escrow }) => escrow.contract.scriptCbor))],
    validity: { from: now - VALIDITY_MS, to: now + VALIDITY_MS },
  });
  const txHash = chain.submit(cbor);
  return [...moved, ...locked].map((escrow) => ({ ...escrow, txHash }));
}

/** @throws when the escrow has been paid out. */
export function spendOf({ txHash, index, funds }: Escrow): Omit<PlannedSpend, "redeemer"> {
  if (index === null) throw new Error(`the escrow was paid out by ${txHash}`);
  return { txHash, index, funds };
}
