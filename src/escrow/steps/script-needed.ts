import type { Database } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { publishedScripts } from "../../wallets/reference-scripts/store.ts";
import { isTooLargeWithScript } from "../actions/size.ts";
import type { EscrowRecord } from "../record.ts";

/**
 * What is said of a step for which a transaction may have no room beside the contract's script: the other
 * party has made the escrow so large. A script that is on the chain takes no room.
 *
 * @param name - what the step is called in messages
 */
export async function scriptWarnings(
  env: Pick<Env, "AUTO_REFERENCE_SCRIPT">,
  database: Database,
  record: EscrowRecord,
  name: string,
): Promise<string[]> {
  if (!isTooLargeWithScript(record)) return [];
  const { size } = await publishedScripts(database, record.sourceId);
  if (size > 0) return [];
  const publishing =
    env.AUTO_REFERENCE_SCRIPT === "false"
      ? "publish it by POST /payment-source-extended/reference-script"
      : "a wallet of its payment source publishes it within minutes";
  return [
    `${name}: the escrow is so large that the step may need the contract's script on the chain; ${publishing}`,
  ];
}
