/** Published scripts whose outputs were spent by somebody else who has the wallet's key, or before a restore. */
import { type Provider, ProviderError } from "../../chain/provider/provider.ts";
import { outputNamed } from "../../chain/transaction/plan.ts";
import type { Database } from "../../db/client.ts";
import { log } from "../../log.ts";
import {
  changeReferenceScripts,
  type ReferenceScriptChange,
  referenceScriptOf,
  updateReferenceScript,
} from "./store.ts";
import type { ReferenceScriptRow } from "./tables.ts";

/** Hash of the transaction that has spent the output which carries a script. */
export async function spenderOf(
  { output }: Pick<ReferenceScriptRow, "output">,
  provider: Pick<Provider, "spenders">,
): Promise<string | undefined> {
  const { txHash, index } = outputNamed(output ?? "");
  return (await provider.spenders(txHash))?.get(index);
}

export function afterSpent(txHash: string): ReferenceScriptChange {
  return { state: "Withdrawn", txHash, error: null, failures: 0, dueAt: null };
}

/**
 * Forgets the published script of a source when its output is spent: steps hold the script from then on, and it
 * is published again where one needs it. A node that does not know an output may merely be late, so the chain is
 * asked; if it does not answer, the next refusal has it asked again.
 *
 * @param outputs - names of those that a node does not know
 * @throws StaleWallet when the row has changed meanwhile
 */
export async function forgetSpent(
  db: Database,
  provider: Pick<Provider, "spenders">,
  sourceId: string,
  outputs: readonly string[],
): Promise<void> {
  if (outputs.length === 0) return;
  const row = await referenceScriptOf(db, sourceId);
  if (row?.state !== "Published" || !outputs.includes(row.output ?? "")) return;
  let txHash: string | undefined;
  try {
    txHash = await spenderOf(row, provider);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
  }
  if (txHash === undefined) return;
  log("warn", "reference_script.spent", { id: row.id, source: sourceId, txHash });
  const change = updateReferenceScript(db, row, afterSpent(txHash), Date.now());
  await changeReferenceScripts(db, [change]);
}
