import { type Database, openDb } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import type { AppContext } from "../../http/context.ts";
import { findActiveSource } from "../../sources/find-source.ts";
import { listPublishedScripts } from "../../wallets/reference-scripts/store.ts";
import { type EscrowRecord, findLock } from "../model/escrow-record.ts";
import { isTooLargeWithScript } from "../model/output-size.ts";
import { explainTooManyTokens } from "../model/payout-memory.ts";
import { createIntent } from "../store/create-intent.ts";
import type { IdentifiedRecord } from "../store/load-by-identifier.ts";
import {
  changeOwnRecord,
  createWrongStateError,
  type EscrowReference,
  requirePossibleStep,
} from "./change-record.ts";
import { API_STEPS, type ApiStepName, type StepRequest, validateStep } from "./validate-step.ts";

/**
 * Requests a step from the wallet of an escrow's party. A pending or completed step returns the record and
 * changes nothing.
 *
 * @param now - epoch milliseconds.
 * @returns the record and a note on the step, once per Idempotency-Key.
 * @throws ApiError 403, 404, 409, 422, 503; ProviderError.
 */
export async function requestStep<ApiRecord>(
  c: AppContext,
  request: StepRequest,
  { network, blockchainIdentifier }: Omit<EscrowReference, "side">,
  now: number,
): Promise<ApiRecord & { Warnings: string[] }> {
  const named = { side: API_STEPS[request.name].side, network, blockchainIdentifier };
  const decide = async ({ record, newestStep }: IdentifiedRecord, database: Database) => {
    const verdict = validateStep(record, request, newestStep);
    const warnings = await collectSizeWarnings(c.env, database, record, request.name);
    if (verdict.is === "done") return { change: null, warnings };
    if (verdict.is === "refused") throw createWrongStateError(verdict.reason);
    const { step } = verdict;
    await requirePossibleStep(c, record, request.name, step, now);
    const intent = createIntent(step, c.var.caller.id, now, request.resultHash);
    const progress = { ...record.progress, intent, pendingTransaction: null, error: null };
    return { change: { progress, action: "step" as const, step }, warnings };
  };
  const { record, warnings } = await changeOwnRecord<ApiRecord>(c, named, decide, now);
  return { ...record, Warnings: [...warnings] };
}

/**
 * Warnings for the caller of a step. The other party may have made the escrow so large that this
 * step, or a later one, is impossible.
 *
 * @param name - what messages call the step
 */
async function collectSizeWarnings(
  env: Env,
  database: Database,
  record: EscrowRecord,
  name: ApiStepName,
): Promise<string[]> {
  const notes = [
    await explainMissingScript(env, database, record),
    // A result is submitted for the withdrawal that comes after it.
    name === "submit-result" ? await explainTokensOfWithdrawal(env, record) : null,
  ];
  return notes.filter((note) => note !== null).map((note) => `${name}: ${note}`);
}

/** A fee rate that takes a part of each token. */
const FULL_FEE_PERMILLE = 1000;

async function explainTokensOfWithdrawal(env: Env, record: EscrowRecord): Promise<string | null> {
  const { output, sourceId, sourceType: type } = record;
  const lock = findLock(record);
  if (output === null || lock === null) return null;
  const explainAtFeeRate = (feeRatePermille: number) =>
    explainTooManyTokens("payment", output.value, { ...lock, type, feeRatePermille });
  if (explainAtFeeRate(FULL_FEE_PERMILLE) === null) return null;
  const source = await findActiveSource(openDb(env), sourceId);
  return source && explainAtFeeRate(source.feeRatePermille);
}

/** A transaction may have no room beside the contract's script. One that is on the chain takes no room. */
async function explainMissingScript(
  env: Pick<Env, "AUTO_REFERENCE_SCRIPT">,
  database: Database,
  record: EscrowRecord,
): Promise<string | null> {
  if (!isTooLargeWithScript(record)) return null;
  const { size } = await listPublishedScripts(database, record.sourceId);
  if (size > 0) return null;
  const publishing =
    env.AUTO_REFERENCE_SCRIPT === "false"
      ? "publish the reference script of the payment source"
      : "a wallet of the payment source publishes it within minutes";
  return `the escrow is so large that the step may need the contract's script on the chain; ${publishing}`;
}
