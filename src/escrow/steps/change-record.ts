/** How a record is changed by a request: decided on, written once, and told to whoever has to act. */
import type { Network } from "../../chain/network.ts";
import { type Database, openDb, statement } from "../../db/client.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { commitWithAudit } from "../../http/audit.ts";
import { mayUseWallet } from "../../http/authenticate.ts";
import type { AppContext, Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently, type StoreResponse } from "../../http/idempotency.ts";
import { retryOnConflict } from "../../http/retry-on-conflict.ts";
import { selectAutomationMode } from "../../sources/automation-mode.ts";
import { findActiveSource } from "../../sources/find-source.ts";
import { openSourceProvider } from "../../sources/open-source-provider.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import { listActiveWallets } from "../../wallets/managed/find-wallet.ts";
import { wakeWallet } from "../../wallets/queue/wake-wallet.ts";
import { isFeeReceiverMissing, UNKNOWN_FEE_RECEIVER_NOTE } from "../model/build-payouts.ts";
import type { EscrowRecord, Side } from "../model/escrow-record.ts";
import type { Progress, Step } from "../model/intent.ts";
import { readRecordText } from "../queries/list-page.ts";
import { requireOwner } from "../queries/scope-condition.ts";
import { ChangeSet } from "../store/change-set.ts";
import { type IdentifiedRecord, loadByIdentifier } from "../store/load-by-identifier.ts";
import {
  renderRecord,
  STAMP_MARK,
  withConfirmations,
  withHistories,
  withMetadata,
} from "../store/render-record.ts";
import { writeChanges } from "../store/write-changes.ts";
import { readLiveChainTime } from "../terms/escrow-times.ts";
import { isFinalStep, validateTiming } from "./validate-step.ts";

/** An escrow of a side, as requests name it. */
export interface EscrowReference {
  side: Side;
  network: Network;
  blockchainIdentifier: string;
}

/** What a request makes of a record. */
export interface RecordDecision {
  /** Null: nothing, since the step is pending or done. */
  change: {
    progress: Progress;
    /** For the audit. */
    action: "step" | "retry" | "clear";
    step: Step | null;
  } | null;
  /** Shown beside the record. */
  warnings?: readonly string[];
}

/**
 * Changes a caller's record once per Idempotency-Key, and wakes whoever has something to do with it. The service also
 * stores that a record did not change. A later request with the same key then changes nothing either. The answer is
 * the record as it is then.
 *
 * @param decide - called again while other writers change the record
 * @param now - epoch milliseconds
 * @throws ApiError 403, 404, 409, 422
 */
export async function changeOwnRecord<ApiRecord>(
  c: AppContext,
  named: EscrowReference,
  decide: (found: IdentifiedRecord, database: Database) => Promise<RecordDecision>,
  now: number,
): Promise<{ record: ApiRecord; warnings: readonly string[] }> {
  const { network, side } = named;
  const { deadline, requestId } = c.var;
  const database = openDb(c.env, network, { writes: "idempotent", deadline });
  const changed = await runIdempotently(c, database, now, (remember) =>
    retryOnConflict(
      async () => {
        const found = await findOwnRecord(c, database, named);
        const decision = await decide(found, database);
        return writeDecision(c, database, found, decision, now, remember);
      },
      "escrow.revision",
      `blockchainIdentifier: the ${side}`,
    ),
  );
  // Before the wallet moves the record on.
  const record = await loadChangeResponse<ApiRecord>(c, database, changed);
  if (changed.made !== null)
    await Promise.all([
      wakeDispatcher(c.env, requestId),
      changed.vkey && wakeWallet(c.env, network, changed.vkey, requestId),
    ]);
  return { record, warnings: changed.warnings ?? [] };
}

/**
 * The record of an escrow, which only its owner and Admins may change: of several the one that is meant.
 *
 * @throws ApiError 403, 404; ArchiveBehindError
 */
async function findOwnRecord(
  { env, var: { caller, deadline } }: Pick<AppContext, "env" | "var">,
  database: Database,
  named: EscrowReference,
): Promise<IdentifiedRecord> {
  const { side } = named;
  const [found] = await loadByIdentifier(env, database, named, deadline);
  if (!found || !isInScope(found.record, caller))
    throw new ApiError(404, `blockchainIdentifier: there is no such ${side}`);
  requireOwner(caller, found.record);
  return found;
}

function isInScope({ wallet, requestedById }: EscrowRecord, { id, scope }: Caller): boolean {
  if (!scope?.walletIds) return true;
  return wallet === null ? requestedById === id : mayUseWallet(scope, wallet.id);
}

export function createWrongStateError(reason: string): ApiError {
  return new ApiError("wrong_state", `blockchainIdentifier: ${reason}`);
}

async function writeDecision(
  c: AppContext,
  database: Database,
  { record, tipHeight }: IdentifiedRecord,
  { change, warnings = [] }: RecordDecision,
  now: number,
  remember: StoreResponse,
): Promise<ChangeResult> {
  const { id, side, network, sourceId, wallet } = record;
  const unchanged = { id, side, network, vkey: wallet?.vkey ?? null, made: null, warnings };
  if (change === null) {
    const statements = await remember(unchanged);
    if (statements.length > 0) await database.batch(statements);
    return unchanged;
  }
  const changes = new ChangeSet([record], now, tipHeight);
  changes.setProgress(record, change.progress);
  const text = renderRecord(record, changes.records.get(id)?.changedStamps);
  const doc = withConfirmations(text, tipHeight);
  const changed = { ...unchanged, made: { sequence: record.sequence, at: now, doc } };
  const { action, step } = change;
  const audited = {
    action: `${side}.${action}`,
    target: id,
    detail: { network, step },
    now,
  } as const;
  const results = await commitWithAudit(c, database, audited, [
    ...(await remember(changed)),
    ...writeChanges(changes, { sourceId, network }),
    statement(CHANGED_ROW_SQL, id),
  ]);
  const [row] = (results?.at(-1)?.results ?? []) as ChangedRow[];
  return { ...changed, ...(row && { row }) };
}

/**
 * What only the wallet, its source and the chain's time can say against a step.
 *
 * @param name - what the step is called in messages
 * @throws ApiError 409, 503; ProviderError
 */
export async function requirePossibleStep(
  c: AppContext,
  record: EscrowRecord,
  name: string,
  step: Step,
  now: number,
): Promise<void> {
  const source = await loadAutomatedSource(c, record, step);
  if (step === "Withdraw" && isFeeReceiverMissing(source))
    throw createWrongStateError(UNKNOWN_FEE_RECEIVER_NOTE);
  const provider = await openSourceProvider(c.env, source, { caller: c.var.caller.id });
  const time = await readLiveChainTime(c, provider, source.id, now, isFinalStep(step));
  const reason = validateTiming(record, name, step, time);
  if (reason !== null) throw createWrongStateError(reason);
}

/** The payment source of a record whose wallet acts for it. @throws ApiError 409, 503 */
async function loadAutomatedSource(
  c: AppContext,
  { sourceId, wallet }: EscrowRecord,
  step: Step,
): Promise<SourceRow> {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const [source, wallets] = await Promise.all([
    findActiveSource(core, sourceId),
    // A purchase that is not begun has none yet.
    wallet === null ? [] : listActiveWallets(core, [sourceId]),
  ]);
  if (source === null)
    throw createWrongStateError("the payment source was removed, so the service takes no step");
  const own = wallets.find(({ vkey }) => vkey === wallet?.vkey);
  if (wallet !== null && own === undefined)
    throw createWrongStateError("the wallet was removed. Add the wallet again first.");
  const drives = own ? selectAutomationMode(source, own) : source.drives;
  if (drives === "nothing" || (step === "FundsLocking" && drives !== "all")) {
    const ofSource = source.drives === drives || own === undefined;
    const [what, { id }] = ofSource ? ["payment source", source] : ["wallet", own];
    throw new ApiError(503, `The ${what} ${id} takes no steps: its drives is ${drives}`, {
      retryAfter: 300,
    });
  }
  return source;
}

/** A change as it is remembered for repeats: JSON throughout. */
interface ChangeResult {
  id: string;
  side: Side;
  network: Network;
  /** Payment key hash of its wallet, hex. */
  vkey: string | null;
  /** Null: nothing was changed. */
  made: {
    /** The record's, by which it is known again. */
    sequence: number;
    /** Epoch milliseconds. */
    at: number;
    /** The record, with the placeholder of its change stamps. */
    doc: string;
  } | null;
  /** What is said of it beside the record; left out: nothing. */
  warnings?: readonly string[];
  /** The record as the change left it; left out, as for repeats: it is read. */
  row?: ChangedRow;
}

/** What the answer to a change shows of the stored record. */
interface ChangedRow {
  stamp: number;
  sequence: number;
  metadata: string | null;
}

const CHANGED_ROW_SQL = `SELECT action_changed_at AS stamp, sequence,
    (SELECT metadata FROM escrow_request WHERE record_id = escrow.id) AS metadata
  FROM escrow WHERE id = ?`;

/**
 * The response, which does not depend on later changes of the record. After a later change the
 * exact stamp is unknown, and the time of the change replaces it. That is some milliseconds earlier
 * if many changes happen at once.
 */
async function loadChangeResponse<ApiRecord>(
  c: AppContext,
  database: Database,
  changed: ChangeResult,
): Promise<ApiRecord> {
  const { id, side, made, row: written } = changed;
  if (made === null) return JSON.parse(await readRecordText(c, database, changed)) as ApiRecord;
  const [row] = written ? [written] : await database.all<ChangedRow>(CHANGED_ROW_SQL, id);
  const stamp = row?.sequence === made.sequence ? row.stamp : made.at;
  const doc = withHistories(withMetadata(made.doc, row?.metadata ?? null), side);
  return JSON.parse(doc.replaceAll(STAMP_MARK, new Date(stamp).toISOString())) as ApiRecord;
}
