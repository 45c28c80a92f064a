import { type Database, db } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { activeSource } from "../../sources/active.ts";
import { publishedScripts } from "../../wallets/reference-scripts/store.ts";
import { tooManyTokens } from "../actions/ending-memory.ts";
import { isTooLargeWithScript } from "../actions/size.ts";
import { type EscrowRecord, lockOf } from "../record.ts";
import type { AskedName } from "./asked.ts";

/**
 * What is said of a step to who asks for it: that the other party has made the escrow so large that it, or
 * what comes after it, may not be possible.
 *
 * @param name - what the step is called in messages
 */
export async function sizeWarnings(
  env: Env,
  database: Database,
  record: EscrowRecord,
  name: AskedName,
): Promise<string[]> {
  return [
    ...(await scriptWarnings(env, database, record, name)),
    ...(name === "submit-result" ? await tokenWarnings(env, record, name) : []),
  ];
}

/** A fee rate that takes a part of each token. */
const WHOLE_PERMILLE = 1000;

/** A result is submitted for the withdrawal that comes after it. */
async function tokenWarnings(env: Env, record: EscrowRecord, name: AskedName): Promise<string[]> {
  const { output, sourceId, sourceType: type } = record;
  const lock = lockOf(record);
  if (output === null || lock === null) return [];
  const noteAt = (feeRatePermille: number) =>
    tooManyTokens("payment", output.value, { ...lock, type, feeRatePermille });
  if (noteAt(WHOLE_PERMILLE) === null) return [];
  const source = await activeSource(db(env), sourceId);
  const note = source && noteAt(source.feeRatePermille);
  return note ? [`${name}: ${note}`] : [];
}

/** A transaction may have no room beside the contract's script. One that is on the chain takes no room. */
async function scriptWarnings(
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
