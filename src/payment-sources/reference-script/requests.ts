import { type Database, onViolation, openDb } from "../../db/client.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { selectAutomationMode } from "../../sources/automation-mode.ts";
import { loadContractScript } from "../../sources/contracts/load-contract-script.ts";
import { requireActiveSource } from "../../sources/find-source.ts";
import { openSourceProvider } from "../../sources/open-source-provider.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import { listActiveWallets } from "../../wallets/managed/find-wallet.ts";
import type { WalletRow } from "../../wallets/managed/tables.ts";
import { upsertTasks } from "../../wallets/queue/store.ts";
import { wakeWallet } from "../../wallets/queue/wake-wallet.ts";
import {
  createScriptTask,
  findReferenceScript,
  insertReferenceScript,
  updateReferenceScript,
} from "../../wallets/reference-scripts/store.ts";
import type { ReferenceScriptRow } from "../../wallets/reference-scripts/tables.ts";
import type { PublishScriptBody, ReferenceScriptRecord } from "./schemas.ts";

/**
 * Has a wallet of a source publish the script of the source's contract.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404, 409, 502; ProviderError
 */
export async function requestScriptPublication(
  c: AppContext,
  { id, walletId }: PublishScriptBody,
  now: number,
): Promise<ReferenceScriptRecord> {
  const { deadline, caller, requestId } = c.var;
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline });
  const source = await requireActiveSource(core, id, "id");
  const wallet = await requirePublisher(core, source, walletId);
  const provider = await openSourceProvider(c.env, source, "wallet");
  const script = await loadContractScript(c.env, provider, source);
  if (script === null)
    throw new ApiError(
      "chain_provider_failed",
      "Neither the chain provider nor the payment source gives the contract's script",
    );
  const database = openDb(c.env, source.network, { writes: "idempotent", deadline });
  const made = { source, wallet, script, createdById: caller.id };
  const { row, statements } = insertReferenceScript(database, made, now);
  const detail = { paymentSourceId: id, scriptHash: script.hash, walletVkey: wallet.vkey };
  const entry = { action: "reference-script.publish", target: row.id, detail, now } as const;
  await commitWithAudit(c, database, entry, statements).catch(
    onViolation("reference_script.source_id", createScriptExistsError),
  );
  await wakeWallet(c.env, source.network, wallet.vkey, requestId);
  return toReferenceScriptRecord(row);
}

/**
 * Has the published script of a source withdrawn, once no open transaction reads it.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404, 409
 */
export async function requestScriptWithdrawal(
  c: AppContext,
  id: string,
  now: number,
): Promise<ReferenceScriptRecord> {
  const { deadline, requestId } = c.var;
  const core = openDb(c.env, undefined, { deadline });
  const source = await requireActiveSource(core, id, "id");
  const database = openDb(c.env, source.network, { writes: "idempotent", deadline });
  const row = await findReferenceScript(database, id);
  if (!row) throw new ApiError(404, "id: the payment source has no reference script");
  if (row.state !== "Published")
    throw new ApiError("wrong_state", `id: the reference script is ${row.state}, not Published`);
  const change = { state: "WithdrawRequested", error: null } as const;
  const task = createScriptTask(row, "Withdraw", now);
  const detail = { paymentSourceId: id, scriptHash: row.scriptHash };
  const entry = { action: "reference-script.withdraw", target: row.id, detail, now } as const;
  const update = updateReferenceScript(database, row, change, now);
  await commitWithAudit(c, database, entry, [update, ...upsertTasks([task])]).catch(
    onViolation("reference_script.revision", createChangedError),
  );
  await wakeWallet(c.env, source.network, row.walletVkey, requestId);
  return toReferenceScriptRecord({ ...row, ...change, task, updatedAt: now });
}

/** The newest reference script of a source. @throws ApiError 404 */
export async function getReferenceScript(
  c: AppContext,
  id: string,
): Promise<ReferenceScriptRecord> {
  const { deadline } = c.var;
  const source = await requireActiveSource(openDb(c.env, undefined, { deadline }), id, "id");
  const row = await findReferenceScript(openDb(c.env, source.network, { deadline }), id);
  if (!row) throw new ApiError(404, "id: the payment source has no reference script");
  return toReferenceScriptRecord(row);
}

const createScriptExistsError = () =>
  new ApiError("already_exists", "id: the payment source already has a reference script");

const createChangedError = () =>
  new ApiError("wrong_state", "id: the reference script changed at the same time. Try again.");

async function requirePublisher(
  core: Database,
  source: SourceRow,
  walletId: string | undefined,
): Promise<WalletRow> {
  const wallets = await listActiveWallets(core, [source.id]);
  if (walletId !== undefined) {
    const named = wallets.find(({ id }) => id === walletId);
    if (!named) throw new ApiError(404, "walletId: the payment source has no such wallet");
    return named;
  }
  const first = wallets.find((wallet) => selectAutomationMode(source, wallet) !== "nothing");
  if (!first)
    throw new ApiError(
      "wrong_state",
      "id: the payment source has no wallet that drives allows. Send walletId.",
    );
  return first;
}

function toReferenceScriptRecord(row: ReferenceScriptRow): ReferenceScriptRecord {
  const { id, sourceId, walletVkey, scriptHash, cbor, state, output, deposit, txHash, task } = row;
  return {
    ...{ id, paymentSourceId: sourceId, walletVkey, scriptHash, scriptSize: cbor.length / 2 },
    ...{ state, output, deposit, txHash, error: row.error ?? task?.reason ?? null },
    createdAt: toIsoTime(row.createdAt),
    updatedAt: toIsoTime(Math.max(row.updatedAt, task?.updatedAt ?? 0)),
  };
}
