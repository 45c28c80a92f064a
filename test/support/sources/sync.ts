import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { SourceCursor } from "../../../durable-objects/source-cursor.ts";
import { createBlockfrostProvider } from "../../../src/chain/provider/blockfrost/blockfrost.ts";
import type { Block, TransactionPosition } from "../../../src/chain/provider/provider.ts";
import { openDb, statement } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import { seal } from "../../../src/db/sealed.ts";
import type { Env } from "../../../src/env.ts";
import {
  ESCROW_COLUMNS,
  type EscrowRow,
  TRANSACTION_SQL,
  toEscrowRecord,
} from "../../../src/escrow/store/escrow-row.ts";
import {
  DOC_OR_ROW_SQL,
  readDocument,
  type StoredDocument,
} from "../../../src/escrow/store/outdated-documents.ts";
import { withConfirmations } from "../../../src/escrow/store/render-record.ts";
import { insertCursor } from "../../../src/sources/cursor.ts";
import type { TestChain } from "../chain.ts";
import { ASLEEP } from "../objects.ts";

/** The object's dependencies that a test replaces. */
export interface Overrides {
  env?: Partial<Env>;
  /** False: the object looks of itself. */
  isAsked?: boolean;
  /** The tip that whoever asks for the pass has just read. */
  tip?: Block;
  /** Runs around every call of the object's storage. */
  storage?: <T>(run: () => Promise<T>) => Promise<T>;
}

/**
 * A payment source on a chain, with every actor's wallet managed, written straight to D1.
 *
 * @param rules - `open` is a source of the contract without any
 * @returns its id
 */
export async function createSource(
  chain: TestChain,
  type: "Web3ChainV1" | "Web3ChainV2" = "Web3ChainV1",
  managed: (name: string) => boolean = () => true,
  rules?: "open",
): Promise<string> {
  const { wallets, contracts, open } = await chain.wallets();
  const contract = rules === "open" ? open : contracts.find((one) => one.type === type);
  if (!contract) throw new Error(`the local chain has no ${type} contract`);
  const now = Date.now();
  const id = newId(now);
  const key = await seal(
    env,
    { table: "payment_source", id, column: "rpc_provider_api_key" },
    "local",
  );
  const ours = wallets.filter(({ name }) => /^(seller|buyer)-/.test(name) && managed(name));
  await openDb(env).batch([
    statement(
      `INSERT INTO payment_source (id, network, type, contract_address, policy_id, admin_wallets,
         fee_rate_permille, cooldown_time, rpc_provider, rpc_provider_api_key, drives, created_by_id,
         created_at, updated_at)
       VALUES (?, 'Preprod', ?, ?, ?, '[]', 50, 420000, 'Blockfrost', ?, 'all', 'key-a', ?, ?)`,
      id,
      type,
      contract.address,
      contract.policyId,
      key,
      now,
      now,
    ),
    ...ours.map((wallet) => addWallet(id, wallet)),
    ...insertCursor({ id, network: "Preprod" }, null),
  ]);
  return id;
}

/** The statement that makes an actor's wallet a managed one. */
export function addWallet(
  sourceId: string,
  wallet: { name: string; vkey: string; address: string },
) {
  return statement(
    `INSERT INTO managed_wallet (id, source_id, network, role, vkey, address, mnemonic, note,
       drives, created_by_id, created_at)
     VALUES (?, ?, 'Preprod', ?, ?, ?, '', ?, 'all', 'key-a', ?)`,
    newId(Date.now()),
    sourceId,
    wallet.name.startsWith("seller") ? "Selling" : "Purchasing",
    wallet.vkey,
    wallet.address,
    wallet.name,
    Date.now(),
  );
}

/** Where a transaction of a chain stands, for a cursor to begin after it. */
export async function positionAt(chain: TestChain, txHash = ""): Promise<TransactionPosition> {
  const provider = createBlockfrostProvider({ baseUrl: chain.url, projectId: "any" });
  const position = await provider.transaction(txHash);
  if (!position) throw new Error("the local chain has no such transaction");
  return position;
}

/**
 * Runs one alarm of the source's object, without the platform's delay. Code, D1, storage and
 * provider are real.
 *
 * @returns the time of the next alarm; null: the cron does the rest
 */
export function runPass(
  chain: TestChain,
  sourceId: string,
  overrides: Overrides = {},
): Promise<number | null> {
  const { SOURCE_CURSOR } = env;
  const stub = SOURCE_CURSOR.get(SOURCE_CURSOR.idFromName(sourceId));
  return runInDurableObject(stub, async (_, state) => {
    let alarm: number | null = null;
    const around = overrides.storage ?? ((run) => run());
    const storage = {
      get: (key: string) => around(() => state.storage.get(key)),
      put: (entries: Record<string, unknown>) => around(() => state.storage.put(entries)),
      getAlarm: () => around(async () => alarm),
      setAlarm: (at: number) =>
        around(async () => {
          alarm = at;
        }),
    };
    const { isAsked = true } = overrides;
    await state.storage.put({ sourceId, requestId: "test", isAsked });
    const instance = new SourceCursor(state, {
      ...env,
      BLOCKFROST_URL_PREPROD: chain.url,
      HOT_WALLET: ASLEEP.HOT_WALLET,
      ...overrides.env,
    });
    Object.defineProperty(instance, "ctx", { value: { storage } });
    if (overrides.tip) await instance.tick(sourceId, "test", overrides.tip);
    alarm = null;
    await instance.alarm();
    return alarm;
  });
}

/** Runs passes until the object asks for none, as the platform would. */
export async function settle(chain: TestChain, sourceId: string, overrides?: Overrides) {
  for (let passes = 0; passes < 50; passes++)
    if ((await runPass(chain, sourceId, overrides)) === null) return;
  throw new Error("the sync does not come to rest");
}

/**
 * Reads all that a sync stored. It omits what differs between two syncs of the same chain: ids,
 * times that the service chose, stamps, and the test's first source and wallets.
 */
export async function leftBehind(sourceId: string) {
  const ledger = openDb(env);
  const escrows = await ledger.all<EscrowRow & StoredDocument>(
    `SELECT ${ESCROW_COLUMNS}, document
     FROM escrow JOIN (SELECT id, ${DOC_OR_ROW_SQL} FROM escrow AS page) USING (id)
     WHERE source_id = ? ORDER BY side, identifier_hash`,
    sourceId,
  );
  const steps = await ledger.all<{
    key: string;
    status: string;
    fields: string;
    undo_data: string | null;
  }>(
    `SELECT side || identifier_hash AS key, made.status, fields, data AS undo_data
     FROM (SELECT record_id, tx_hash, status, ${TRANSACTION_SQL} AS fields FROM escrow_transaction) AS made
       LEFT JOIN escrow_undo USING (record_id, tx_hash)
       JOIN escrow ON escrow.id = record_id
     WHERE escrow.source_id = ? ORDER BY key, block_height, tx_index`,
    sourceId,
  );
  const actions = await ledger.all<Record<string, unknown>>(
    `SELECT identifier_hash AS key, escrow_action.requested_action, escrow_action.error_type, error_note
     FROM escrow_action
     JOIN escrow ON escrow.id = record_id WHERE source_id = ?
     ORDER BY identifier_hash, escrow_action.id`,
    sourceId,
  );
  const events = await ledger.all<{ key: string; kind: string; sequence: number; data: string }>(
    `SELECT side || identifier_hash AS key, kind, event.sequence, data FROM event
     JOIN escrow ON escrow.id = record_id WHERE event.source_id = ?
     ORDER BY key, event.sequence`,
    sourceId,
  );
  const [cursor] = await ledger.all<Record<string, unknown>>(
    `SELECT position, recent, complete, tip_hash, lease_until, error, ignored_locks
     FROM source_cursor WHERE source_id = ?`,
    sourceId,
  );
  return {
    escrows: escrows.map((row) => ({
      side: row.side,
      doc: stable(parseDoc(row)),
      state: stable(toEscrowRecord(row).state),
    })),
    steps: steps
      .filter(({ status }) => status === "Confirmed")
      .map((row) => ({
        key: row.key,
        fields: stable(JSON.parse(row.fields)),
        undoData: stable(JSON.parse(row.undo_data ?? "null")),
      })),
    actions,
    events: events.map(({ key, kind, sequence, data }) => ({
      key,
      kind,
      sequence,
      data: stable(JSON.parse(data)),
    })),
    cursor,
  };
}

/** The document of a record, its placeholders filled with nothing in particular. */
export function parseDoc(row: StoredDocument = { document: "{}" }): Record<string, unknown> {
  const doc = readDocument(row);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are the placeholders
  return JSON.parse(withConfirmations(doc.replace(/\u0001\d+\u0001/g, "0"), 0)) as Record<
    string,
    unknown
  >;
}

const VARYING =
  /^(id|createdAt|updatedAt|since|lastCheckedAt|requestedById|confirmations|.*LastChangedAt)$/;
const OURS = /^(PaymentSource|SmartContractWallet|SellerWallet|BuyerWallet)$/;

function stable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !VARYING.test(name) && !OURS.test(name))
      .map(([name, member]) => [name, stable(member)]),
  );
}
