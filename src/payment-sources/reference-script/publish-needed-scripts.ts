/**
 * Publishes a contract's script when an escrow needs it. An escrow with a long result or many
 * tokens leaves no room for the script in its transactions.
 */

import { NETWORKS, type Network } from "../../chain/network.ts";
import { type Database, openDb, violates } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { AUTOMATIC_REQUESTER } from "../../escrow/model/intent.ts";
import { MAX_OUTPUT_LENGTH_WITH_SCRIPT } from "../../escrow/model/output-size.ts";
import { LARGE_OUTPUT_CONDITION, SOURCE_REMOVED_CONDITION } from "../../escrow/store/predicates.ts";
import { changeRecords } from "../../escrow/tasks/change-records.ts";
import { toRecordError } from "../../escrow/tasks/retry-intent.ts";
import { log } from "../../log.ts";
import { selectAutomationMode } from "../../sources/automation-mode.ts";
import { loadContractScript } from "../../sources/contracts/load-contract-script.ts";
import { findActiveSource } from "../../sources/find-source.ts";
import { openSourceProvider } from "../../sources/open-source-provider.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import { listActiveWallets } from "../../wallets/managed/find-wallet.ts";
import { wakeWallet } from "../../wallets/queue/wake-wallet.ts";
import { insertReferenceScript } from "../../wallets/reference-scripts/store.ts";

/** One that failed, or that was withdrawn, is asked for again after so long at the earliest. */
const RETRY_INTERVAL_MS = 60 * 60_000;
/** Records that are told in one run, of each network. */
const MAX_RECORDS = 50;

const SCRIPT_NEEDED_MESSAGE =
  "The escrow is so large that its next step needs the contract's script on the chain. Publish the reference script of its payment source";

/** A payment source with an escrow that is too large, and its acting wallet. */
interface OversizedEscrow {
  recordId: string;
  sourceId: string;
  vkey: string | null;
}

/**
 * Asks for the scripts that escrows need on the chain, or has the records say so where the operator wants it
 * asked for. For the cron.
 *
 * @param deadline - epoch milliseconds
 */
export async function publishNeededScripts(
  env: Env,
  requestId: string,
  deadline: number,
): Promise<void> {
  for (const network of NETWORKS) {
    const database = openDb(env, network, { writes: "idempotent", deadline });
    const isTold = env.AUTO_REFERENCE_SCRIPT === "false";
    const needy = await listOversizedEscrows(database, network, Date.now(), isTold);
    if (needy.length === 0) continue;
    if (isTold) {
      const silent = needy.map(({ recordId }) => recordId);
      await changeRecords(database, network, silent, Date.now(), ({ progress }) =>
        progress.error === null
          ? { progress: { ...progress, error: toRecordError(SCRIPT_NEEDED_MESSAGE) } }
          : null,
      );
      continue;
    }
    for (const [sourceId, records] of Map.groupBy(needy, (one) => one.sourceId)) {
      const vkeys = records.map(({ vkey }) => vkey);
      await requestPublication(env, database, { sourceId, vkeys, requestId, deadline });
    }
  }
}

/** @param silent - only records that say nothing yet: those that were told must not take others' places */
function listOversizedEscrows(
  database: Database,
  network: Network,
  now: number,
  silent: boolean,
): Promise<OversizedEscrow[]> {
  return database.all<OversizedEscrow>(
    `SELECT id AS recordId, source_id AS sourceId, wallet_vkey AS vkey
     FROM escrow
     WHERE network = ?1 AND ${LARGE_OUTPUT_CONDITION} AND output_length > ?2->>source_type AND NOT (${SOURCE_REMOVED_CONDITION})
       ${silent ? "AND error IS NULL" : ""} AND NOT EXISTS (
       SELECT 1 FROM reference_script AS script WHERE script.source_id = escrow.source_id
         AND (script.state NOT IN ('Withdrawn', 'Failed') OR script.updated_at > ?3))
     ORDER BY id LIMIT ${MAX_RECORDS}`,
    network,
    JSON.stringify(MAX_OUTPUT_LENGTH_WITH_SCRIPT),
    now - RETRY_INTERVAL_MS,
  );
}

async function requestPublication(
  env: Env,
  database: Database,
  need: {
    sourceId: string;
    vkeys: readonly (string | null)[];
    requestId: string;
    deadline: number;
  },
): Promise<void> {
  const { sourceId, vkeys, requestId, deadline } = need;
  const core = openDb(env, undefined, { deadline });
  const source = await findActiveSource(core, sourceId);
  const wallet = source && (await findPublisher(core, source, vkeys));
  if (!source || !wallet) return;
  const { network } = source;
  const provider = await openSourceProvider(env, source, "wallet");
  const script = await loadContractScript(env, provider, source);
  if (script === null) return;
  const now = Date.now();
  const { row, statements } = insertReferenceScript(
    database,
    { source, wallet, script, createdById: AUTOMATIC_REQUESTER },
    now,
  );
  try {
    await database.batch(statements);
  } catch (error) {
    // Somebody has asked for it meanwhile.
    if (!violates(error, "reference_script.source_id")) throw error;
    return;
  }
  log("info", "reference_script.asked", { source: sourceId, wallet: row.walletVkey, requestId });
  await wakeWallet(env, network, row.walletVkey, requestId);
}

/** A wallet that acts for one of the records, else any of the source that may be driven. */
async function findPublisher(core: Database, source: SourceRow, vkeys: readonly (string | null)[]) {
  const wallets = await listActiveWallets(core, [source.id]);
  const driven = wallets.filter((wallet) => selectAutomationMode(source, wallet) !== "nothing");
  return driven.find(({ vkey }) => vkeys.includes(vkey)) ?? driven[0];
}
