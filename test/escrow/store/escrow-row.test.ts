import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { jsonRowSql, parseJsonRow } from "../../../src/db/json-row.ts";
import type {
  EscrowLock,
  EscrowRecord,
  EscrowTerms,
} from "../../../src/escrow/model/escrow-record.ts";
import {
  ESCROW_COLUMNS,
  type EscrowRow,
  toEscrowRecord,
} from "../../../src/escrow/store/escrow-row.ts";
import { emptyTables } from "../../support/app.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";

/** Few values, so that parties, locks and wallets often agree. */
const ADDRESS = fc.constantFrom("addr_test1a", "addr_test1b", "addr_test1c");
const VKEY = fc.constantFrom("ab".repeat(28), "cd".repeat(28));
const HASH = fc.constantFrom("", "ab".repeat(32), "AB", "not hex");
const FUNDS = fc.array(fc.record({ unit: fc.constantFrom("", "ab"), amount: fc.constant("7") }), {
  maxLength: 2,
});

const LOCK: fc.Arbitrary<EscrowLock> = fc.record({
  buyer: ADDRESS,
  buyerVkey: VKEY,
  buyerReturnAddress: fc.option(ADDRESS),
  sellerReturnAddress: fc.option(ADDRESS),
  collateralReturn: fc.constantFrom("0", "5"),
});

const TERMS: fc.Arbitrary<Partial<EscrowTerms>> = fc.record(
  {
    isRequested: fc.constant(true as const),
    agentName: fc.string(),
    walletIds: fc.array(fc.string()),
    inputHash: HASH,
    collateralReturn: fc.option(fc.constantFrom("0", "5")),
    buyer: fc.option(ADDRESS),
    buyerVkey: fc.option(VKEY),
    seller: ADDRESS,
    buyerReturnAddress: fc.option(ADDRESS),
    sellerReturnAddress: fc.option(ADDRESS),
    funds: FUNDS,
  },
  { requiredKeys: [] },
);

const WALLET = fc.option(fc.record({ id: fc.constant("wallet-a"), vkey: VKEY, address: ADDRESS }));

it("A row, also one that is a JSON text, returns the record that was stored, whatever of its lock and wallet the terms say too", async () => {
  await emptyTables();
  const writer = await Writer.create(env.DB);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("payment" as const, "purchase" as const),
      TERMS,
      fc.option(LOCK),
      WALLET,
      fc.option(fc.record({ seller: FUNDS, buyer: FUNDS, protocolFee: FUNDS })),
      async (side, terms, lock, wallet, settled) => {
        const base = makeRecord(side);
        const record: EscrowRecord = {
          ...base,
          terms: { ...base.terms, ...terms },
          state: { ...base.state, lock, settled },
          wallet,
          isWalletRemoved: false,
        };
        await writer.change([record]);
        const database = openDb(env);
        const [row] = await database.all<EscrowRow>(
          `SELECT ${ESCROW_COLUMNS} FROM escrow WHERE id = ?`,
          record.id,
        );
        const [{ json } = { json: "" }] = await database.all<{ json: string }>(
          `SELECT ${jsonRowSql(ESCROW_COLUMNS)} AS json FROM escrow WHERE id = ?`,
          record.id,
        );
        const read = toEscrowRecord(row as EscrowRow);
        expect(toEscrowRecord(parseJsonRow<EscrowRow>(ESCROW_COLUMNS, json))).toEqual(read);
        const { chainChangedAt, actionChangedAt, changedAt, ...stored } = read;
        expect(record).toMatchObject(stored);
        expect(stored.terms).toEqual(record.terms);
        expect(stored.state).toEqual(record.state);
        expect(Math.max(chainChangedAt, actionChangedAt)).toBe(changedAt);
      },
    ),
  );
});
