/** One record of every feature of a wallet, for which the feature's own code throws. */
import { type Database, type Statement, statement } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import { createDisputeFeature } from "../../../src/escrow/disputes/dispute-feature.ts";
import { changeRecords } from "../../../src/escrow/tasks/change-records.ts";
import { createRegistrationFeature } from "../../../src/registrations/registration-feature.ts";
import type { TransactionPart, WalletFeature } from "../../../src/wallets/queue/feature.ts";
import { createQueuedState, subjectIdOf, upsertTasks } from "../../../src/wallets/queue/store.ts";
import { createReferenceScriptFeature } from "../../../src/wallets/reference-scripts/reference-script-feature.ts";
import { insertReferenceScript } from "../../../src/wallets/reference-scripts/store.ts";
import { createTransfer, insertTransfer } from "../../../src/wallets/transfers/store.ts";
import { createTransferFeature } from "../../../src/wallets/transfers/transfer-feature.ts";
import { payeeOf } from "../payments.ts";
import { type OddTask, throwing } from "../throwing.ts";
import type { PurchaseModel } from "./purchase-model.ts";
import { PAYERS, SOURCE } from "./quotes.ts";

export const FEATURES = [
  "lock",
  "step",
  "transfer",
  "registration",
  "reference-script",
  "dispute",
] as const;
export type Feature = (typeof FEATURES)[number];

const [PAYER] = PAYERS;
if (!PAYER) throw new Error("nobody pays");
export const { row: WALLET } = PAYER;
const PLACE = { network: "Preprod", vkey: WALLET.vkey, sourceId: SOURCE.id } as const;

/** What a record shows of its task. */
export interface ShownTask {
  note: string | null;
  /** Epoch milliseconds. */
  dueAt: number | null;
  failures: number;
  isDone: boolean;
}

/** All features of the first wallet, of which some throw. */
export function featuresOf(odd: ReadonlyMap<string, OddTask>) {
  return (escrows: readonly WalletFeature[], db: Database): readonly WalletFeature[] => {
    const { sourceId: _, ...wallet } = PLACE;
    const dispute = createDisputeFeature({
      ...{ db, source: SOURCE, wallets: [WALLET], vkey: wallet.vkey },
      chainTime: async (now) => now,
    });
    const detail = { purpose: "Registration", agentIdentifier: "ab", seed: null };
    return [
      ...escrows.map((one) => (one.name === "step" ? withPlainParts(one, {}) : one)),
      withPlainParts(dispute, {}),
      createReferenceScriptFeature(db, PLACE),
      withPlainParts(createRegistrationFeature(db, PLACE), detail),
      createTransferFeature(db, PLACE),
    ].map((work) => throwing(work, odd));
  };
}

/** A feature whose parts need no contract: each pays somebody. */
function withPlainParts(work: WalletFeature, detail: TransactionPart["detail"]): WalletFeature {
  return {
    ...work,
    buildPart: async ({ id }) => ({
      ...{ spends: [], scriptInputs: [], mints: [], metadata: new Map() },
      outputs: [{ address: payeeOf(id.slice(0, 28)), value: new Map([["", 3_000_000n]]) }],
      detail,
    }),
  };
}

/** Asks for a transfer. @returns its id */
export async function askTransfer(db: Database, now: number): Promise<string> {
  const row = createTransfer(
    {
      ...{ network: "Preprod", sourceId: SOURCE.id, toAddress: payeeOf("transfer") },
      ...{ coin: "3000000", assets: [], createdById: "key-0", topUp: null },
      wallet: WALLET,
    },
    now,
  );
  await db.batch(insertTransfer(db, row));
  return row.id;
}

/** Makes a record whose task is due. @returns the id of the record, and of its task */
export async function askFor(
  feature: Feature,
  model: PurchaseModel,
): Promise<{ id: string; task: string }> {
  const { db, ledger } = model;
  const { now } = ledger;
  switch (feature) {
    case "lock":
      return askLock(model, 2);
    case "step": {
      const { id } = await askLock(model, 2);
      model.pass(1_100);
      await model.run(0);
      ledger.mine();
      await model.follow();
      await model.run(0);
      const intent = newId(now);
      await changeRecords(db, "Preprod", [id], now, ({ progress }) => ({
        progress: {
          ...progress,
          intent: {
            ...{ id: intent, step: "SetRefundRequested", resultHash: null },
            ...{ by: "key-0", since: now },
          },
        },
      }));
      return { id, task: `${id}:${intent}` };
    }
    case "transfer": {
      const id = await askTransfer(db, now);
      return { id, task: id };
    }
    case "registration":
      await db.batch([
        insertRegistration(now),
        ...openTask("registration", "odd:Registration", now),
      ]);
      return { id: "odd", task: "odd:Registration" };
    case "reference-script": {
      const script = { hash: "5c".repeat(28), cbor: "450101002499" };
      const asked = { source: SOURCE, wallet: WALLET, script, createdById: "key-0" };
      const { row, statements } = insertReferenceScript(db, asked, now);
      await db.batch(statements);
      return { id: row.id, task: `${row.id}:Publish` };
    }
    case "dispute":
      await db.batch([insertProposal(now), ...openTask("dispute", "odd", now)]);
      return { id: "odd", task: "odd" };
  }
}

async function askLock(model: PurchaseModel, quote: number): Promise<{ id: string; task: string }> {
  const known = purchasesIn(model).map(({ id }) => id);
  await model.buy(1, quote);
  const [bought] = purchasesIn(model).filter(({ id }) => !known.includes(id));
  if (!bought) throw new Error("nothing was bought");
  return { id: bought.id, task: `${bought.id}:${bought.intent}` };
}

const purchasesIn = ({ database }: PurchaseModel) =>
  database.all<{ id: string; intent: string }>(
    "SELECT id, intent->>'id' AS intent FROM escrow WHERE side = 'purchase'",
  );

function insertRegistration(now: number): Statement {
  return statement(
    `INSERT INTO registration (id, kind, network, source_id, source_type, contract_address, policy_id,
       profile, name, state, state_changed_at, wallet, wallet_vkey, created_by_id, created_at, updated_at,
       revision)
     VALUES ('odd', 'Agent', 'Preprod', ?1, ?2, ?3, ?4, '{}', 'Odd', 'RegistrationRequested', ?7, ?5, ?6,
       'key-0', ?7, ?7, 0)`,
    ...[SOURCE.id, SOURCE.type, SOURCE.contractAddress, SOURCE.policyId],
    JSON.stringify({ id: WALLET.id, vkey: WALLET.vkey, address: WALLET.address }),
    ...[WALLET.vkey, now],
  );
}

function insertProposal(now: number): Statement {
  return statement(
    `INSERT INTO dispute_proposal (id, network, source_id, identifier_hash, output, wallet_vkey, split,
       message, administrators, required, signatures, opens_at, state, created_by_id, created_at,
       updated_at, revision)
     VALUES ('odd', 'Preprod', ?1, 'odd', '{"utxo": "odd#0"}', ?2, '{}', '', '[]', 1, '[]', ?3,
       'SettleRequested', 'key-0', ?3, ?3, 0)`,
    ...[SOURCE.id, WALLET.vkey, now],
  );
}

/** The task of a record that waits. */
function openTask(feature: string, id: string, now: number): Statement[] {
  return upsertTasks([
    {
      ...{ feature, subjectId: subjectIdOf(id), id, network: "Preprod", sourceId: SOURCE.id },
      ...{ walletVkey: WALLET.vkey, requestedAt: now, ...createQueuedState(now), updatedAt: now },
    },
  ]);
}

const SHOWN: Record<Feature, string> = {
  lock: escrowShown("intent IS NULL OR pending_hash IS NOT NULL"),
  step: escrowShown("intent IS NULL OR pending_hash IS NOT NULL"),
  transfer: shownIn("transfer", "transfer", "Confirmed"),
  registration: shownIn("registration", "registration", "RegistrationConfirmed"),
  "reference-script": shownIn("reference-script", "reference_script", "Published"),
  dispute: shownIn("dispute", "dispute_proposal", "Settled"),
};

function escrowShown(isDone: string): string {
  return `SELECT error->>'note' AS note, coalesce(intent->>'tryAt', due_at) AS dueAt,
    coalesce(intent->>'failures', 0) AS failures, ${isDone} AS isDone FROM escrow WHERE id = ?`;
}

function shownIn(feature: Feature, table: string, done: string): string {
  return `SELECT ifnull(error, task.reason) AS note, task.due_at AS dueAt,
      ifnull(task.attempts, 0) AS failures, state = '${done}' AS isDone
    FROM ${table} AS record LEFT JOIN wallet_task AS task
      ON task.feature = '${feature}' AND task.subject_id = record.id
    WHERE record.id = ?`;
}

export function shownOf({ database }: PurchaseModel, feature: Feature, id: string): ShownTask {
  const [row] = database.all<ShownTask>(SHOWN[feature], id);
  if (!row) throw new Error(`there is no ${feature} ${id}`);
  return { ...row, isDone: Boolean(row.isDone) };
}

/** Which of some transfers, of the locks of some purchases, and of a source's scripts are not on their way. */
export function notSent(
  { database }: PurchaseModel,
  transfers: readonly string[],
  purchase: string,
) {
  return database.all<{ id: string }>(
    `SELECT id FROM transfer WHERE id IN (SELECT value FROM json_each(?1)) AND state = 'Pending'
     UNION ALL SELECT id FROM escrow WHERE id = ?2 AND pending_hash IS NULL`,
    JSON.stringify(transfers),
    purchase,
  );
}

/** Transactions of which a record does not say yet what became of them. */
export const lateIn = ({ database }: PurchaseModel) =>
  database.all<{ hash: string }>(
    "SELECT hash FROM wallet_transaction_content WHERE json_array_length(content->'failedUpdates') > 0",
  );
