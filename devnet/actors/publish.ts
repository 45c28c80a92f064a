import type { Chain } from "../chain.ts";
import { CONTRACTS } from "../contracts/index.ts";
import { TEMPLATE_SCRIPTS } from "../contracts/templates.ts";
import { buildTransaction } from "./transaction.ts";
import { ADMIN } from "./wallets.ts";

/** Enough for an output that carries a script of a few hundred bytes. */
const HELD_WITH_SCRIPT = 10_000_000n;

/**
 * Puts the script of every contract, and those that contracts are derived from, on the chain, as
 * whoever deploys a contract does: from then on the provider can show it to those who know its hash.
 *
 * @throws LedgerRejection when the ledger refuses it.
 */
export function publishScripts(chain: Chain): string {
  const scripts = [...CONTRACTS.map(({ scriptCbor }) => scriptCbor), ...TEMPLATE_SCRIPTS];
  const outputs = scripts.map((referenceScript) => ({
    address: ADMIN.address,
    funds: [{ unit: "", amount: HELD_WITH_SCRIPT }],
    referenceScript,
  }));
  return chain.submit(buildTransaction(chain, { payer: ADMIN, outputs }));
}
