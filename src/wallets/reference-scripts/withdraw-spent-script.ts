/** Published scripts whose outputs a foreign or forgotten transaction has spent. */
import { type Provider, ProviderError } from "../../chain/provider/provider.ts";
import { parseOutputReference } from "../../chain/transaction/transaction-plan.ts";
import { type Database, violates } from "../../db/client.ts";
import { log } from "../../log.ts";
import { StaleWalletError } from "../queue/errors.ts";
import { deleteTasks } from "../queue/store.ts";
import { findReferenceScript, type ReferenceScriptChange, updateReferenceScript } from "./store.ts";
import { REFERENCE_SCRIPT_FEATURE, type ReferenceScriptRow } from "./tables.ts";

/** Hash of the transaction that has spent the output which carries a script. */
export async function findSpender(
  { output }: Pick<ReferenceScriptRow, "output">,
  provider: Pick<Provider, "spenders">,
): Promise<string | undefined> {
  const { txHash, index } = parseOutputReference(output ?? "");
  return (await provider.spenders(txHash))?.get(index);
}

export function toWithdrawnChange(txHash: string): ReferenceScriptChange {
  return { state: "Withdrawn", txHash, error: null };
}

/**
 * Withdraws the published script of a source when its output is spent. Steps then contain the script, until it
 * is published again. A node may not know an output yet, so the provider confirms the spend. If the provider
 * does not answer, the next rejection asks again.
 *
 * @param outputs - outputs that a node does not know
 * @throws StaleWalletError if the row has changed meanwhile
 */
export async function markSpentScriptWithdrawn(
  db: Database,
  provider: Pick<Provider, "spenders">,
  sourceId: string,
  outputs: readonly string[],
): Promise<void> {
  if (outputs.length === 0) return;
  const row = await findReferenceScript(db, sourceId);
  if (row?.state !== "Published" || !outputs.includes(row.output ?? "")) return;
  let txHash: string | undefined;
  try {
    txHash = await findSpender(row, provider);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
  }
  if (txHash === undefined) return;
  log("warn", "reference_script.spent", { id: row.id, source: sourceId, txHash });
  try {
    await db.batch([
      updateReferenceScript(db, row, toWithdrawnChange(txHash), Date.now()),
      ...deleteTasks(REFERENCE_SCRIPT_FEATURE, [row.id]),
    ]);
  } catch (error) {
    if (!violates(error, "reference_script.revision")) throw error;
    throw new StaleWalletError("a reference script was changed meanwhile");
  }
}
