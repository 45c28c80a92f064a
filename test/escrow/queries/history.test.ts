import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ON_CHAIN_STATES } from "../../../src/chain/network.ts";
import { openDb } from "../../../src/db/client.ts";
import type { Side } from "../../../src/escrow/model/escrow-record.ts";
import { TRANSACTION_STATUSES } from "../../../src/escrow/model/transaction-record.ts";
import { readDiffPage } from "../../../src/escrow/queries/diff-page.ts";
import { emptyTables } from "../../support/app.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";

const TIME = fc.integer({ min: 0, max: 4_102_444_800_000 });
const HEIGHT = fc.integer({ min: 1, max: 20 });
const STATE = fc.option(fc.constantFrom(...ON_CHAIN_STATES));

const CHARACTER = fc
  .string({ unit: "binary", minLength: 1, maxLength: 1 })
  .filter((one) => one !== "\u0000");

/** The only record of the only page. */
async function readRecord(side: Side = "payment") {
  const page = await readDiffPage(openDb(env), side, "changed_at", {
    network: "Preprod",
    limit: 10,
    lastUpdate: 0,
    includeHistory: true,
    env,
  });
  return JSON.parse(page.records) as {
    CurrentTransaction: object;
    TransactionHistory: object[];
    ActionHistory: object[];
  };
}

it("A history shows a transaction as the record showed it while it was the current one", async () => {
  await fc.assert(
    fc.asyncProperty(
      TIME,
      TIME,
      fc.constantFrom(...TRANSACTION_STATUSES),
      fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String)),
      HEIGHT,
      fc.option(HEIGHT),
      STATE,
      STATE,
      async (createdAt, updatedAt, status, fees, height, tip, before, after) => {
        await emptyTables();
        await (await Writer.create(env.DB)).change([makeRecord("payment")]);
        const block = status === "Confirmed" ? height : null;
        await env.DB.batch([
          env.DB.prepare(
            `UPDATE escrow_transaction SET created_at = ?, updated_at = ?, status = ?, fees = ?,
               block_height = ?, block_time = ?, previous_on_chain_state = ?, new_on_chain_state = ?`,
          ).bind(createdAt, updatedAt, status, fees, block, block, before, after),
          env.DB.prepare("DELETE FROM escrow_open"),
          env.DB.prepare("DELETE FROM chain_tip"),
          ...(tip === null
            ? []
            : [
                env.DB.prepare(
                  "INSERT INTO chain_tip (network, height) VALUES ('Preprod', ?)",
                ).bind(tip),
              ]),
        ]);
        const { CurrentTransaction } = await readRecord();
        await env.DB.prepare("UPDATE escrow SET transaction_hash = NULL").run();
        const past = await readRecord();
        expect(past.CurrentTransaction).toBeNull();
        expect(JSON.stringify(past.TransactionHistory)).toBe(JSON.stringify([CurrentTransaction]));
      },
    ),
  );
});

it("A history shows each action, whatever its error says, newest first", async () => {
  const action = fc.record({
    createdAt: TIME,
    updatedAt: TIME,
    requestedAction: fc.constantFrom("FundsLockingRequested", "SetRefundRequestedInitiated"),
    errorType: fc.option(fc.constantFrom("Unknown", "NetworkError")),
    // JSON, group separators and line breaks must not break the text. SQLite ends a text at U+0000.
    errorNote: fc.option(
      fc.string({ unit: fc.oneof(fc.constantFrom(...'\u001e\u001f\n\u0001",\\'), CHARACTER) }),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 4 }), async (actions) => {
      await emptyTables();
      const record = makeRecord("purchase");
      await (await Writer.create(env.DB)).change([record]);
      const rows = actions.map((fields, i) => ({ id: `action-${i}`, ...fields }));
      const insert = env.DB.prepare("INSERT INTO escrow_action VALUES (?, ?, NULL, ?, ?, ?, ?, ?)");
      await env.DB.batch([
        env.DB.prepare("DELETE FROM escrow_action"),
        ...rows.map((row) => insert.bind(record.id, ...Object.values(row))),
      ]);
      const { ActionHistory } = await readRecord("purchase");
      const times = ({ createdAt, updatedAt }: (typeof rows)[number]) => ({
        createdAt: new Date(createdAt).toISOString(),
        updatedAt: new Date(updatedAt).toISOString(),
      });
      const shown = rows.map((row) => ({ ...row, ...times(row) })).reverse();
      expect(ActionHistory).toEqual(shown);
    }),
  );
});
