import { contracts } from "../../contracts/index.ts";
import type { Script } from "../../contracts/scripts.ts";
import type { Chain } from "../../ledger/chain.ts";
import type { PublishedScript } from "./plan.ts";
import { buildTransaction } from "./transaction.ts";
import { ADMIN } from "./wallets.ts";

/** Enough for an output that carries a script of up to 10 kilobytes. */
export const HELD_WITH_SCRIPT = 50_000_000n;

/**
 * Puts the script of every contract and policy on the chain, as the deployment of a contract does.
 * After that the provider can return it by its hash. Each script takes a separate transaction.
 *
 * @param deployed - default: all contracts of the local chain
 * @returns the hash of the last transaction.
 * @throws LedgerRejection when the ledger refuses it.
 */
export function publishScripts(chain: Chain, deployed = contracts()): string {
  let txHash = "";
  for (const referenceScript of deployed.flatMap(({ escrow, policy }) => [escrow, policy])) {
    const funds = [{ unit: "", amount: HELD_WITH_SCRIPT }];
    const outputs = [{ address: ADMIN.address, funds, referenceScript }];
    txHash = chain.submit(buildTransaction(chain, { payer: ADMIN, outputs }));
  }
  return txHash;
}

/** @throws when no block has a script that `publishScripts` has put on the chain. */
export function publishedScript(chain: Chain, script: Script): PublishedScript {
  const held = chain.view().addresses.get(ADMIN.address)?.unspent.values() ?? [];
  const output = [...held].find((one) => one.output.referenceScript?.hash === script.hash);
  if (!output) throw new Error("the script was not published");
  return { script, output };
}
