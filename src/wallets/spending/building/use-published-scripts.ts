/** Scripts that a transaction reads from outputs on the chain instead of holding them. */
import {
  formatOutputReference,
  type ScriptSource,
  type TransactionPlan,
} from "../../../chain/transaction/transaction-plan.ts";
import type { TransactionPart } from "../../queue/feature.ts";

/** A part that reads its scripts from the outputs that carry them, where there are such. */
export function usePublishedScripts(
  part: TransactionPart,
  published: ReadonlyMap<string, ScriptSource>,
): TransactionPart {
  const replaceScript = <Run extends { script: ScriptSource }>(run: Run): Run => ({
    ...run,
    script: published.get(run.script.hash) ?? run.script,
  });
  return {
    ...part,
    scriptInputs: part.scriptInputs.map(replaceScript),
    mints: part.mints.map(replaceScript),
  };
}

/** Names of the outputs that a transaction reads scripts from. */
export function listScriptReferences({ scriptInputs, mints }: TransactionPlan): string[] {
  const names = [...scriptInputs, ...mints].flatMap(({ script }) =>
    script.from === "reference" ? [formatOutputReference(script.output)] : [],
  );
  return [...new Set(names)];
}
