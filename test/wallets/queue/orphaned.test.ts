import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { createRegistrationFeature } from "../../../src/registrations/registration-feature.ts";
import { upsertTasks } from "../../../src/wallets/queue/store.ts";
import { createReferenceScriptFeature } from "../../../src/wallets/reference-scripts/reference-script-feature.ts";
import { createTransferFeature } from "../../../src/wallets/transfers/transfer-feature.ts";
import { emptyTables } from "../../support/app.ts";
import { insertRows } from "../../support/insert-rows.ts";
import { transaction } from "../spending/transactions.ts";

beforeEach(emptyTables);

const HASH = "ab".repeat(32);
const WALLET = { network: "Preprod", vkey: "wallet", sourceId: "source" } as const;
const RECORD = { network: "Preprod", wallet_vkey: "wallet", source_id: "source" };

it.each([
  {
    feature: "transfer",
    table: "transfer",
    create: createTransferFeature,
    row: { state: "Sent", tx: JSON.stringify({ hash: HASH }), assets: "[]" },
    id: "one",
    detail: { coin: "1", batchId: "batch" },
    becomes: "Pending",
  },
  {
    feature: "registration",
    table: "registration",
    create: createRegistrationFeature,
    row: { state: "RegistrationInitiated", tx: JSON.stringify({ hash: HASH, status: "Pending" }) },
    id: "one:Registration",
    detail: { purpose: "Registration", agentIdentifier: "ab", seed: null },
    becomes: "RegistrationRequested",
  },
  {
    feature: "reference-script",
    table: "reference_script",
    create: createReferenceScriptFeature,
    row: { state: "PublishInitiated", tx_hash: HASH },
    id: "one:Publish",
    detail: { purpose: "Publish", deposit: "1" },
    becomes: "PublishRequested",
  },
])(
  "a $feature whose transaction lost its input is due at once, and keeps its attempts",
  async (given) => {
    const database = openDb(env, "Preprod", { writes: "idempotent" });
    await insertRows(given.table, [{ ...RECORD, ...given.row, id: "one" }]);
    await database.batch(
      upsertTasks([
        {
          ...{ feature: given.feature, subjectId: "one", id: given.id, network: "Preprod" },
          ...{ walletVkey: "wallet", sourceId: "source", requestedAt: 1, dueAt: null, attempts: 2 },
          ...{ reasonCode: null, reason: null, updatedAt: 1 },
        },
      ]),
    );
    const task = { feature: given.feature, id: given.id, detail: given.detail };
    const update = { task, transaction: transaction(HASH, [], { phase: "Orphaned" }) };
    const now = Date.now();
    await database.batch(await given.create(database, WALLET).onTransaction([update], now));
    expect(await database.all(`SELECT state FROM ${given.table}`)).toEqual([
      { state: given.becomes },
    ]);
    expect(await database.all("SELECT due_at, attempts FROM wallet_task")).toEqual([
      { due_at: now, attempts: 2 },
    ]);
  },
);
