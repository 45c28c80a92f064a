/** One record of every feature of a wallet, for which the feature's own code throws. */
import { type Database, type Statement, statement } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import { disputeWork } from "../../../src/escrow/disputes/work.ts";
import { changeRecords } from "../../../src/escrow/tasks/change.ts";
import { registrationWork } from "../../../src/registrations/work.ts";
import { insertReferenceScript } from "../../../src/wallets/reference-scripts/store.ts";
import { referenceScriptWork } from "../../../src/wallets/reference-scripts/work.ts";
import { insertTransfer, newTransfer } from "../../../src/wallets/transfers/store.ts";
import { transferWork } from "../../../src/wallets/transfers/work.ts";
import type { TransactionPart, WalletWork } from "../../../src/wallets/work.ts";
import { payeeOf } from "../payments.ts";
import { type OddTask, throwing } from "../throwing.ts";
import type { Market } from "./market.ts";
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
  return (escrows: readonly WalletWork[], db: Database): readonly WalletWork[] => {
    const { sourceId: _, ...wallet } = PLACE;
    const dispute = disputeWork({
      ...{ db, source: SOURCE, wallets: [WALLET], vkey: wallet.vkey },
      chainTime: async (now) => now,
    });
    const detail = { purpose: "Registration", agentIdentifier: "ab", seed: null };
    return [
      ...escrows.map((one) => (one.name === "step" ? withPlainParts(one, {}) : one)),
      withPlainParts(dispute, {}),
      referenceScriptWork(db, PLACE),
      withPlainParts(registrationWork(db, PLACE), detail),
      transferWork(db, PLACE),
    ].map((work) => throwing(work, odd));
  };
}

/** A feature whose parts need no contract: each pays somebody. */
function withPlainParts(work: WalletWork, detail: TransactionPart["detail"]): WalletWork {
  return {
    ...work,
    part: async ({ id }) => ({
      ...{ spends: [], scriptInputs: [], mints: [], metadata: new Map() },
      outputs: [{ address: payeeOf(id.slice(0, 28)), value: new Map([["", 3_000_000n]]) }],
      detail,
    }),
  };
}

/** Asks for a transfer. @returns its id */
export async function askTransfer(db: Database, now: number): Promise<string> {
  const row = newTransfer(
    {
      ...{ network: "Preprod", sourceId: SOURCE.id, toAddress: payeeOf("transfer") },
      ...{ coin: "3000000", assets: [], createdById: "key-0", topUp: null },
      wallet: WALLET,
    },
    now,
  );
  await db.batch([insertTransfer(db, row)]);
  return row.id;
}

/** Makes a record whose task is due. @returns the id of the record, and of its task */
export async function askFor(
  feature: Feature,
  market: Market,
): Promise<{ id: string; task: string }> {
  const { db, ledger } = market;
  const { now } = ledger;
  switch (feature) {
    case "lock":
      return askLock(market, 2);
    case "step": {
      const { id } = await askLock(market, 2);
      market.pass(1_100);
      await market.run(0);
      ledger.mine();
      await market.follow();
      await market.run(0);
      const want = newId(now);
      await changeRecords(db, "Preprod", [id], now, ({ wanted }) => ({
        wanted: {
          ...wanted,
          want: {
            ...{ id: want, step: "SetRefundRequested", resultHash: null },
            ...{ by: "key-0", since: now },
          },
        },
      }));
      return { id, task: `${id}:${want}` };
    }
    case "transfer": {
      const id = await askTransfer(db, now);
      return { id, task: id };
    }
    case "registration":
      await db.batch([insertRegistration(now)]);
      return { id: "odd", task: "odd:Registration" };
    case "reference-script": {
      const script = { hash: "5c".repeat(28), cbor: "450101002499" };
      const asked = { source: SOURCE, wallet: WALLET, script, createdById: "key-0" };
      const { row, statement: insert } = insertReferenceScript(db, asked, now);
      await db.batch([insert]);
      return { id: row.id, task: `${row.id}:Publish` };
    }
    case "dispute":
      await db.batch([insertProposal(now)]);
      return { id: "odd", task: "odd" };
  }
}

async function askLock(market: Market, quote: number): Promise<{ id: string; task: string }> {
  const known = purchasesIn(market).map(({ id }) => id);
  await market.buy(1, quote);
  const [bought] = purchasesIn(market).filter(({ id }) => !known.includes(id));
  if (!bought) throw new Error("nothing was bought");
  return { id: bought.id, task: `${bought.id}:${bought.want}` };
}

const purchasesIn = ({ database }: Market) =>
  database.all<{ id: string; want: string }>(
    "SELECT id, want->>'id' AS want FROM escrow WHERE side = 'purchase'",
  );

function insertRegistration(now: number): Statement {
  return statement(
    `INSERT INTO registration (id, kind, network, source_id, source_type, contract_address, policy_id,
       profile, name, state, wallet, wallet_vkey, failures, due_at, created_by_id, created_at,
       updated_at, rev)
     VALUES ('odd', 'Agent', 'Preprod', ?1, ?2, ?3, ?4, '{}', 'Odd', 'RegistrationRequested', ?5, ?6,
       0, ?7, 'key-0', ?7, ?7, 0)`,
    ...[SOURCE.id, SOURCE.type, SOURCE.contractAddress, SOURCE.policyId],
    JSON.stringify({ id: WALLET.id, vkey: WALLET.vkey, address: WALLET.address }),
    ...[WALLET.vkey, now],
  );
}

function insertProposal(now: number): Statement {
  return statement(
    `INSERT INTO dispute_proposal (id, network, source_id, identifier_hash, output, wallet_vkey, split,
       message, administrators, required, signatures, opens_at, state, failures, due_at, created_by_id,
       created_at, updated_at, rev)
     VALUES ('odd', 'Preprod', ?1, 'odd', '{"utxo": "odd#0"}', ?2, '{}', '', '[]', 1, '[]', ?3,
       'SettleRequested', 0, ?3, 'key-0', ?3, ?3, 0)`,
    ...[SOURCE.id, WALLET.vkey, now],
  );
}

const SHOWN: Record<Feature, string> = {
  lock: escrowShown("want IS NULL OR under_way IS NOT NULL"),
  step: escrowShown("want IS NULL OR under_way IS NOT NULL"),
  transfer: shownIn("transfer", "Confirmed"),
  registration: shownIn("registration", "RegistrationConfirmed"),
  "reference-script": shownIn("reference_script", "Published"),
  dispute: shownIn("dispute_proposal", "Settled"),
};

function escrowShown(isDone: string): string {
  return `SELECT error->>'note' AS note, coalesce(want->>'tryAt', due_at) AS dueAt,
    coalesce(want->>'failures', 0) AS failures, ${isDone} AS isDone FROM escrow WHERE id = ?`;
}

function shownIn(table: string, done: string): string {
  return `SELECT error AS note, due_at AS dueAt, failures, state = '${done}' AS isDone
    FROM ${table} WHERE id = ?`;
}

export function shownOf({ database }: Market, feature: Feature, id: string): ShownTask {
  const [row] = database.all<ShownTask>(SHOWN[feature], id);
  if (!row) throw new Error(`there is no ${feature} ${id}`);
  return { ...row, isDone: Boolean(row.isDone) };
}

/** Which of some transfers, of the locks of some purchases, and of a source's scripts are not on their way. */
export function notSent({ database }: Market, transfers: readonly string[], purchase: string) {
  return database.all<{ id: string }>(
    `SELECT id FROM transfer WHERE id IN (SELECT value FROM json_each(?1)) AND state = 'Pending'
     UNION ALL SELECT id FROM escrow WHERE id = ?2 AND under_way IS NULL`,
    JSON.stringify(transfers),
    purchase,
  );
}

/** Transactions of which a record does not say yet what became of them. */
export const lateIn = ({ database }: Market) =>
  database.all<{ hash: string }>(
    "SELECT hash FROM wallet_transaction WHERE json_array_length(content->'failedUpdates') > 0",
  );
