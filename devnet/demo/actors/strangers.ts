/** Hostile transactions: outputs and spends that only look like escrows. */
import { encodeEscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import { encodeRedeemer } from "../../../src/chain/contracts/redeemers.ts";
import type { Funds } from "../../../src/chain/network.ts";
import type { Deployment } from "../../contracts/deployment.ts";
import type { Chain } from "../../ledger/chain.ts";
import { spendOf } from "./actions.ts";
import type { Escrow } from "./escrow.ts";
import { HELD_WITH_SCRIPT } from "./publish.ts";
import { buildTransaction } from "./transaction.ts";
import type { Wallet } from "./wallets.ts";

/** An output at a contract's address. */
export interface RawLock {
  contract: Deployment;
  payer: Wallet;
  /** Bytes of the inline datum: any well-formed Plutus data. None when omitted. */
  datum?: Uint8Array;
  /** Default: 10 whole native coins, or what it takes to hold a script. */
  funds?: Funds[];
  /** The output carries the contract itself as a reference script. */
  referenceScript?: boolean;
}

/**
 * Locks arbitrary outputs in one transaction, paid by the first payer.
 *
 * @returns the transaction's hash
 * @throws LedgerRejection, such as for a datum that is not Plutus data
 */
export function lockRaw(chain: Chain, locks: readonly RawLock[]): string {
  const payer = locks[0]?.payer;
  if (!payer) throw new Error("nothing to lock");
  const outputs = locks.map(({ contract, datum, funds, referenceScript }) => ({
    address: contract.address,
    funds: funds ?? [{ unit: "", amount: referenceScript ? HELD_WITH_SCRIPT : 10_000_000n }],
    ...(datum && { datum }),
    ...(referenceScript && { referenceScript: contract.escrow }),
  }));
  return chain.submit(buildTransaction(chain, { payer, outputs }));
}

/**
 * Locks the datum of an escrow once more, as anyone can who has read it from the chain.
 *
 * @throws LedgerRejection when the ledger refuses it.
 */
export function lockAgain(chain: Chain, escrow: Escrow, payer: Wallet): Escrow {
  const { contract, funds } = escrow;
  const datum = encodeEscrowDatum(escrow.datum);
  return { ...escrow, index: 0, txHash: lockRaw(chain, [{ contract, payer, datum, funds }]) };
}

/** Constructor 7: the contracts have methods 0 to 6. */
const NO_SUCH_METHOD = encodeRedeemer(7);

/**
 * Spends an escrow with a redeemer that the contract refuses. The transaction is in a block with
 * `is_valid` false. It changes no escrow, and its sender loses the collateral.
 *
 * @returns the transaction's hash.
 */
export function failToSpend(chain: Chain, escrow: Escrow): string {
  const cbor = buildTransaction(chain, {
    payer: escrow.buyer,
    outputs: [{ address: escrow.buyer.address, funds: escrow.funds }],
    spends: [{ ...spendOf(escrow), redeemer: NO_SUCH_METHOD }],
    scripts: [escrow.contract.escrow],
    units: { memory: 500_000n, steps: 500_000_000n },
    isValid: false,
  });
  return chain.submit(cbor);
}
