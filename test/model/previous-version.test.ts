/** Records that the version before `0005_records_by_owner.sql` wrote, or writes beside this one. */
import { globSync, readFileSync } from "node:fs";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { expect, it } from "vitest";
import { type Statement, statement } from "../../src/db/client.ts";
import { ChangeSet } from "../../src/escrow/fold/changes.ts";
import { loadRecords } from "../../src/escrow/fold/load-records.ts";
import { writeChanges } from "../../src/escrow/fold/write-changes.ts";
import type { EscrowRecord } from "../../src/escrow/record.ts";
import { render } from "../../src/escrow/render.ts";
import { undoSteps } from "../../src/escrow/sync/undo.ts";
import { NOTHING_WANTED, nextActionOf } from "../../src/escrow/wanted.ts";
import { makeRecord } from "../support/sources/records.ts";

const WALLET = { id: "wallet-a", vkey: "22".repeat(28), address: "addr_test1seller" };
const WAITING = {
  requestedAction: "WaitingForExternalAction",
  ...{ errorType: null, errorNote: null, resultHash: null, since: 1 },
};
const MANUAL = {
  requestedAction: "WaitingForManualAction",
  ...{ errorType: "Unknown", errorNote: "locked too late", resultHash: null, since: 2 },
};
const LOCKED = {
  ...{ id: "step-1", createdAt: 2, updatedAt: 2, txHash: "ab".repeat(32), status: "Confirmed" },
  ...{ fees: "170000", blockHeight: 100, blockTime: 1_700_000_000 },
  ...{ previousOnChainState: null, newOnChainState: "FundsOrDatumInvalid" },
};
const BEFORE = {
  ...{ onChainState: null, resultHash: "", buyerCooldown: "0", sellerCooldown: "0" },
  ...{ buyerFees: "0", sellerFees: "0", withdrawnForSeller: [], withdrawnForBuyer: [] },
  ...{ nextAction: WAITING, transaction: null, utxo: null },
};
const STATE = {
  ...BEFORE,
  ...{ onChainState: "FundsOrDatumInvalid", nextAction: MANUAL, transaction: LOCKED },
  utxo: `${LOCKED.txHash}#0`,
};

class Tables {
  readonly #file = new DatabaseSync(":memory:");
  readonly #migrations = globSync("migrations/*.sql").sort();

  migrate(until = ""): void {
    while (this.#migrations[0] && !this.#migrations[0].includes(until || "\0"))
      this.#file.exec(readFileSync(this.#migrations.shift() ?? "", "utf8"));
  }

  run({ sql, params }: Statement): void {
    this.#file.prepare(sql).run(...(params as SQLInputValue[]));
  }

  all = async <Row>(sql: string, ...params: unknown[]): Promise<Row[]> =>
    this.#file.prepare(sql).all(...(params as SQLInputValue[])) as Row[];

  async record(): Promise<EscrowRecord> {
    const { records } = await loadRecords(this, [], "SELECT id FROM escrow WHERE ?2 = ?2", 1);
    const [record] = records;
    if (!record) throw new Error("there is no record");
    return record;
  }

  /** Changes what the previous version shows of a record, and nothing that it does not know. */
  show(nextAction: object, onChainState: string): void {
    const state = JSON.stringify({ ...STATE, nextAction, onChainState });
    this.run(statement("UPDATE escrow SET state = ?, rev = rev + 1", state));
  }
}

function insert(tables: Tables): void {
  const { terms, ...record } = makeRecord("payment");
  const values = {
    ...{ id: record.id, side: "payment", network: "Preprod", source_id: "source-a" },
    ...{ source_type: "Web3ChainV1", contract_address: "addr_test1w", policy_id: "00" },
    ...{ blockchain_identifier: "aa", identifier_hash: "bb", requested_by_id: "key-a" },
    ...{ terms: JSON.stringify({ ...terms, wallet: WALLET }), state: JSON.stringify(STATE) },
    ...{ on_chain_state: STATE.onChainState, utxo: STATE.utxo, created_at: 1, updated_at: 2 },
    ...{ last_checked_at: 2, chain_changed_at: 2, action_changed_at: 2, changed_at: 2 },
    ...{ sequence: 2, rev: 0, doc_version: 1, doc: "{}" },
  };
  const names = Object.keys(values);
  const marks = names.map(() => "?").join(", ");
  tables.run(
    statement(
      `INSERT INTO escrow (${names.join(", ")}) VALUES (${marks})`,
      ...Object.values(values),
    ),
  );
  tables.run(
    statement(
      `INSERT INTO escrow_transaction (record_id, tx_hash, id, source_id, status, block_height,
         tx_index, before, fields, doc)
       VALUES (?, ?, 'step-1', 'source-a', 'Confirmed', 100, 0, ?, ?, '{}')`,
      record.id,
      LOCKED.txHash,
      JSON.stringify(BEFORE),
      JSON.stringify(LOCKED),
    ),
  );
}

async function upgraded(): Promise<Tables> {
  const tables = new Tables();
  tables.migrate("0005_records_by_owner");
  insert(tables);
  tables.migrate();
  return tables;
}

it("a record of the previous version is shown as before", async () => {
  const record = await (await upgraded()).record();
  expect(record.wallet).toEqual(WALLET);
  expect(record.terms).not.toHaveProperty("wallet");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are placeholders
  expect(JSON.parse(render(record).replace(/\u0001/g, ""))).toMatchObject({
    onChainState: "FundsOrDatumInvalid",
    NextAction: { requestedAction: "WaitingForManualAction", errorNote: "locked too late" },
    CurrentTransaction: { id: "step-1", blockHeight: 100 },
    BuyerWallet: { walletVkey: "11".repeat(28) },
    SmartContractWallet: { id: "wallet-a" },
  });
});

it("Rollback fault: a step that the previous version wrote is undone with its error", async () => {
  const tables = await upgraded();
  const { changes } = await undoSteps(tables, "source-a", 99, 100, Date.now());
  const [undone] = changes.records.values();
  expect(undone?.record.wanted).toEqual(NOTHING_WANTED);
  expect(undone?.record.state).toMatchObject({ onChainState: null, transaction: null, utxo: null });
});

it("what the previous version shows of a record it wrote last is taken over", async () => {
  const tables = await upgraded();
  const record = await tables.record();
  const want = { id: "want-a", step: "SubmitResult", resultHash: null, by: "key-a", since: 3 };
  const asked = { ...NOTHING_WANTED, want: { ...want, step: "SubmitResult" as const } };
  const changes = new ChangeSet([record], Date.now(), 100);
  changes.want(record, asked);
  const place = { sourceId: "source-a", network: "Preprod" } as const;
  for (const one of writeChanges(changes, place)) tables.run(one);
  expect((await tables.record()).wanted).toEqual(asked);

  // Each is a cell of the table that the previous version applies.
  const requested = { ...WAITING, requestedAction: "SubmitResultRequested" };
  tables.show(requested, "RefundRequested");
  expect((await tables.record()).wanted).toEqual(asked);
  tables.show({ ...MANUAL, errorNote: "too late" }, "Withdrawn");
  const late = await tables.record();
  expect(nextActionOf(late)).toMatchObject({
    requestedAction: "WaitingForManualAction",
    errorNote: "too late",
  });
  tables.show(WAITING, "ResultSubmitted");
  expect((await tables.record()).wanted).toEqual(NOTHING_WANTED);
});
