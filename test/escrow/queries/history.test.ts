import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ON_CHAIN_STATES } from "../../../src/chain/network.ts";
import { openDb } from "../../../src/db/client.ts";
import { TRANSACTION_STATUSES } from "../../../src/escrow/model/transaction-record.ts";
import { readDiffPage } from "../../../src/escrow/queries/diff-page.ts";
import { emptyTables } from "../../support/app.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";

const TIME = fc.integer({ min: 0, max: 4_102_444_800_000 });
const HEIGHT = fc.integer({ min: 1, max: 20 });
const STATE = fc.option(fc.constantFrom(...ON_CHAIN_STATES));

/** The only record of the only page. */
async function readRecord() {
  const page = await readDiffPage(openDb(env), "payment", "changed_at", {
    network: "Preprod",
    limit: 10,
    lastUpdate: 0,
    includeHistory: true,
    env,
  });
  return JSON.parse(page.records) as { CurrentTransaction: object; TransactionHistory: object[] };
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
        expect(past.TransactionHistory).toEqual([CurrentTransaction]);
      },
    ),
  );
});
